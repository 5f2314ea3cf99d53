/* SPDX-License-Identifier: MIT */
/* Memory of each NUMA node: sys/devices/system/node/nodeN/meminfo. Nodes are listed rarely; a
 * single one holds all memory and is not read, as the host tells that already. */
#include "plugins/proc/proc.h"

#include <stdio.h>
#include <stdlib.h>

enum { MEM_TOTAL, MEM_FREE, NODE_KEYS };

static const char *const node_keys[NODE_KEYS] = {"MemTotal", "MemFree"};
static const char folder_path[] = "sys/devices/system/node";

void numa_init(struct numa *numa, const struct options *options)
{
    numa->enabled = options->numa;
}

static void drop_all(struct numa *numa, struct reader *reader)
{
    for (uint32_t i = 0; i < numa->count; i++) {
        source_close(&numa->nodes[i]->file, reader);
        free(numa->nodes[i]);
    }
    numa->count = 0;
}

void numa_fini(struct numa *numa, struct reader *reader)
{
    drop_all(numa, reader);
}

static void add_node(struct numa *numa, uint32_t id)
{
    struct numa_node *node = numa->count < NUMA_LIMIT ? calloc(1, sizeof *node) : NULL;
    if (!node) {
        return;
    }
    node->id = id;
    (void)snprintf(node->path, sizeof node->path, "%s/node%u/meminfo", folder_path, id);
    node->file = (struct source){.path = node->path, .fd = -1};
    table_init(&node->table, node_keys, NODE_KEYS, 2); /* "Node 0 MemTotal: …" */
    uint32_t at = numa->count++;
    while (at > 0 && numa->nodes[at - 1]->id > id) {
        numa->nodes[at] = numa->nodes[at - 1];
        at--;
    }
    numa->nodes[at] = node;
}

struct node_ids {
    uint32_t count;
    uint32_t items[NUMA_LIMIT];
};

static void add_id(void *context, const char *name)
{
    struct node_ids *ids = context;
    struct scan scan = scan_text(name, strlen(name));
    uint64_t id;
    if (ids->count < NUMA_LIMIT && scan_past(&scan, "node") && scan_u64(&scan, &id) &&
        scan.at == scan.end && id <= UINT32_MAX) {
        ids->items[ids->count++] = (uint32_t)id;
    }
}

static bool is_known(const struct numa *numa, uint32_t id)
{
    for (uint32_t i = 0; i < numa->count; i++) {
        if (numa->nodes[i]->id == id) {
            return true;
        }
    }
    return false;
}

static void list_again(struct numa *numa, struct reader *reader)
{
    struct node_ids ids = {0};
    (void)reader_list(reader, folder_path, add_id, &ids);
    bool same = ids.count == numa->count;
    for (uint32_t i = 0; same && i < ids.count; i++) {
        same = is_known(numa, ids.items[i]);
    }
    if (!same) {
        drop_all(numa, reader);
        for (uint32_t i = 0; i < ids.count; i++) {
            add_node(numa, ids.items[i]);
        }
    }
    numa->listed_ns = reader->now_ns;
}

void numa_read(struct proc *proc)
{
    struct numa *numa = &proc->numa;
    struct reader *reader = &proc->reader;
    if (!numa->enabled) {
        return;
    }
    if (!numa->listed_ns || reader->now_ns - numa->listed_ns >= proc->options.slow_interval_ns) {
        list_again(numa, reader);
    }
    for (uint32_t i = 0; numa->count > 1 && i < numa->count; i++) {
        struct numa_node *node = numa->nodes[i];
        ssize_t length = source_read(&node->file, reader, 0);
        table_parse(&node->table, reader->buffer, length < 0 ? 0 : (size_t)length);
    }
}

void numa_host(const struct proc *proc, const struct out *out)
{
    if (!proc->numa.enabled) {
        return;
    }
    if (proc->numa.count) {
        out_count(out, M_NUMA_NODES, proc->numa.count);
    } else {
        out_absent(out, M_NUMA_NODES, TACHO_ABSENT_UNSUPPORTED);
    }
}

void numa_list(const struct proc *proc, const struct out *out)
{
    for (uint32_t i = 0; proc->numa.count > 1 && i < proc->numa.count; i++) {
        const struct numa_node *node = proc->numa.nodes[i];
        const struct table *table = &node->table;
        char key[16];
        (void)snprintf(key, sizeof key, "node%u", node->id);
        if (!table_has(table, MEM_TOTAL) || !table_has(table, MEM_FREE)) {
            continue; /* the node went away, or has no memory file */
        }
        uint64_t total = table->values[MEM_TOTAL];
        uint64_t used = total > table->values[MEM_FREE] ? total - table->values[MEM_FREE] : 0;
        out->host->entity(out->batch, "numa", key, out->root, 0);
        out_count(out, M_MEMORY_TOTAL, total * 1024);
        out_count(out, M_MEMORY_FREE, table->values[MEM_FREE] * 1024);
        out_count(out, M_MEMORY_USED, used * 1024);
        if (total) {
            out_ratio(out, M_MEMORY_UTILIZATION, 100 * (double)used / (double)total);
        } else {
            out_absent(out, M_MEMORY_UTILIZATION, TACHO_ABSENT_UNSUPPORTED);
        }
    }
}
