/* SPDX-License-Identifier: MIT */
/* GPUs as PCI devices: their power state and place, read from sysfs, which wakes nothing. */
#include "plugins/nvml/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES "/sys/bus/pci/devices"

/* The first line of a device's file; false when it cannot be read. */
static bool read_line(const char *root, const char *pci, const char *file, char *out, size_t size)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s" DEVICES "/%s/%s", root, pci, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t length = read(fd, out, size - 1);
    (void)close(fd);
    if (length < 0) {
        return false;
    }
    out[length] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return true;
}

bool sysfs_suspended(const char *root, const char *pci)
{
    char text[32];
    return read_line(root, pci, "power/runtime_status", text, sizeof text) &&
           strcmp(text, "suspended") == 0;
}

int sysfs_numa_node(const char *root, const char *pci)
{
    char text[32];
    return read_line(root, pci, "numa_node", text, sizeof text) ? (int)strtol(text, NULL, 10) : -1;
}

static bool is_gpu(const char *root, const char *pci)
{
    char vendor[16], class[16], path[512], driver[64] = "";
    (void)snprintf(path, sizeof path, "%s" DEVICES "/%s/driver", root, pci);
    ssize_t length = readlink(path, driver, sizeof driver - 1);
    driver[length > 0 ? length : 0] = '\0';
    const char *name = strrchr(driver, '/');
    return strcmp(name ? name + 1 : driver, "nvidia") == 0 &&
           read_line(root, pci, "vendor", vendor, sizeof vendor) && strcmp(vendor, "0x10de") == 0 &&
           read_line(root, pci, "class", class, sizeof class) && strncmp(class, "0x03", 4) == 0;
}

bool sysfs_find_gpu(const char *root, uint32_t number, uint32_t count, char *out, uint32_t size)
{
    char path[512];
    struct dirent **entries;
    uint32_t found = 0;
    (void)snprintf(path, sizeof path, "%s" DEVICES, root);
    int total = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < total; i++) {
        if (entries[i]->d_name[0] != '.' && is_gpu(root, entries[i]->d_name)) {
            if (found == number) {
                (void)snprintf(out, size, "%.*s", (int)size - 1, entries[i]->d_name);
            }
            found++;
        }
        free(entries[i]);
    }
    if (total >= 0) {
        free(entries);
    }
    return found == count && number < count;
}
