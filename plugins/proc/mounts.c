/* SPDX-License-Identifier: MIT */
/*
 * The mount table, proc/PID/mountinfo: which file systems hold data. Only real ones are taken: not
 * those that the kernel makes up, not images that are full by nature, not a second view of what is
 * in the list already, and those on the network only by option.
 */
#include "plugins/proc/mounts.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a line ---------------------------------------------------------------------------------- */

static bool take(struct scan *line, const char **out, uint32_t *out_length)
{
    size_t length;
    bool found = scan_word(line, out, &length);
    *out_length = (uint32_t)length;
    return found;
}

/* "36 35 98:0 /sub /mnt rw,noatime master:1 … - ext4 /dev/sda1 rw" */
bool mount_parse(struct scan *line, struct mount_line *out)
{
    const char *word;
    uint32_t length;
    if (!take(line, &word, &length) || !take(line, &word, &length) ||
        !take(line, &out->device_number, &out->device_number_length) ||
        !take(line, &out->subtree, &out->subtree_length) ||
        !take(line, &out->point, &out->point_length)) {
        return false;
    }
    do {
        if (!take(line, &word, &length)) {
            return false;
        }
    } while (length != 1 || *word != '-');
    return take(line, &out->type, &out->type_length) &&
           take(line, &out->source, &out->source_length);
}

/* A field as text of its own; the kernel writes blanks and backslashes as \040. */
static char *unescape(const char *prefix, const char *text, uint32_t length)
{
    size_t start = strlen(prefix);
    char *copy = malloc(start + length + 1);
    if (!copy) {
        return NULL;
    }
    memcpy(copy, prefix, start);
    char *out = copy + start;
    for (uint32_t i = 0; i < length; i++) {
        unsigned code = 0;
        int digits = 0;
        while (text[i] == '\\' && digits < 3 && i + 1 + (unsigned)digits < length &&
               (unsigned)(text[i + 1 + (unsigned)digits] - '0') <= 7) {
            code = code * 8 + (unsigned)(text[i + 1 + (unsigned)digits] - '0');
            digits++;
        }
        *out++ = digits == 3 ? (char)code : text[i];
        i += digits == 3 ? 3 : 0;
    }
    *out = '\0';
    return copy;
}

/* ---- which ones ------------------------------------------------------------------------------ */

static bool in_list(const char *type, const char *const *list)
{
    while (*list && strcmp(type, *list) != 0) {
        list++;
    }
    return *list != NULL;
}

static bool is_local(const char *type)
{
    static const char *const types[] = {
        "ext2", "ext3",  "ext4",   "xfs",   "btrfs", "bcachefs", "zfs",   "f2fs",    "jfs",
        "vfat", "msdos", "exfat",  "ntfs",  "ntfs3", "fuseblk",  "hfs",   "hfsplus", "ufs",
        "gfs2", "ocfs2", "nilfs2", "ubifs", "jffs2", "reiserfs", "minix", "reiser4", NULL};
    return in_list(type, types);
}

/* Those whose answer may not come: another machine gives it, or a program. */
static bool is_remote(const char *type)
{
    static const char *const types[] = {
        "nfs",       "nfs4", "cifs",   "smb3", "smbfs", "ceph",     "lustre",   "afs", "9p",
        "glusterfs", "gpfs", "beegfs", "fuse", "coda",  "orangefs", "virtiofs", NULL};
    return in_list(type, types) || strncmp(type, "fuse.", 5) == 0;
}

static bool is_wanted(const struct mount *mount, const struct options *options)
{
    bool by_type = is_local(mount->type) || strcmp(mount->point, "/") == 0 ||
                   (options->network_filesystems && is_remote(mount->type));
    for (uint32_t i = 0; i < options->filesystem_types.count && !by_type; i++) {
        by_type = fnmatch(options->filesystem_types.items[i], mount->type, 0) == 0;
    }
    return by_type && strcmp(mount->type, "rootfs") != 0 &&
           glob_wanted(mount->point, &options->filesystems, &options->filesystems_exclude);
}

/* ---- the list -------------------------------------------------------------------------------- */

static void mount_fini(struct mount *mount)
{
    asker_free(mount->asker);
    free(mount->point);
    free(mount->path);
    free(mount->device);
    free(mount->type);
}

void mounts_free(struct mount_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        mount_fini(&list->items[i]);
    }
    free(list->items);
    *list = (struct mount_list){0};
}

static bool mount_init(struct mount *mount, const struct mount_line *line, const char *root)
{
    *mount = (struct mount){.point = unescape("", line->point, line->point_length),
                            .path = unescape(root, line->point, line->point_length),
                            .device = unescape("", line->source, line->source_length),
                            .type = unescape("", line->type, line->type_length)};
    scan_copy(mount->number, sizeof mount->number, line->device_number, line->device_number_length);
    mount->whole = line->subtree_length == 1;
    if (!mount->point || !mount->path || !mount->device || !mount->type) {
        mount_fini(mount);
        return false;
    }
    mount->remote = is_remote(mount->type);
    return true;
}

static void remove_at(struct mount_list *list, uint32_t at)
{
    mount_fini(&list->items[at]);
    list->count--;
    memmove(&list->items[at], &list->items[at + 1], (list->count - at) * sizeof *list->items);
}

/* Of two views of one file system the whole one is shown, else the one with the shorter path. */
static bool is_better(const struct mount *a, const struct mount *b)
{
    return a->whole != b->whole ? a->whole : strlen(a->point) < strlen(b->point);
}

/* Enters a mount (taken) into a list that has room for it. What it is mounted over is hidden. */
static void enter(struct mount_list *list, struct mount *mount, const struct options *options)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].point, mount->point) == 0) {
            remove_at(list, i--);
        }
    }
    bool keep = is_wanted(mount, options);
    for (uint32_t i = 0; i < list->count && keep; i++) {
        if (strcmp(list->items[i].number, mount->number) == 0) {
            keep = is_better(mount, &list->items[i]);
            if (keep) {
                remove_at(list, i--);
            }
        }
    }
    if (keep) {
        list->items[list->count++] = *mount;
    } else {
        mount_fini(mount);
    }
}

int mounts_list(const char *text, size_t length, const struct options *options,
                struct mount_list *out)
{
    struct scan scan = scan_text(text, length);
    struct scan line;
    size_t lines = 0;
    while (scan_take_line(&scan, &line)) {
        lines++;
    }
    *out = (struct mount_list){.items = calloc(lines + 1, sizeof *out->items)};
    if (!out->items) {
        return -ENOMEM;
    }
    scan = scan_text(text, length);
    while (scan_take_line(&scan, &line)) {
        struct mount_line parsed;
        struct mount mount;
        if (mount_parse(&line, &parsed) && mount_init(&mount, &parsed, options->root)) {
            enter(out, &mount, options);
        }
    }
    return 0;
}

void mounts_move_askers(struct mount_list *from, struct mount_list *to)
{
    for (uint32_t i = 0; i < to->count; i++) {
        struct mount *new = &to->items[i];
        for (uint32_t k = 0; k < from->count && new->remote && !new->asker; k++) {
            struct mount *old = &from->items[k];
            if (strcmp(old->path, new->path) == 0 && strcmp(old->number, new->number) == 0) {
                new->asker = old->asker;
                old->asker = NULL;
            }
        }
    }
}
