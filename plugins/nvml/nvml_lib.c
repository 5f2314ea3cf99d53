/* SPDX-License-Identifier: MIT */
/*
 * Loads libnvidia-ml and finds its functions; knows what its codes mean for a value, a device and
 * the library. What is asked and when is left to session.c and device.c.
 */
#include "plugins/nvml/nvml_lib.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/resource.h>

#define DESCRIPTOR_LIMIT 4096

static const struct symbol {
    size_t offset;
    const char *names[3]; /* newest first */
} symbol_table[] = {
#define SYMBOL(member, arguments, ...) {offsetof(struct nvml_lib, member), {__VA_ARGS__}},
#include "plugins/nvml/symbols.def"
#undef SYMBOL
};

static void *find(void *handle, const struct symbol *symbol)
{
    void *function = NULL;
    for (size_t i = 0; i < TACHO_COUNT(symbol->names) && symbol->names[i] && !function; i++) {
        function = dlsym(handle, symbol->names[i]);
    }
    return function;
}

static int load(struct nvml_lib *lib, const char *path, struct tacho_err *err)
{
    static const char *const usual[] = {"libnvidia-ml.so.1", "libnvidia-ml.so"};
    if (path[0]) {
        lib->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const char *why = lib->handle ? NULL : dlerror();
        return lib->handle ? TACHO_OK
                           : tacho_fail(err, TACHO_UNSUPPORTED,
                                        "cannot load the NVML library: %s; check the option "
                                        "library",
                                        why ? why : path);
    }
    for (size_t i = 0; i < TACHO_COUNT(usual) && !lib->handle; i++) {
        lib->handle = dlopen(usual[i], RTLD_NOW | RTLD_LOCAL);
    }
    return lib->handle ? TACHO_OK
                       : tacho_fail(err, TACHO_UNSUPPORTED,
                                    "no NVIDIA driver on this machine: neither libnvidia-ml.so.1 "
                                    "nor libnvidia-ml.so can be loaded; in a container, check that "
                                    "it was started with its GPUs, else install the driver");
}

int nvml_lib_open(struct nvml_lib *lib, const char *path, struct tacho_err *err)
{
    memset(lib, 0, sizeof *lib);
    int result = load(lib, path, err);
    if (result != TACHO_OK) {
        return result;
    }
    for (size_t i = 0; i < TACHO_COUNT(symbol_table); i++) {
        void *function = find(lib->handle, &symbol_table[i]);
        memcpy((char *)lib + symbol_table[i].offset, &function, sizeof function);
    }
    void *text = dlsym(lib->handle, "nvmlErrorString");
    memcpy(&lib->error_string, &text, sizeof text);
    if (!lib->init || !lib->device_count || !lib->device_by_index || !lib->uuid) {
        nvml_lib_close(lib);
        return tacho_fail(err, TACHO_UNSUPPORTED,
                          "%s lacks the functions to find GPUs; is it an NVML library?",
                          path[0] ? path : "libnvidia-ml");
    }
    return TACHO_OK;
}

void nvml_lib_close(struct nvml_lib *lib)
{
    if (lib->handle) {
        (void)dlclose(lib->handle);
    }
    memset(lib, 0, sizeof *lib);
}

const char *nvml_lib_error(const struct nvml_lib *lib, int code)
{
    const char *text = lib->error_string ? lib->error_string(code) : NULL;
    return text ? text : "no text for this code";
}

/* ---- initialising ---------------------------------------------------------------------------- */

/* What a code of nvmlInit deserves: whether to ask again soon, and what to check. */
static const struct {
    int code, result;
    const char *check;
} init_table[] = {
    {NV_DRIVER_NOT_LOADED, TACHO_UNSUPPORTED,
     "the library is there but the kernel driver is not: check with lsmod whether nvidia is "
     "loaded"},
    {NV_GPU_NOT_FOUND, TACHO_UNSUPPORTED, "no GPU is known to the driver: check with lspci"},
    {NV_LIBRARY_NOT_FOUND, TACHO_UNSUPPORTED, "a part of the driver is missing: install it again"},
    {NV_LIB_RM_VERSION_MISMATCH, TACHO_RETRY,
     "library and kernel driver are of different releases, as after an upgrade: reload the driver "
     "or restart the machine"},
    {NV_NO_PERMISSION, TACHO_RETRY, "check who may open /dev/nvidiactl and /dev/nvidia*"},
    {NV_UNKNOWN, TACHO_RETRY,
     "in a container this comes after a daemon-reload on its host, which takes the GPU devices "
     "away: restart the container"},
};

int nvml_lib_init(const struct nvml_lib *lib, struct tacho_err *err)
{
    struct rlimit limit;
    bool lower = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > DESCRIPTOR_LIMIT;
    if (lower) {
        struct rlimit few = {.rlim_cur = DESCRIPTOR_LIMIT, .rlim_max = limit.rlim_max};
        (void)setrlimit(RLIMIT_NOFILE, &few);
    }
    int code = lib->init();
    if (lower) {
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (code == NV_SUCCESS) {
        return TACHO_OK;
    }
    for (size_t i = 0; i < TACHO_COUNT(init_table); i++) {
        if (init_table[i].code == code) {
            return tacho_fail(err, init_table[i].result, "cannot initialise NVML: %s (code %d); %s",
                              nvml_lib_error(lib, code), code, init_table[i].check);
        }
    }
    return tacho_fail(err, TACHO_RETRY, "cannot initialise NVML: %s (code %d)",
                      nvml_lib_error(lib, code), code);
}

/* ---- what codes mean ------------------------------------------------------------------------- */

bool nvml_code_ends_generation(int code)
{
    return code == NV_UNINITIALIZED || code == NV_DRIVER_NOT_LOADED ||
           code == NV_LIBRARY_NOT_FOUND || code == NV_LIB_RM_VERSION_MISMATCH ||
           code == NV_GPU_NOT_FOUND;
}

bool nvml_code_fails_device(int code)
{
    return code == NV_GPU_IS_LOST || code == NV_RESET_REQUIRED || code == NV_IRQ_ISSUE ||
           code == NV_CORRUPTED_INFOROM;
}

bool nvml_code_is_lasting(int code)
{
    return code == NV_NOT_SUPPORTED || code == NV_FUNCTION_NOT_FOUND || code == NV_DEPRECATED;
}

int nvml_code_reason(int code)
{
    if (nvml_code_is_lasting(code) || code == NV_ARGUMENT_VERSION_MISMATCH) {
        return TACHO_ABSENT_UNSUPPORTED;
    }
    if (nvml_code_fails_device(code) || nvml_code_ends_generation(code)) {
        return TACHO_ABSENT_LOST;
    }
    switch (code) {
    case NV_NO_PERMISSION: return TACHO_ABSENT_DENIED;
    case NV_NOT_FOUND:
    case NV_NO_DATA:
    case NV_TIMEOUT: return TACHO_ABSENT_NOT_YET;
    default: return TACHO_ABSENT_ERROR;
    }
}
