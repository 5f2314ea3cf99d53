/* SPDX-License-Identifier: MIT */
/*
 * The vendor's library, loaded at run time: one pointer for each function of symbols.def, NULL
 * where this release does not have it. A library belongs to one generation; after the driver was
 * replaced it is closed and opened anew, since its functions may have changed.
 */
#ifndef TACHO_PLUGINS_NVML_NVML_LIB_H
#define TACHO_PLUGINS_NVML_NVML_LIB_H

#include <stdbool.h>

#include "core/plugin.h"
#include "plugins/nvml/nvml_abi.h"

struct nvml_lib {
    void *handle;
    const char *(*error_string)(int code);
#define SYMBOL(member, arguments, ...) int(*member) arguments;
#include "plugins/nvml/symbols.def"
#undef SYMBOL
};

/* Calls a function of the library, or says that there is no such function. */
#define NVML_CALL(lib, member, ...) \
    ((lib)->member ? (lib)->member(__VA_ARGS__) : (int)NV_FUNCTION_NOT_FOUND)

/* Loads from `path`, or from the usual names when it is "". TACHO_UNSUPPORTED when there is none.
 */
int nvml_lib_open(struct nvml_lib *lib, const char *path, struct tacho_err *err);
void nvml_lib_close(struct nvml_lib *lib);

/* Initialises, with few descriptors allowed meanwhile: clients of the vendor's daemon were seen to
 * take memory by the limit. Fails with the sentence that the code deserves. */
int nvml_lib_init(const struct nvml_lib *lib, struct tacho_err *err);

/* Words for a code, by the library where it has some. */
const char *nvml_lib_error(const struct nvml_lib *lib, int code);

/* Library and driver no longer fit together or were never up: begin anew. */
bool nvml_code_ends_generation(int code);

/* The device is out of order; others may work. */
bool nvml_code_fails_device(int code);

/* Will not change as long as this library is loaded. */
bool nvml_code_is_lasting(int code);

/* The reason that a value is absent after this code. */
int nvml_code_reason(int code);

#endif
