/* SPDX-License-Identifier: MIT */
/*
 * Provider of NVIDIA GPUs by way of NVML. How the parts hang together:
 *
 *   nvml.c        tables, life cycle, commands; the collecting thread
 *   generation.c  one loaded library, initialised once, with a worker thread for each GPU
 *   device.c      a GPU: its handle, its facts, the work of one tick
 *   read_*.c      what is asked of a GPU in a tick, by subject; each takes (device, reading)
 *   reading.c     what a worker saw, until it is written into the batch
 *   capability.c  which metrics a GPU has, and why not
 *   nvml_lib.c    the vendor's library and its codes
 *
 * Only workers enter the driver for a GPU, so that one that hangs holds up nobody else; they never
 * call the host, since they may come back after it is gone. What needs the host (events, who a
 * process is) happens on the collecting thread: in fill.c, with the generation's lock held, or at
 * the end of nvml_collect.
 */
#ifndef TACHO_PLUGINS_NVML_NVML_H
#define TACHO_PLUGINS_NVML_NVML_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/plugin.h"

enum metric {
#define METRIC(index, ...) M_##index,
#include "plugins/nvml/metrics.def"
#undef METRIC
    M_COUNT
};

/* The plugin's options; see the table in nvml.c. */
struct options {
    const char *library;
    const char *root;
    int32_t pcie_throughput;
};

struct generation;

/* Who a GPU is. One that was seen stays visible when the driver no longer knows it. */
struct known_gpu {
    char uuid[96], index[12], name[96], pci[24];
    int status;   /* enum device_status, as it was published last */
    bool present; /* in this tick */
};

struct nvml {
    const struct tacho_host *host;
    const struct options *options;
    struct generation *generation; /* NULL: not loaded */
    struct generation *abandoned;  /* an earlier one, in which a call still hangs; or NULL */
    uint64_t generations;          /* how many there were */
    bool released;                 /* by command: the driver is left alone */
    char driver_version[80];       /* of the newest generation */
    struct known_gpu *known;
    uint32_t known_count;
};

#endif
