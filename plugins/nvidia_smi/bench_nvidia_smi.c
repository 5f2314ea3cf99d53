/* SPDX-License-Identifier: MIT */
/*
 * How fast documents of nvidia-smi are read: bench_nvidia_smi FILE... prints for each file the
 * bytes in a second, over about a second of reading it again and again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plugins/nvidia_smi/nvidia_smi.h"

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int run(const struct smi_tree *tree, const char *path)
{
    char *data = NULL;
    size_t size = 0;
    FILE *in = fopen(path, "r");
    ssize_t got = in ? getdelim(&data, &size, '\0', in) : -1;
    size_t at;
    size_t length;
    if (in) {
        (void)fclose(in);
    }
    if (got < 0 || !smi_xml_find(data, (size_t)got, &at, &length)) {
        (void)fprintf(stderr, "%s: no document\n", path);
        free(data);
        return 1;
    }
    struct smi_reading reading = {0};
    struct tacho_err err = {0};
    double begin = now_s();
    double seconds = 0;
    int rounds = 0;
    for (; seconds < 1; rounds++, seconds = now_s() - begin) {
        if (smi_xml_parse(tree, data + at, length, &reading, &err) != TACHO_OK) {
            (void)fprintf(stderr, "%s: %s\n", path, err.text);
            break;
        }
    }
    printf("nvidia_smi xml %7zu bytes  %6.1f MB/s  %s\n", length,
           (double)length * rounds / seconds / 1e6, path);
    smi_reading_fini(&reading);
    free(data);
    return err.code != TACHO_OK;
}

int main(int argc, char **argv)
{
    static struct smi_tree tree;
    int failed = 0;
    smi_tree_init(&tree);
    for (int i = 1; i < argc; i++) {
        failed |= run(&tree, argv[i]);
    }
    return failed;
}
