/* SPDX-License-Identifier: MIT */
/*
 * One GPU of one generation. Everything in struct device belongs to its worker, which alone enters
 * the driver for it, except `slot`, which the generation's lock protects: that is how a worker and
 * the collecting thread meet.
 *
 * A reader is a function (device, reading) that asks the driver for one subject and puts down the
 * values; device.c has the list of them. It asks only what device_wants, and hands every answer to
 * device_put_*, which know what each code means for the value, the metric and the GPU.
 */
#ifndef TACHO_PLUGINS_NVML_DEVICE_H
#define TACHO_PLUGINS_NVML_DEVICE_H

#include <pthread.h>

#include "plugins/nvml/capability.h"
#include "plugins/nvml/nvml.h"
#include "plugins/nvml/nvml_lib.h"
#include "plugins/nvml/reading.h"

enum device_status { DEVICE_OK, DEVICE_FAILED, DEVICE_STUCK, DEVICE_SUSPENDED };

/* Who a GPU is. `handle` is only good where `attached` is true. */
struct identity {
    bool attached;
    nv_device handle;
    struct known_gpu known;
};

/* Where a worker and the collecting thread meet. */
struct slot {
    bool asked;            /* work waits for the worker or is under way */
    bool late;             /* given up for this tick: what comes of it is thrown away */
    bool exited;           /* the worker has left */
    int64_t asked_ns;      /* when the work was handed over */
    int status;            /* enum device_status, of the last work that ended */
    int code;              /* enum nv_code that made it so */
    int64_t took_ns;       /* how long that work took */
    int64_t first_wall_ns; /* when the first work ended */
    struct identity identity;
    struct reading reading; /* what the last work saw */
    struct capability capabilities[M_COUNT];
};

#define LINK_FIELDS 7

/* The NVLinks of a GPU; see read_links.c. */
struct links {
    uint32_t count;
    char peers[NV_NVLINK_LIMIT][24]; /* PCI address of the other end, or "" */
    bool older[LINK_FIELDS];         /* the field goes by its other number */
    bool missing[LINK_FIELDS];       /* this driver has it by neither */
};

struct device {
    struct generation *generation;
    const struct nvml_lib *lib; /* the generation's */
    uint32_t index;
    pthread_t thread;
    pthread_cond_t wake;
    struct slot slot;

    /* The worker's own. */
    struct identity identity;
    int code;         /* why the GPU failed in this tick, or NV_SUCCESS */
    int64_t begin_ns; /* monotonic, of this tick */
    int64_t begin_wall_ns;
    int64_t retry_ns;     /* a failed GPU is not asked before */
    uint32_t good, bad;   /* answers of this tick: values, and errors that say nothing */
    uint32_t suspicious;  /* ticks in a row with more bad than good */
    bool mig;             /* MIG mode is on */
    bool unified;         /* shares the host's memory */
    struct reading facts; /* values that hold for the generation */
    struct reading work;
    struct capability capabilities[M_COUNT];
    struct links links;
    struct field_plan *fields;          /* read_fields.c */
    struct samples *samples;            /* read_samples.c */
    struct peers *peers;                /* read_peers.c */
    struct mig_list *migs;              /* mig.h */
    struct gpm *gpm;                    /* gpm.h */
    struct nv_gpm_metrics *gpm_request; /* too large for the stack */
};

/* `count` is how many GPUs there are. */
int device_init(struct device *device, struct generation *generation, uint32_t index,
                uint32_t count);
void device_fini(struct device *device);

/* One tick: attaches when needed, reads everything into `work`. Returns enum device_status. */
int device_work(struct device *device);

/* ---- for readers ----------------------------------------------------------------------------- */

/* Whether a metric is to be asked for now. If not, its absence is put down with the reason. */
bool device_wants(struct device *device, struct reading *reading, int32_t metric);

/* Put down what a call came to: the value where the code is NV_SUCCESS, else why not. */
void device_put_i64(struct device *device, struct reading *reading, int32_t metric, int code,
                    int64_t value);
void device_put_f64(struct device *device, struct reading *reading, int32_t metric, int code,
                    double value);
void device_put_text(struct device *device, struct reading *reading, int32_t metric, int code,
                     const char *value);
void device_put_flags(struct device *device, struct reading *reading, int32_t metric, int code,
                      uint64_t bits);

/* Takes down a code that belongs to no metric of the GPU itself. */
void device_answer(struct device *device, int code);

/* Takes down a code alone: puts an absence when it is none of success, and says which it was. */
bool device_note(struct device *device, struct reading *reading, int32_t metric, int code);

/* Asks with a call that gives one number, unless the metric is not wanted; `call` may be NULL. */
typedef int u32_call(nv_device handle, uint32_t *out);
void device_read_u32(struct device *device, struct reading *reading, int32_t metric, u32_call *call,
                     int64_t scale);

/* "0000:3b:00.0" */
void device_format_pci(const struct nv_pci_info *pci, char *out, size_t size);

/* The readers. */
void read_facts(struct device *device, struct reading *reading);
void read_state(struct device *device, struct reading *reading);
void read_load(struct device *device, struct reading *reading);
void read_memory(struct device *device, struct reading *reading);
void read_power(struct device *device, struct reading *reading);
void read_bus(struct device *device, struct reading *reading);
void read_fields(struct device *device, struct reading *reading);
void read_samples(struct device *device, struct reading *reading);
void read_activity(struct device *device, struct reading *reading);
void read_fans(struct device *device, struct reading *reading);
void read_links(struct device *device, struct reading *reading);
void read_migs(struct device *device, struct reading *reading);
void read_peers(struct device *device, struct reading *reading);

/* What readers keep from tick to tick: made with the device and ended with it; what was counted is
 * begun anew when the GPU is attached again. */
int fields_init(struct device *device);
void fields_fini(struct device *device);
void fields_restart(struct device *device);
int samples_init(struct device *device);
void samples_fini(struct device *device);
void samples_restart(struct device *device);
int peers_init(struct device *device, uint32_t count);
void peers_forget(struct device *device);
int gpm_init(struct device *device);
void links_find(struct device *device);

#endif
