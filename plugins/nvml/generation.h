/* SPDX-License-Identifier: MIT */
/*
 * A generation: the library as it was loaded and initialised once, and the GPUs that it knew then.
 * Handles, facts and capabilities hold only within one. It is shared by the instance and its
 * workers; the last that lets go shuts the library down and unloads it, so that a worker which
 * hangs in the driver keeps the code that it is in.
 */
#ifndef TACHO_PLUGINS_NVML_GENERATION_H
#define TACHO_PLUGINS_NVML_GENERATION_H

#include <pthread.h>

#include "plugins/nvml/device.h"
#include "plugins/nvml/nvml.h"
#include "plugins/nvml/nvml_lib.h"

#define GENERATION_GPU_LIMIT 256

struct generation {
    atomic_uint refs;
    uint64_t number;
    struct nvml_lib lib;
    bool initialised;
    bool pcie_throughput;
    char root[256];
    char driver_version[80], nvml_version[80], cuda_version[16]; /* "" where not known */

    pthread_mutex_t lock; /* protects what follows and the slots of the devices */
    pthread_cond_t done;  /* the last pending work of a tick has ended, or a worker has left */
    bool stop;
    uint32_t pending; /* devices that this tick still waits for */
    uint32_t running; /* workers that have not left */
    struct device *devices;
    uint32_t device_count;
};

/* Loads, initialises, starts the workers. */
int generation_open(struct nvml *nvml, struct generation **out, struct tacho_err *err);

/* Sends the workers home and lets go; true when all of them went. Those that hang stay behind and
 * keep the generation until they return. */
bool generation_end(struct generation *generation);

void generation_unref(struct generation *generation);

/* Hands the next tick to every worker that is free, and waits until all of these are done or the
 * time is up. From then on until the next call the slots of free devices may be read with the lock
 * held. */
void generation_tick(struct generation *generation, int64_t until_ns);

#endif
