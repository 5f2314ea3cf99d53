/* SPDX-License-Identifier: MIT */
/* Files that hold secrets: there, ours alone to change, not for all to read. Neither what is in
 * them nor the value of the key is ever printed: somebody may have written the secret itself there.
 */
#include "core/conf_private.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void conf_check_secret(struct reader *reader, const struct node *node, const char *path,
                       const char *file)
{
    struct stat status;
    if (reader->mode == CONF_OFFLINE || !*file || !node) {
        return;
    }
    const char *why = NULL;
    if (stat(file, &status) != 0) {
        why = strerror(errno);
    } else if (!S_ISREG(status.st_mode)) {
        why = "it is not a regular file";
    } else if (access(file, R_OK) != 0) {
        why = strerror(errno);
    }
    if (why) {
        conf_problem(reader, node->file, node->line, path,
                     "the secret file cannot be read: %s; this key takes the path of a file, not "
                     "the secret itself",
                     why);
    } else if (status.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) {
        conf_problem(reader, node->file, node->line, path,
                     "the secret file may be %s by others (mode %04o); chmod 0600 it",
                     status.st_mode & S_IROTH ? "read" : "written",
                     (unsigned)(status.st_mode & 07777));
    }
}
