/* SPDX-License-Identifier: MIT */
/* Finding plugin files: the search path, the listing, and the check of owner and mode. Loads
 * nothing. */
#include "core/module_private.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/err.h"

/* Calls visit for each folder in order of search until it returns true. A folder may hold plugins
 * as NAME.so or, in a build tree, as NAME/.libs/NAME.so. */
typedef bool folder_visitor(void *context, const char *folder, bool build_tree);

static bool visit_path_variable(folder_visitor *visit, void *context)
{
    const char *list = getenv("TACHO_PLUGIN_PATH");
    while (list && *list) {
        size_t length = strcspn(list, ":");
        char folder[PATH_MAX];
        if (length > 0 && length < sizeof folder) {
            memcpy(folder, list, length);
            folder[length] = '\0';
            if (visit(context, folder, false)) {
                return true;
            }
        }
        list += length + (list[length] == ':');
    }
    return false;
}

/* The build tree of a binary that was not installed: the folder that holds it, or, for a unit test,
 * a folder above. */
static bool build_root(char *out, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", out, size - 1);
    if (length <= 0) {
        return false;
    }
    out[length] = '\0';
    for (int up = 0; up < 4; up++) {
        char *slash = strrchr(out, '/');
        if (!slash || slash == out) {
            return false;
        }
        *slash = '\0';
        char mark[PATH_MAX];
        if (snprintf(mark, sizeof mark, "%s/libtacho.a", out) < (int)sizeof mark &&
            access(mark, F_OK) == 0) {
            return true;
        }
    }
    return false;
}

static bool visit_build_tree(folder_visitor *visit, void *context)
{
    char root[PATH_MAX - 32], folder[PATH_MAX];
    if (!build_root(root, sizeof root)) {
        return false;
    }
    static const struct {
        const char *name;
        bool tree;
    } below[] = {{"plugins", true}, {"sinks", true}, {"tests/modules/.libs", false}};
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        snprintf(folder, sizeof folder, "%s/%s", root, below[i].name);
        if (visit(context, folder, below[i].tree)) {
            return true;
        }
    }
    return false;
}

static void visit_folders(folder_visitor *visit, void *context)
{
    if (!visit_path_variable(visit, context) && !visit_build_tree(visit, context)) {
        visit(context, PKGLIBDIR, false);
    }
}

static char *plugin_file(const char *folder, const char *name, bool build_tree)
{
    char *path = NULL;
    int done = build_tree ? asprintf(&path, "%s/%s/.libs/%s.so", folder, name, name)
                          : asprintf(&path, "%s/%s.so", folder, name);
    if (done < 0) {
        return NULL;
    }
    if (access(path, F_OK) != 0) {
        free(path);
        return NULL;
    }
    return path;
}

struct search {
    const char *name;
    char *found;
};

static bool look_in(void *context, const char *folder, bool build_tree)
{
    struct search *search = context;
    search->found = plugin_file(folder, search->name, build_tree);
    return search->found != NULL;
}

char *module_find(const char *name)
{
    struct search search = {.name = name};
    visit_folders(look_in, &search);
    return search.found;
}

struct text {
    char *out;
    size_t size, length;
};

static bool add_folder(void *context, const char *folder, bool build_tree)
{
    struct text *text = context;
    (void)build_tree;
    int length = snprintf(text->out + text->length, text->size - text->length, "%s%s",
                          text->length ? ", " : "", folder);
    if (length > 0 && (size_t)length < text->size - text->length) {
        text->length += (size_t)length;
    } else {
        text->out[text->length] = '\0';
    }
    return false;
}

void module_folders(char *out, size_t size)
{
    struct text text = {.out = out, .size = size};
    out[0] = '\0';
    visit_folders(add_folder, &text);
}

struct listing {
    struct entry {
        char *name, *path;
        size_t rank;
    } * items;
    size_t count;
};

static void list_one(struct listing *listing, const char *folder, const char *name, bool build_tree)
{
    char *path = plugin_file(folder, name, build_tree);
    struct entry *items =
        path ? realloc(listing->items, (listing->count + 1) * sizeof *items) : NULL;
    char *copy = items ? strdup(name) : NULL;
    if (items) {
        listing->items = items;
    }
    if (!copy) {
        free(path);
        return;
    }
    items[listing->count] = (struct entry){copy, path, listing->count};
    listing->count++;
}

static bool list_folder(void *context, const char *folder, bool build_tree)
{
    DIR *directory = opendir(folder);
    if (!directory) {
        return false;
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        char name[64];
        const char *suffix = build_tree ? "" : ".so";
        size_t length = strlen(entry->d_name), tail = strlen(suffix);
        if (length <= tail || length - tail >= sizeof name ||
            strcmp(entry->d_name + length - tail, suffix) != 0) {
            continue;
        }
        memcpy(name, entry->d_name, length - tail);
        name[length - tail] = '\0';
        if (module_name_ok(name)) {
            list_one(context, folder, name, build_tree);
        }
    }
    closedir(directory);
    return false;
}

static int by_name(const void *a, const void *b)
{
    const struct entry *one = a, *other = b;
    int order = strcmp(one->name, other->name);
    return order ? order : (one->rank > other->rank) - (one->rank < other->rank);
}

void module_list(void (*visit)(void *context, const char *name, const char *path), void *context)
{
    struct listing listing = {0};
    visit_folders(list_folder, &listing);
    if (listing.count > 0) {
        qsort(listing.items, listing.count, sizeof *listing.items, by_name);
    }
    for (size_t i = 0; i < listing.count; i++) {
        visit(context, listing.items[i].name, listing.items[i].path);
        free(listing.items[i].path);
        free(listing.items[i].name);
    }
    free(listing.items);
}

static int trust_one(const char *path, const char *what, struct tacho_err *err)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return err_sys(err, TACHO_CONFIG, "cannot look at the %s %s", what, path);
    }
    if (status.st_uid != 0 && status.st_uid != geteuid()) {
        return tacho_fail(err, TACHO_CONFIG,
                          "the %s %s belongs to user %u, who could put anything there; change its "
                          "owner to root or to user %u",
                          what, path, (unsigned)status.st_uid, (unsigned)geteuid());
    }
    if (status.st_mode & (S_IWGRP | S_IWOTH)) {
        return tacho_fail(err, TACHO_CONFIG,
                          "the %s %s may be written by others (mode %04o); run: chmod go-w '%s'",
                          what, path, (unsigned)(status.st_mode & 07777), path);
    }
    return TACHO_OK;
}

int module_trust(const char *path, struct tacho_err *err)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) {
        slash[slash == folder] = '\0';
    }
    if (trust_one(path, "plugin file", err) != TACHO_OK) {
        return TACHO_CONFIG;
    }
    return trust_one(slash ? folder : ".", "plugin folder", err);
}
