/* SPDX-License-Identifier: MIT */
/* How a GPU stands to the others of the machine: nearest common point, what each can do to the
 * other's memory, links between them. Asked once for each pair in a generation. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nvml/device.h"
#include "plugins/nvml/generation.h"

struct peer {
    bool known;
    char uuid[96];
    int topology_code, p2p_code;
    uint32_t level;
    uint64_t p2p;
    uint32_t links;
};

struct peers {
    uint32_t count;
    struct peer items[];
};

int peers_init(struct device *device, uint32_t count)
{
    device->peers = calloc(1, sizeof *device->peers + count * sizeof(struct peer));
    if (device->peers) {
        device->peers->count = count;
    }
    return device->peers ? TACHO_OK : TACHO_RETRY;
}

void peers_forget(struct device *device)
{
    memset(device->peers->items, 0, device->peers->count * sizeof(struct peer));
}

static const char *level_name(uint32_t level)
{
    static const char *const names[] = {"internal",    "single_switch", "multiple_switches",
                                        "host_bridge", "node",          "system"};
    return level % 10 == 0 && level / 10 < TACHO_COUNT(names) ? names[level / 10] : NULL;
}

/* Who the other is, if it is known by now. */
static bool find_other(struct device *device, uint32_t index, struct identity *out)
{
    struct generation *generation = device->generation;
    pthread_mutex_lock(&generation->lock);
    *out = generation->devices[index].slot.identity;
    pthread_mutex_unlock(&generation->lock);
    return out->attached;
}

static void ask(struct device *device, uint32_t index, struct peer *peer)
{
    struct identity other;
    nv_device handle = device->identity.handle;
    if (!find_other(device, index, &other)) {
        return;
    }
    peer->topology_code = NVML_CALL(device->lib, topology, handle, other.handle, &peer->level);
    if (peer->topology_code == NV_SUCCESS && !level_name(peer->level)) {
        peer->topology_code = NV_UNKNOWN;
    }
    for (uint32_t i = 0; i < NV_P2P_CAPS; i++) {
        uint32_t status = UINT32_MAX;
        int code = NVML_CALL(device->lib, p2p_status, handle, other.handle, i, &status);
        peer->p2p_code = i == 0 ? code : peer->p2p_code; /* old drivers lack the later ones */
        peer->p2p |= code == NV_SUCCESS && status == 0 ? UINT64_C(1) << i : 0;
    }
    for (uint32_t i = 0; i < device->links.count; i++) {
        peer->links += strcmp(device->links.peers[i], other.known.pci) == 0;
    }
    (void)snprintf(peer->uuid, sizeof peer->uuid, "%s", other.known.uuid);
    device_answer(device, peer->topology_code);
    peer->known = true;
}

static void put_peer(struct device *device, struct reading *reading, const struct peer *peer)
{
    char key[200];
    (void)snprintf(key, sizeof key, "%s/%s", device->identity.known.uuid, peer->uuid);
    (void)reading_entity(reading, "gpu_peer", key, 0);
    reading_label(reading, "peer", peer->uuid);
    reading_facts(reading, true);
    if (peer->topology_code == NV_SUCCESS) {
        reading_text(reading, M_PEER_TOPOLOGY, level_name(peer->level));
    } else {
        reading_absent(reading, M_PEER_TOPOLOGY, nvml_code_reason(peer->topology_code));
    }
    if (peer->p2p_code == NV_SUCCESS) {
        reading_flags(reading, M_PEER_P2P, peer->p2p);
    } else {
        reading_absent(reading, M_PEER_P2P, nvml_code_reason(peer->p2p_code));
    }
    reading_i64(reading, M_PEER_NVLINKS, peer->links);
}

void read_peers(struct device *device, struct reading *reading)
{
    for (uint32_t i = 0; i < device->peers->count; i++) {
        struct peer *peer = &device->peers->items[i];
        if (i != device->index && !peer->known && device->code == NV_SUCCESS) {
            ask(device, i, peer);
        }
        if (peer->known) {
            put_peer(device, reading, peer);
        }
    }
}
