/* SPDX-License-Identifier: MIT */
/* The commands of the plugin, and what they need of its life cycle. */
#ifndef TACHO_PLUGINS_NVML_COMMAND_H
#define TACHO_PLUGINS_NVML_COMMAND_H

#include "plugins/nvml/nvml.h"

int nvml_call(void *self, const char *command, const char *arguments_json,
              struct tacho_reply *reply, struct tacho_err *err);

/* Ends the generation, if there is one. */
void nvml_unload(struct nvml *nvml);

#endif
