/* SPDX-License-Identifier: MIT */
/* What nvidia-smi prints instead of data, in words that say what to check. */
#include <string.h>

#include "plugins/nvidia_smi/nvidia_smi.h"

static const struct {
    const char *text; /* found anywhere in the output */
    int code;
    const char *meaning;
} messages[] = {
    {"couldn't communicate with the NVIDIA driver", TACHO_UNSUPPORTED,
     "the NVIDIA driver is not loaded; check that it is installed for the running kernel and "
     "loaded (lsmod | grep nvidia)"},
    {"couldn't find libnvidia-ml.so", TACHO_UNSUPPORTED,
     "the library libnvidia-ml.so is missing; check that the driver's libraries are installed"},
    {"No devices were found", TACHO_UNSUPPORTED,
     "the driver sees no GPU; check lspci, the kernel log, and in a container which devices it was "
     "given"},
    {"No devices found", TACHO_UNSUPPORTED,
     "the driver sees no GPU; check lspci and the kernel log"},
    {"Driver/library version mismatch", TACHO_RETRY,
     "the driver in the kernel and its libraries are of different versions, as after an upgrade; "
     "reload the driver or restart the machine"},
    {"Failed to initialize NVML: Insufficient Permissions", TACHO_RETRY,
     "not allowed to open the GPU devices; check the rights of /dev/nvidia*"},
    {"Failed to initialize NVML: Unknown Error", TACHO_RETRY,
     "the driver does not answer; a container may have lost its devices (restart it), else check "
     "the kernel log"},
    {"Failed to initialize NVML: GPU is lost", TACHO_RETRY,
     "a GPU has fallen off the bus; check the kernel log for XID errors"},
    {"Insufficient External Power", TACHO_RETRY, "a GPU has not all its power cables"},
    {"Corrupted infoROM", TACHO_RETRY, "a GPU's infoROM is corrupted"},
    {"is not a valid field to query", TACHO_RETRY, "it does not know a field that its help lists"},
    {"is not recognized", TACHO_RETRY, "it does not know an option that we use; is it very old?"},
};

int smi_explain(const char *command, const char *output, const char *status, struct tacho_err *err)
{
    for (uint32_t i = 0; i < TACHO_COUNT(messages); i++) {
        if (strstr(output, messages[i].text)) {
            return tacho_fail(err, messages[i].code, "%.80s: %s", command, messages[i].meaning);
        }
    }
    output += strspn(output, " \t\r\n");
    int length = (int)strcspn(output, "\r\n");
    if (length == 0) {
        return tacho_fail(err, TACHO_RETRY, "%.80s printed nothing and ended with %s", command,
                          status);
    }
    return tacho_fail(err, TACHO_RETRY, "%.80s ended with %s and printed \"%.*s\"", command, status,
                      length < 160 ? length : 160, output);
}
