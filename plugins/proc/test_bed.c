/* SPDX-License-Identifier: MIT */
/* The test bed of proc; see test_bed.h. */
#include "plugins/proc/test_bed.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t fake_now_ns;

static int64_t fake_mono_ns(void)
{
    return fake_now_ns;
}

void bed_init(struct bed *bed, const char *root)
{
    memset(bed, 0, sizeof *bed);
    bed->options = (struct options){.root = root,
                                    .per_core = 1,
                                    .frequency = 1,
                                    .pressure = 1,
                                    .sensors = 1,
                                    .numa = 1,
                                    .processes = 10,
                                    .filesystem_timeout_ns = 200000000,
                                    .slow_interval_ns = 10000000000};
    fakehost_init(&bed->host, &tacho_plugin_v1);
    bed->host.table.mono_ns = fake_mono_ns;
    fake_now_ns = 1000000000;
}

void bed_open(struct bed *bed)
{
    struct tacho_err err;
    bed->self = fakehost_open(&bed->host, &bed->options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bed->self);
}

void bed_tick(struct bed *bed, double after_s)
{
    struct tacho_err err;
    int result;
    fake_now_ns += (int64_t)(after_s * 1e9);
    if (bed->batch) {
        batch_unref(bed->batch);
    }
    bed->batch = fakehost_collect(&bed->host, bed->self, &result, &err);
    CU_ASSERT_EQUAL(result, TACHO_OK);
}

void bed_fini(struct bed *bed)
{
    if (bed->batch) {
        batch_unref(bed->batch);
    }
    fakehost_close(&bed->host, bed->self);
    fakehost_fini(&bed->host);
}

double number(const struct bed *bed, const char *kind, uint32_t nth, const char *metric)
{
    return fakehost_number(bed->batch, kind, nth, metric);
}

const char *text(const struct bed *bed, const char *kind, uint32_t nth, const char *metric)
{
    const struct tacho_value *value = fakehost_find(bed->batch, kind, nth, metric);
    return value && value->type == TACHO_VALUE_TEXT ? value->as.text : "";
}

int reason(const struct bed *bed, const char *kind, uint32_t nth, const char *metric)
{
    const struct tacho_value *value = fakehost_find(bed->batch, kind, nth, metric);
    return value && value->type == TACHO_VALUE_ABSENT ? value->reason : -1;
}

/* ---- trees ----------------------------------------------------------------------------------- */

static char tree[256];
static const char *original;

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
}

void tree_write(const char *root, const char *path, const char *content)
{
    char whole[512];
    (void)snprintf(whole, sizeof whole, "%s/%s", root, path);
    make_folders(whole);
    FILE *file = fopen(whole, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fputs(content, file);
    (void)fclose(file);
}

void tree_remove(const char *root, const char *path)
{
    char whole[512];
    (void)snprintf(whole, sizeof whole, "%s/%s", root, path);
    CU_ASSERT_EQUAL(remove(whole), 0);
}

static int copy_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    static char content[65536];
    (void)status;
    (void)ftw;
    if (type == FTW_F) {
        FILE *file = fopen(path, "r");
        size_t length = file ? fread(content, 1, sizeof content - 1, file) : 0;
        content[length] = '\0';
        if (file) {
            (void)fclose(file);
        }
        tree_write(tree, path + strlen(original) + 1, content);
    }
    return 0;
}

const char *tree_copy(void)
{
    static int count;
    (void)snprintf(tree, sizeof tree, "%s/tree%d", harness_tmpdir(), count++);
    original = harness_source("plugins/proc/fixtures/node");
    CU_ASSERT_EQUAL(nftw(original, copy_entry, 16, FTW_PHYS), 0);
    return tree;
}
