/* SPDX-License-Identifier: MIT */
/*
 * Network interfaces: counters from proc/net/dev, state and MTU from sys/class/net. The kernel
 * tells of every change of a link over netlink, so while it is silent what was read before is of
 * now. From inside a container the host's links cannot be listened to, and state and MTU are read
 * each time. Asking for the speed and duplex of a link can take a driver milliseconds; they are
 * read when the count of carrier changes has moved, and rarely otherwise, as they do not change
 * without it.
 */
#include "plugins/proc/proc.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RECEIVED_BYTES, RECEIVED_PACKETS, SENT_BYTES = 8, SENT_PACKETS = 9 };
enum { STATE_FILE, MTU_FILE, CHANGES_FILE };

/* A socket that hears of changes of links, or -1. */
static int listen_to_links(void)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/* Whether anything came since the last time; what it was does not matter. */
static bool links_changed(int fd)
{
    char message[16];
    bool changed = fd < 0;
    while (fd >= 0) {
        ssize_t got = recv(fd, message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);
        if (got <= 0 && errno != ENOBUFS && errno != EINTR) {
            break;
        }
        changed = true;
    }
    return changed;
}

void network_init(struct network *network, const struct options *options)
{
    static const char *const defaults[] = {"veth*"};
    /* Seen from a container, proc/net is the container's own; process 1 of the host has the host's.
     */
    network->dev = (struct source){.path = *options->root ? "proc/1/net/dev" : "proc/net/dev",
                                   .fd = -1,
                                   .flags = SOURCE_SHORT_RECORDS};
    network->include = options->interfaces;
    network->exclude = options->interfaces_exclude;
    network->link_interval_ns = options->slow_interval_ns;
    if (!network->exclude.count && !network->include.count) {
        network->exclude =
            (struct tacho_strings){.items = defaults, .count = TACHO_COUNT(defaults)};
    }
    network->links = *options->root ? -1 : listen_to_links();
    slots_init(&network->slots, sizeof(struct nic));
}

static void drop_nic(void *context, void *item)
{
    struct nic *nic = item;
    if (nic->state.path) {
        source_close(&nic->state, context);
        source_close(&nic->mtu, context);
        source_close(&nic->changes, context);
    }
}

void network_fini(struct network *network, struct reader *reader)
{
    source_close(&network->dev, reader);
    if (network->links >= 0) {
        (void)close(network->links);
    }
    slots_begin(&network->slots);
    slots_end(&network->slots, drop_nic, reader);
    slots_fini(&network->slots);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void find_files(struct nic *nic)
{
    static const char *const files[] = {"operstate", "mtu", "carrier_changes"};
    char name[SLOT_NAME];
    memcpy(name, nic->slot.name, sizeof name);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(nic->paths[i], sizeof nic->paths[i], "sys/class/net/%s/%s", name, files[i]);
    }
    nic->state = nic->mtu = nic->changes = (struct source){.path = "", .fd = -1};
    nic->speed = -1;
}

/* "  eth0: 12 …" or, on old kernels, "  eth0:12 …". */
static void parse_line(struct network *network, struct scan *line)
{
    scan_blanks(line);
    const char *colon = memrchr(line->at, ':', (size_t)(line->end - line->at));
    if (!colon) {
        return;
    }
    struct nic *nic = slots_take(&network->slots, line->at, (size_t)(colon - line->at));
    if (!nic) {
        return;
    }
    if (nic->slot.fresh) {
        nic->slot.wanted = glob_wanted(nic->slot.name, &network->include, &network->exclude);
        find_files(nic);
    }
    line->at = colon + 1;
    memcpy(nic->before, nic->now, sizeof nic->before);
    nic->fields = 0;
    while (nic->fields < NIC_FIELDS && scan_u64(line, &nic->now[nic->fields])) {
        nic->fields++;
    }
}

void network_parse(struct network *network, struct reader *reader, const char *text, size_t length)
{
    struct scan scan = scan_text(text, length);
    struct scan line;
    slots_begin(&network->slots);
    while (scan_take_line(&scan, &line)) {
        parse_line(network, &line); /* the two lines of headings have no colon */
    }
    slots_end(&network->slots, drop_nic, reader);
}

/* Speed and duplex; both are refused while the link is down. */
static void read_link(struct nic *nic, struct reader *reader)
{
    char path[112];
    (void)snprintf(path, sizeof path, "sys/class/net/%s/speed", nic->slot.name);
    nic->speed = -1;
    if (!reader_number(reader, path, &nic->speed) || nic->speed < 0) {
        nic->speed = -1;
    }
    (void)snprintf(path, sizeof path, "sys/class/net/%s/duplex", nic->slot.name);
    (void)reader_line(reader, path, nic->duplex, sizeof nic->duplex);
    nic->link_read_ns = reader->now_ns;
}

static void check_link(struct nic *nic, struct reader *reader, int64_t interval_ns)
{
    uint64_t changes = 0;
    nic->changes.path = nic->paths[CHANGES_FILE];
    ssize_t length = source_read(&nic->changes, reader, 0);
    struct scan scan = scan_text(reader->buffer, length < 0 ? 0 : (size_t)length);
    (void)scan_u64(&scan, &changes);
    if (!nic->link_read_ns || changes != nic->changes_seen ||
        reader->now_ns - nic->link_read_ns >= interval_ns) {
        nic->changes_seen = changes;
        read_link(nic, reader);
    }
}

