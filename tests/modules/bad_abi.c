/* SPDX-License-Identifier: MIT */
/* Fails: load */
#include "tests/modules/bad.h"

const struct tacho_plugin tacho_plugin_v1 = {
    .struct_size = sizeof(struct tacho_plugin),
    .abi_major = TACHO_ABI_MAJOR + 1,
    .name = MODULE_NAME,
    .version = "1",
    .summary = "Bad.",
    .open = good_open,
    .close = good_close,
    .collect = good_collect,
};
