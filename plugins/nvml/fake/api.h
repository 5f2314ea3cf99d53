/* SPDX-License-Identifier: MIT */
/* How the functions of the fake library are written. */
#ifndef TACHO_PLUGINS_NVML_FAKE_API_H
#define TACHO_PLUGINS_NVML_FAKE_API_H

#include "plugins/nvml/fake/fake.h"

/* A function that others may find. */
#define API(name, ...)     \
    int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

/* Where it asks one device. */
#define BEGIN(handle)                                  \
    int begun = fake_begin((handle), false, __func__); \
    if (begun != NV_SUCCESS) {                         \
        return begun;                                  \
    }                                                  \
    const struct fake_gpu *gpu = fake_gpu(handle);     \
    (void)gpu

/* A function that only gives a number, or NOT_SUPPORTED where the card lacks it. */
#define GIVES(name, type, has, value)          \
    API(name, nv_device device, type *out)     \
    {                                          \
        BEGIN(device);                         \
        if (!(has)) {                          \
            return fake_end(NV_NOT_SUPPORTED); \
        }                                      \
        *out = (type)(value);                  \
        return fake_end(NV_SUCCESS);           \
    }

#endif
