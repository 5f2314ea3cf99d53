/* SPDX-License-Identifier: MIT */
/* Remembers which questions a driver answers; see capability.h. */
#include "plugins/nvml/capability.h"

#include "plugins/nvml/nvml_lib.h"

#define DENIED_PAUSE_NS (INT64_C(60) * 1000000000)

bool capability_wanted(const struct capability *capability, int64_t mono_ns)
{
    return !capability->asked || mono_ns >= capability->next_ns;
}

void capability_note(struct capability *capability, int code, int64_t mono_ns, int64_t wall_ns)
{
    if (!capability->asked || capability->code != code) {
        capability->since_ns = wall_ns;
        capability->count = 0;
    }
    capability->asked = true;
    capability->code = code;
    capability->count++;
    capability->next_ns = 0;
    if (nvml_code_is_lasting(code) || code == NV_ARGUMENT_VERSION_MISMATCH) {
        capability->next_ns = INT64_MAX;
    } else if (code == NV_NO_PERMISSION) {
        capability->next_ns = mono_ns + DENIED_PAUSE_NS;
    }
}
