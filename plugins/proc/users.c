/* SPDX-License-Identifier: MIT */
/*
 * Names of users from etc/passwd below the root. The C library's look-up is not used: it would ask
 * the directory service of the wrong machine in a container, and may wait for a server. A user that
 * is not in the file is shown by number.
 */
#include "plugins/proc/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { USER_LIMIT = 65536 };

static int compare(const void *left, const void *right)
{
    const struct user *a = left;
    const struct user *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* "name:x:1000:…" */
static bool parse_user(struct scan line, struct user *out)
{
    const char *name_end = memchr(line.at, ':', (size_t)(line.end - line.at));
    const char *password_end =
        name_end ? memchr(name_end + 1, ':', (size_t)(line.end - name_end - 1)) : NULL;
    uint64_t id;
    if (!password_end || name_end == line.at) {
        return false;
    }
    scan_copy(out->name, sizeof out->name, line.at, (size_t)(name_end - line.at));
    line.at = password_end + 1;
    if (!scan_u64(&line, &id) || id > UINT32_MAX) {
        return false;
    }
    out->id = (uint32_t)id;
    return true;
}

void users_parse(struct processes *processes, const char *text, size_t length)
{
    struct scan scan = scan_text(text, length);
    struct scan line;
    uint32_t lines = 0;
    while (scan_take_line(&scan, &line)) {
        lines++;
    }
    lines = lines < USER_LIMIT ? lines : USER_LIMIT;
    struct user *users = calloc(lines + 1, sizeof *users);
    if (!users) {
        return;
    }
    uint32_t count = 0;
    scan = scan_text(text, length);
    while (count < lines && scan_take_line(&scan, &line)) {
        count += parse_user(line, &users[count]);
    }
    qsort(users, count, sizeof *users, compare);
    free(processes->users);
    processes->users = users;
    processes->user_count = count;
}

void users_read(struct processes *processes, struct reader *reader)
{
    struct stat status;
    if (fstatat(reader->root, "etc/passwd", &status, 0) != 0) {
        return;
    }
    int64_t changed_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    if (changed_ns == processes->users_changed_ns) {
        return;
    }
    ssize_t length = reader_once(reader, "etc/passwd");
    if (length >= 0) {
        users_parse(processes, reader->buffer, (size_t)length);
        processes->users_changed_ns = changed_ns;
    }
}

const char *users_find(const struct processes *processes, uint32_t id, char number[12])
{
    uint32_t low = 0;
    uint32_t high = processes->user_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (processes->users[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < processes->user_count && processes->users[low].id == id) {
        return processes->users[low].name;
    }
    (void)snprintf(number, 12, "%u", id);
    return number;
}
