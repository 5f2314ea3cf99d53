/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the parsers of proc. The first byte says which; the rest is read twice as one text, and
 * then cut in half as an earlier and a later one, as parsers remember what they saw.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/proc/mounts.h"
#include "plugins/proc/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct options options = {.root = "/nowhere", .network_filesystems = 1};
static const char *const keys[] = {"MemTotal", "MemFree", "pgfault", "a"};

/* What is parsed lies in memory of exactly its size, so that a step beyond is seen. */
struct text {
    char *bytes;
    size_t length;
};

static struct text copy(const uint8_t *data, size_t size)
{
    struct text text = {.bytes = malloc(size ? size : 1), .length = size};
    if (!text.bytes) {
        abort();
    }
    memcpy(text.bytes, data, size);
    return text;
}

static void parse_devices(const struct text *texts, size_t count, unsigned which)
{
    struct cpu cpu = {0};
    struct disks disks = {0};
    struct network network = {0};
    struct reader reader;
    if (reader_init(&reader, "/", 1) != 0) {
        abort();
    }
    cpu_init(&cpu, &options);
    disks_init(&disks, &options);
    network_init(&network, &options);
    disks.partitions = true;
    for (size_t i = 0; i < count; i++) {
        switch (which) {
        case 0: cpu_parse(&cpu, texts[i].bytes, texts[i].length); break;
        case 1: disks_parse(&disks, &reader, texts[i].bytes, texts[i].length); break;
        default: network_parse(&network, &reader, texts[i].bytes, texts[i].length); break;
        }
    }
    cpu_fini(&cpu, &reader);
    disks_fini(&disks, &reader);
    network_fini(&network, &reader);
    reader_fini(&reader);
}

/* Twice the same text must give the same, whether the table knew it or not. */
static void parse_tables(const struct text *texts, size_t count, uint32_t skip_words)
{
    struct table table;
    table_init(&table, keys, 4, skip_words);
    for (size_t i = 0; i < count; i++) {
        struct table fresh;
        table_init(&fresh, keys, 4, skip_words);
        table_parse(&fresh, texts[i].bytes, texts[i].length);
        table_parse(&fresh, texts[i].bytes, texts[i].length);
        table_parse(&table, texts[i].bytes, texts[i].length);
        struct table again = fresh;
        table_parse(&again, texts[i].bytes, texts[i].length);
        if (again.found != fresh.found ||
            memcmp(again.values, fresh.values, sizeof again.values) != 0) {
            abort();
        }
    }
}

static void parse_text(const struct text *text, unsigned which)
{
    struct processes processes = {0};
    struct process_stat stat;
    struct pressure_line lines[2];
    struct mount_list mounts;
    struct cpuinfo info;
    char name[32];
    switch (which) {
    case 5:
        if (process_parse(&stat, text->bytes, text->length)) {
            scan_copy(name, sizeof name, stat.name, stat.name_length);
        }
        break;
    case 6: pressure_parse(lines, text->bytes, text->length); break;
    case 7:
        if (mounts_list(text->bytes, text->length, &options, &mounts) == 0) {
            mounts_free(&mounts);
        }
        break;
    case 8: cpuinfo_parse(&info, text->bytes, text->length); break;
    case 9: os_release_parse(text->bytes, text->length, name, sizeof name); break;
    default:
        users_parse(&processes, text->bytes, text->length);
        (void)users_find(&processes, 1000, name);
        free(processes.users);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    unsigned which = data[0] % 11;
    struct text whole = copy(data + 1, size - 1);
    struct text first = copy(data + 1, (size - 1) / 2);
    struct text second = copy(data + 1 + first.length, size - 1 - first.length);
    struct text texts[] = {whole, whole, first, second};
    if (which < 3) {
        parse_devices(texts, 4, which);
    } else if (which < 5) {
        parse_tables(texts, 4, which == 3 ? 0 : 2);
    } else {
        parse_text(&whole, which);
    }
    free(whole.bytes);
    free(first.bytes);
    free(second.bytes);
    return 0;
}
