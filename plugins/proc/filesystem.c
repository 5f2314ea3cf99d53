/* SPDX-License-Identifier: MIT */
/*
 * How full the file systems are: each is asked in every tick. The list of mounts is made again when
 * the kernel says that it changed (poll on mountinfo), and rarely otherwise. File systems that may
 * hang are asked on threads of their own, see asker.c, and wait together.
 */
#include "plugins/proc/mounts.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

void filesystems_init(struct filesystems *filesystems, const struct options *options)
{
    /* Seen from a container, one's own mounts are the container's. */
    filesystems->mountinfo =
        (struct source){.path = *options->root ? "proc/1/mountinfo" : "proc/self/mountinfo",
                        .fd = -1,
                        .flags = SOURCE_RECORDS};
    filesystems->options = options;
}

void filesystems_fini(struct filesystems *filesystems, struct reader *reader)
{
    source_close(&filesystems->mountinfo, reader);
    mounts_free(&filesystems->mounts);
}

static uint64_t hash_text(const char *text, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    }
    return hash ? hash : 1;
}

/* The kernel marks an open mount table as changed until it is read again. */
static bool has_changed(const struct filesystems *filesystems)
{
    struct pollfd poller = {.fd = filesystems->mountinfo.fd, .events = POLLPRI};
    return poller.fd < 0 || (poll(&poller, 1, 0) > 0 && poller.revents & (POLLPRI | POLLERR));
}

static void list_again(struct filesystems *filesystems, struct reader *reader)
{
    struct mount_list list;
    filesystems->listed_ns = reader->now_ns;
    ssize_t length = source_read(&filesystems->mountinfo, reader, 0);
    uint64_t hash = length > 0 ? hash_text(reader->buffer, (size_t)length) : 0;
    if (hash == filesystems->text_hash ||
        mounts_list(reader->buffer, length > 0 ? (size_t)length : 0, filesystems->options, &list)) {
        return;
    }
    mounts_move_askers(&filesystems->mounts, &list);
    mounts_free(&filesystems->mounts);
    filesystems->mounts = list;
    filesystems->text_hash = hash;
}

static void ask_remote(struct mount_list *mounts, int64_t until_ns)
{
    for (uint32_t i = 0; i < mounts->count; i++) {
        struct mount *mount = &mounts->items[i];
        if (mount->remote && !mount->asker) {
            mount->asker = asker_new(mount->path);
        }
        if (mount->asker) {
            asker_start(mount->asker);
        }
    }
    for (uint32_t i = 0; i < mounts->count; i++) {
        struct mount *mount = &mounts->items[i];
        if (mount->remote) {
            /* One that did not answer last time is not waited for again. */
            int64_t until = mount->result == ETIMEDOUT ? 0 : until_ns;
            mount->result = mount->asker ? asker_take(mount->asker, until, &mount->status) : ENOMEM;
        }
    }
}

void filesystems_read(struct proc *proc)
{
    struct filesystems *filesystems = &proc->filesystems;
    struct reader *reader = &proc->reader;
    if (!filesystems->listed_ns || has_changed(filesystems) ||
        reader->now_ns - filesystems->listed_ns >= proc->options.slow_interval_ns) {
        list_again(filesystems, reader);
    }
    bool any_remote = false;
    for (uint32_t i = 0; i < filesystems->mounts.count; i++) {
        struct mount *mount = &filesystems->mounts.items[i];
        if (mount->remote) {
            any_remote = true;
        } else {
            mount->result = statvfs(mount->path, &mount->status) == 0 ? 0 : errno;
        }
    }
    if (any_remote) {
        ask_remote(&filesystems->mounts,
                   proc->host->mono_ns() + proc->options.filesystem_timeout_ns);
    }
}

/* ---- publishing ------------------------------------------------------------------------------ */

static void put_space(const struct out *out, const struct statvfs *status)
{
    uint64_t unit = status->f_frsize ? status->f_frsize : status->f_bsize;
    uint64_t used = status->f_blocks > status->f_bfree ? status->f_blocks - status->f_bfree : 0;
    out_count(out, M_FILESYSTEM_TOTAL, status->f_blocks * unit);
    out_count(out, M_FILESYSTEM_USED, used * unit);
    out_count(out, M_FILESYSTEM_FREE, status->f_bfree * unit);
    out_count(out, M_FILESYSTEM_AVAILABLE, status->f_bavail * unit);
    if (used + status->f_bavail) {
        out_ratio(out, M_FILESYSTEM_UTILIZATION,
                  100 * (double)used / (double)(used + status->f_bavail));
    } else {
        out_absent(out, M_FILESYSTEM_UTILIZATION, TACHO_ABSENT_UNSUPPORTED);
    }
}

static void put_inodes(const struct out *out, const struct statvfs *status)
{
    if (status->f_files) {
        uint64_t used = status->f_files > status->f_ffree ? status->f_files - status->f_ffree : 0;
        out_count(out, M_FILESYSTEM_INODES_CAPACITY, status->f_files);
        out_count(out, M_FILESYSTEM_INODES_USED, used);
        out_count(out, M_FILESYSTEM_INODES_FREE, status->f_ffree);
    } else { /* made as they are needed, as in btrfs */
        for (int32_t m = M_FILESYSTEM_INODES_CAPACITY; m <= M_FILESYSTEM_INODES_FREE; m++) {
            out_absent(out, m, TACHO_ABSENT_UNSUPPORTED);
        }
    }
}

static void put_status(const struct out *out, const char *text)
{
    out->host->text(out->batch, M_FILESYSTEM_STATUS, text);
}

static void put_failure(const struct out *out, int error)
{
    int reason = error == ETIMEDOUT ? TACHO_ABSENT_STALE : reason_of(-error);
    put_status(out, error == ETIMEDOUT              ? "stuck"
                    : reason == TACHO_ABSENT_DENIED ? "denied"
                                                    : "error");
    for (int32_t m = M_FILESYSTEM_TOTAL; m <= M_FILESYSTEM_INODES_FREE; m++) {
        out_absent(out, m, reason);
    }
}

void filesystems_list(const struct proc *proc, const struct out *out)
{
    const struct mount_list *mounts = &proc->filesystems.mounts;
    for (uint32_t i = 0; i < mounts->count; i++) {
        const struct mount *mount = &mounts->items[i];
        out->host->entity(out->batch, "filesystem", mount->point, out->root, 0);
        out->host->label(out->batch, "device", mount->device);
        out->host->label(out->batch, "type", mount->type);
        if (mount->result) {
            put_failure(out, mount->result);
        } else {
            put_status(out, "ok");
            put_space(out, &mount->status);
            put_inodes(out, &mount->status);
        }
    }
}
