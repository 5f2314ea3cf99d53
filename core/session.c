/* SPDX-License-Identifier: MIT */
/* The persisted counter; see session.h. Written beside and renamed over, with an fsync before and
 * after, so that a power loss leaves the old or the new number. */
#include "core/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/err.h"

/* The number in the file, 0 when there is none or it cannot be understood. */
static uint64_t read_number(int folder)
{
    char text[32] = "";
    int fd = openat(folder, "session", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t length = read(fd, text, sizeof text - 1);
        text[length > 0 ? length : 0] = '\0';
        close(fd);
    }
    return strtoull(text, NULL, 10);
}

static int write_number(int folder, uint64_t number, const char *path, struct tacho_err *err)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%" PRIu64 "\n", number);
    int fd = openat(folder, "session.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        return err_sys(err, TACHO_RETRY, "cannot write %s/session.new", path);
    }
    bool written = write(fd, text, (size_t)length) == length && fsync(fd) == 0;
    int result =
        written ? TACHO_OK : err_sys(err, TACHO_RETRY, "cannot write %s/session.new", path);
    close(fd);
    if (result == TACHO_OK &&
        (renameat(folder, "session.new", folder, "session") != 0 || fsync(folder) != 0)) {
        result = err_sys(err, TACHO_RETRY, "cannot replace %s/session", path);
    }
    return result;
}

int session_next(const char *path, uint64_t *out, struct tacho_err *err)
{
    uint64_t now = (uint64_t)(clock_wall_ns() / NS_PER_S);
    if (!*path) {
        *out = now;
        return TACHO_OK;
    }
    if (mkdir(path, 0755) != 0 && errno != EEXIST) {
        return err_sys(err, TACHO_RETRY, "cannot make the folder %s", path);
    }
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return err_sys(err, TACHO_RETRY, "cannot open the folder %s", path);
    }
    uint64_t last = read_number(folder);
    /* Without a number that can be trusted, begin above all that a counter can have given. */
    uint64_t next = last > 0 && last < UINT64_MAX ? last + 1 : now;
    int result = write_number(folder, next, path, err);
    close(folder);
    if (result == TACHO_OK) {
        *out = next;
    }
    return result;
}
