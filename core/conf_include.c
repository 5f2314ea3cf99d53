/* SPDX-License-Identifier: MIT */
/* The files of a configuration: the one named and, by its key `include`, others and whole folders.
 * They are read one after another, and what a later one says about a key of the top counts. */
#include "core/conf_private.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void read_file(struct reader *reader, const char *path, const struct node *from);

static bool seen(const struct reader *reader, const struct stat *status)
{
    for (uint32_t i = 0; i < reader->file_count; i++) {
        const struct conf_file *file = &reader->files[i];
        if (file->root && file->inode == status->st_ino && file->device == status->st_dev) {
            return true;
        }
    }
    return false;
}

static int is_conf(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 5 &&
           strcmp(entry->d_name + length - 5, ".conf") == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void read_folder(struct reader *reader, const char *path, const struct node *from)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_conf, by_bytes);
    if (count < 0) {
        conf_problem(reader, from->file, from->line, "include", "cannot read the folder %s: %s",
                     path, strerror(errno));
        return;
    }
    for (int i = 0; i < count; i++) {
        read_file(reader, conf_keepf(reader, "%s/%s", path, entries[i]->d_name), from);
        free(entries[i]);
    }
    free(entries);
}

static void include_one(struct reader *reader, const struct node *item)
{
    struct stat status;
    if (item->type != NODE_STRING || !*item->text) {
        if (item->type != NODE_BAD) {
            conf_problem(reader, item->file, item->line, "include",
                         "expected the name of a file or folder in quotes");
        }
        return;
    }
    char *path = conf_keep(reader, conf_join(reader, item->file, item->text));
    size_t length = strlen(path);
    if (length > 1 && path[length - 1] == '/') {
        path[length - 1] = '\0';
    }
    if (stat(path, &status) != 0) {
        conf_problem(reader, item->file, item->line, "include", "cannot read %s: %s", path,
                     strerror(errno));
    } else if (S_ISDIR(status.st_mode)) {
        read_folder(reader, path, item);
    } else {
        read_file(reader, path, item);
    }
}

static void include_all(struct reader *reader, const struct node *root)
{
    const struct node *include = conf_child(root, "include");
    if (include && include->type == NODE_LIST) {
        for (uint32_t i = 0; i < include->count; i++) {
            include_one(reader, include->items[i]);
        }
    } else if (include) {
        include_one(reader, include);
    }
}

static void read_file(struct reader *reader, const char *path, const struct node *from)
{
    struct stat status;
    bool there = stat(path, &status) == 0;
    if (from && there && seen(reader, &status)) {
        conf_problem(reader, from->file, from->line, "include",
                     "%s is read already; a file may be included once", path);
        return;
    }
    if (!conf_scan(reader, path, from)) {
        return;
    }
    struct conf_file *file = conf_file_add(reader, path);
    if (!file) {
        conf_problem(reader, path, 0, "", "there are more than %d files", CONF_FILES_MAX);
        return;
    }
    file->device = status.st_dev;
    file->inode = status.st_ino;
    file->root = conf_tree_read(reader, file->shown);
    if (file->root) {
        include_all(reader, file->root);
    }
}

void conf_read_files(struct reader *reader, const char *path)
{
    read_file(reader, path, NULL);
}