static void read_state(struct nic *nic, struct reader *reader)
{
    nic->state.path = nic->paths[STATE_FILE];
    ssize_t length = source_read(&nic->state, reader, 0);
    struct scan scan = scan_text(reader->buffer, length < 0 ? 0 : (size_t)length);
    struct scan line = scan;
    (void)scan_take_line(&scan, &line);
    scan_copy(nic->state_text, sizeof nic->state_text, line.at, (size_t)(line.end - line.at));

    nic->mtu.path = nic->paths[MTU_FILE];
    length = source_read(&nic->mtu, reader, 0);
    scan = scan_text(reader->buffer, length < 0 ? 0 : (size_t)length);
    nic->has_mtu = scan_u64(&scan, &nic->mtu_bytes);
}

static bool is_due(const struct nic *nic, const struct network *network, int64_t now_ns)
{
    return nic->slot.fresh || now_ns - nic->link_read_ns >= network->link_interval_ns;
}

void network_read(struct proc *proc)
{
    struct network *network = &proc->network;
    struct reader *reader = &proc->reader;
    ssize_t length = source_read(&network->dev, reader, 0);
    if (length < 0 && strcmp(network->dev.path, "proc/net/dev") != 0) {
        network->dev.path = "proc/net/dev";
        network->dev.error = 0;
        length = source_read(&network->dev, reader, 0);
    }
    network_parse(network, reader, reader->buffer, length < 0 ? 0 : (size_t)length);
    bool changed = links_changed(network->links);
    for (uint32_t i = 0; i < network->slots.count; i++) {
        struct nic *nic = slots_at(&network->slots, i);
        if (nic->slot.wanted && (changed || is_due(nic, network, reader->now_ns))) {
            check_link(nic, reader, network->link_interval_ns);
            read_state(nic, reader);
        }
    }
}

/* ---- publishing ------------------------------------------------------------------------------ */

static bool was_reset(const struct nic *nic)
{
    return nic->now[RECEIVED_BYTES] < nic->before[RECEIVED_BYTES] ||
           nic->now[RECEIVED_PACKETS] < nic->before[RECEIVED_PACKETS] ||
           nic->now[SENT_BYTES] < nic->before[SENT_BYTES] ||
           nic->now[SENT_PACKETS] < nic->before[SENT_PACKETS];
}

static void put_rates(const struct nic *nic, const struct out *out, double elapsed_s)
{
    static const struct {
        int32_t metric;
        uint32_t field;
    } rates[] = {
        {M_NETWORK_RECEIVE_RATE, RECEIVED_BYTES},
        {M_NETWORK_SEND_RATE, SENT_BYTES},
        {M_NETWORK_RECEIVE_PACKET_RATE, RECEIVED_PACKETS},
        {M_NETWORK_SEND_PACKET_RATE, SENT_PACKETS},
    };
    if (nic->slot.fresh || was_reset(nic)) {
        elapsed_s = 0;
    }
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        uint32_t field = rates[i].field;
        out_rate(out, rates[i].metric, nic->now[field], nic->before[field], 1, elapsed_s);
    }
}

static void put_link(const struct nic *nic, const struct out *out)
{
    if (nic->speed >= 0) {
        out_count(out, M_NETWORK_SPEED, (uint64_t)nic->speed * 125000); /* from Mbit/s */
    } else {
        out_absent(out, M_NETWORK_SPEED, TACHO_ABSENT_UNSUPPORTED);
    }
    if (nic->has_mtu) {
        out_count(out, M_NETWORK_MTU, nic->mtu_bytes);
    } else {
        out_absent(out, M_NETWORK_MTU, TACHO_ABSENT_UNSUPPORTED);
    }
    if (nic->state_text[0]) {
        out->host->text(out->batch, M_NETWORK_STATE, nic->state_text);
    } else {
        out_absent(out, M_NETWORK_STATE, TACHO_ABSENT_UNSUPPORTED);
    }
    if (nic->duplex[0]) {
        out->host->text(out->batch, M_NETWORK_DUPLEX, nic->duplex);
    } else {
        out_absent(out, M_NETWORK_DUPLEX, TACHO_ABSENT_UNSUPPORTED);
    }
}

void network_list(const struct proc *proc, const struct out *out)
{
    const struct slots *slots = &proc->network.slots;
    for (uint32_t i = 0; i < slots->count; i++) {
        const struct nic *nic = slots_at(slots, i);
        if (!nic->slot.wanted || nic->fields <= SENT_PACKETS) {
            continue;
        }
        out->host->entity(out->batch, "nic", nic->slot.name, out->root, 0);
        for (uint32_t field = 0; field < NIC_FIELDS; field++) {
            if (field < nic->fields) {
                out_count(out, M_NETWORK_RECEIVED_BYTES + (int32_t)field, nic->now[field]);
            } else {
                out_absent(out, M_NETWORK_RECEIVED_BYTES + (int32_t)field,
                           TACHO_ABSENT_UNSUPPORTED);
            }
        }
        put_rates(nic, out, proc->elapsed_s);
        put_link(nic, out);
    }
}
