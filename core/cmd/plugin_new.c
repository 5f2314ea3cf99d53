/* SPDX-License-Identifier: MIT */
/* tacho plugin new NAME: writes a folder that builds a plugin, from the files of plugins/template.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cmd/cmd.h"
#include "core/cmd/plugin.h"
#include "core/cmd/template_files.h"

static const char usage[] =
    "usage: tacho plugin new [OPTIONS] NAME\n"
    "\n"
    "Writes a small plugin that builds and works, to begin with: source, Makefile, README.md and\n"
    "sample.conf. It needs a C compiler and make, and pkg-config must find tacho-plugin.\n"
    "\n"
    "  -d, --dir DIR      folder to write (default: NAME)\n"
    "  -r, --role ROLE    provider (default), sink or service\n";

enum { NAME_MAX_LENGTH = 32 };

static int complain(const char *problem, const char *what)
{
    fprintf(stderr, "tacho plugin new: %s: %s\n", problem, what);
    return CMD_USAGE;
}

/* A name is part of C identifiers and of metric names. */
static bool name_ok(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return name[length] == '\0' && length > 0 && length <= NAME_MAX_LENGTH && name[0] >= 'a';
}

static bool role_ok(const char *role)
{
    return strcmp(role, "provider") == 0 || strcmp(role, "sink") == 0 ||
           strcmp(role, "service") == 0;
}

/* Prints text with each `from` replaced. */
static void print_replaced(FILE *out, const char *text, const char *from, const char *to)
{
    const char *at;
    while ((at = strstr(text, from))) {
        fwrite(text, 1, (size_t)(at - text), out);
        fputs(to, out);
        text = at + strlen(from);
    }
    fputs(text, out);
}

/* The header has another place once it is installed. */
static void print_text(FILE *out, const char *text, const char *name)
{
    static const char inside[] = "#include \"core/plugin.h\"",
                      outside[] = "#include <tacho/plugin.h>";
    const char *at = strstr(text, inside);
    if (at) {
        char *head = strndup(text, (size_t)(at - text));
        print_replaced(out, head ? head : "", "template", name);
        free(head);
        fputs(outside, out);
        text = at + strlen(inside);
    }
    print_replaced(out, text, "template", name);
}

static int write_file(const char *folder, const struct template_file *file, const char *name)
{
    char path[4096];
    const char *suffix = strcmp(file->name, "template.c") == 0 ? ".c" : NULL;
    snprintf(path, sizeof path, "%s/%s%s", folder, suffix ? name : file->name,
             suffix ? suffix : "");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out) {
        fprintf(stderr, "tacho plugin new: cannot write '%s': %s\n", path, strerror(errno));
        return CMD_NO;
    }
    print_text(out, file->text, name);
    bool failed = ferror(out);
    if (fclose(out) != 0 || failed) {
        fprintf(stderr, "tacho plugin new: cannot write '%s': %s\n", path, strerror(errno));
        return CMD_NO;
    }
    printf("  %s\n", path);
    return CMD_OK;
}

static int write_all(const char *folder, const char *role, const char *name)
{
    if (mkdir(folder, 0755) != 0 && errno != EEXIST) {
        fprintf(stderr, "tacho plugin new: cannot make the folder '%s': %s\n", folder,
                strerror(errno));
        return CMD_NO;
    }
    for (size_t i = 0; i < sizeof template_files / sizeof template_files[0]; i++) {
        const struct template_file *file = &template_files[i];
        if (file->role[0] && strcmp(file->role, role) != 0) {
            continue;
        }
        int status = write_file(folder, file, name);
        if (status != CMD_OK) {
            return status;
        }
    }
    printf("\nNext: cd %s && make && make check\n", folder);
    return CMD_OK;
}

int plugin_new(int argc, char **argv)
{
    static const struct option options[] = {{"dir", required_argument, NULL, 'd'},
                                            {"role", required_argument, NULL, 'r'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *folder = NULL, *role = "provider";
    int option;
    while ((option = getopt_long(argc, argv, "d:r:h", options, NULL)) != -1) {
        switch (option) {
        case 'd': folder = optarg; break;
        case 'r': role = optarg; break;
        case 'h': fputs(usage, stdout); return CMD_OK;
        default: return CMD_USAGE;
        }
    }
    if (argc - optind != 1) {
        fputs(usage, stderr);
        return CMD_USAGE;
    }
    if (!name_ok(argv[optind])) {
        return complain("a name begins with a lower-case letter, has letters, digits and _, and at "
                        "most 32 of them",
                        argv[optind]);
    }
    if (!role_ok(role)) {
        return complain("a role is provider, sink or service", role);
    }
    return write_all(folder ? folder : argv[optind], role, argv[optind]);
}
