/* SPDX-License-Identifier: MIT */
/*
 * Reload; see engine.h. Everything that can fail for want of memory or a bad file is done before
 * anything is touched. Instances are matched by role, name and hash; what matches keeps running and
 * only changes hands from the old configuration to the new one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/encode.h"
#include "core/engine_internal.h"
#include "core/err.h"

/* What is to be done for a new configuration. Lists are as long as the two configurations. */
struct plan {
    struct conf *conf;
    struct identity *identity;  /* the present one, or a new one */
    struct instance_list list;  /* what will run, in the order of the file */
    struct instance_list fresh; /* those of it that are new */
    struct instance_list gone;  /* those of now that are not in it */
    uint32_t kept;
};

static bool same_identity(const struct conf *one, const struct conf *other)
{
    return strcmp(one->fleet, other->fleet) == 0 && strcmp(one->host, other->host) == 0 &&
           strcmp(one->state_dir, other->state_dir) == 0;
}

static bool same_place(const struct conf_instance *one, const struct conf_instance *other)
{
    return one->role == other->role && strcmp(one->name, other->name) == 0;
}

static struct instance *find(const struct instance_list *list, const struct conf_instance *conf)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i] && same_place(list->items[i]->conf, conf)) {
            return list->items[i];
        }
    }
    return NULL;
}

static int list_make(struct instance_list *list, uint32_t size)
{
    list->items = calloc(size ? size : 1, sizeof(struct instance *));
    list->count = 0;
    return list->items ? 0 : -1;
}

static void list_add(struct instance_list *list, struct instance *instance)
{
    list->items[list->count++] = instance;
}

static void plan_free(struct engine *engine, struct plan *plan, bool applied)
{
    for (uint32_t i = 0; !applied && i < plan->fresh.count; i++) {
        instance_unref(plan->fresh.items[i]);
    }
    if (!applied && plan->identity != engine->identity) {
        identity_free(plan->identity);
    }
    free(plan->fresh.items);
    free(plan->gone.items);
    if (!applied) {
        free(plan->list.items);
    }
}

/* Finds what stays and makes what is new. */
static int plan_instances(struct engine *engine, struct plan *plan, struct tacho_err *err)
{
    bool same = plan->identity == engine->identity;
    for (uint32_t i = 0; i < plan->conf->instance_count; i++) {
        struct conf_instance *conf = plan->conf->instances[i];
        struct instance *known = find(&engine->list, conf);
        if (known && same && known->conf->hash == conf->hash) {
            list_add(&plan->list, known);
            plan->kept++;
            continue;
        }
        struct instance *made;
        int result = engine_make(engine, plan->identity, conf, &made, err);
        if (result != TACHO_OK) {
            return result;
        }
        list_add(&plan->fresh, made);
        list_add(&plan->list, made);
    }
    return TACHO_OK;
}

static void plan_gone(const struct engine *engine, struct plan *plan)
{
    for (uint32_t i = 0; i < engine->list.count; i++) {
        bool stays = false;
        for (uint32_t j = 0; j < plan->list.count; j++) {
            stays = stays || plan->list.items[j] == engine->list.items[i];
        }
        if (!stays) {
            list_add(&plan->gone, engine->list.items[i]);
        }
    }
}

static int plan_make(struct engine *engine, struct conf *conf, struct plan *plan,
                     struct tacho_err *err)
{
    *plan = (struct plan){.conf = conf, .identity = engine->identity};
    if (!same_identity(engine->conf, conf) && !(plan->identity = identity_new(conf, engine, err))) {
        plan->identity = engine->identity;
        return TACHO_RETRY;
    }
    struct conf **moved =
        realloc(engine->former, (engine->former_count + 1) * sizeof(struct conf *));
    engine->former = moved ? moved : engine->former;
    if (!moved || list_make(&plan->list, conf->instance_count) != 0 ||
        list_make(&plan->fresh, conf->instance_count) != 0 ||
        list_make(&plan->gone, engine->list.count) != 0) {
        return tacho_fail(err, TACHO_RETRY, "no memory");
    }
    int result = plan_instances(engine, plan, err);
    if (result == TACHO_OK) {
        plan_gone(engine, plan);
    }
    return result;
}

static bool borrows(const struct conf *conf, const struct conf_instance *wanted)
{
    for (uint32_t i = 0; i < conf->instance_count; i++) {
        if (conf->instances[i] == wanted) {
            return true;
        }
    }
    return false;
}

static bool in_use(const struct engine *engine, const struct conf *conf)
{
    for (uint32_t i = 0; i < engine->list.count; i++) {
        if (borrows(conf, engine->list.items[i]->conf)) {
            return true;
        }
    }
    for (uint32_t i = 0; i < engine->left_behind_count; i++) {
        if (borrows(conf, engine->left_behind[i])) {
            return true;
        }
    }
    return false;
}

/* Frees the former configurations that nobody borrows from any more. */
static void free_former(struct engine *engine)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < engine->former_count; i++) {
        if (in_use(engine, engine->former[i])) {
            engine->former[kept++] = engine->former[i];
        } else {
            conf_free(engine->former[i]);
        }
    }
    engine->former_count = kept;
}

/* New sinks listen from here on; one that replaces another of its name does so without a gap. */
static void subscribe_fresh(struct engine *engine, const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->fresh.count; i++) {
        struct instance *instance = plan->fresh.items[i];
        struct instance *before = find(&plan->gone, instance->conf);
        struct tacho_err err = {0};
        if (instance->queue && instance->plugin->consume && before && before->queue &&
            before->plugin->consume) {
            bus_swap(engine->bus, before->queue, instance->queue, instance->conf->filter,
                     instance->conf->filter_count);
        } else if (engine_subscribe(engine, instance, &err) != TACHO_OK) {
            log_error(&engine->log, "%s", err.text);
        }
    }
}

static void end_gone(struct engine *engine, struct plan *plan)
{
    static const int order[] = {CONF_PROVIDER, CONF_SERVICE, CONF_SINK};
    for (int i = 0; i < 3; i++) {
        int64_t now_ns = clock_mono_ns();
        engine_end(engine, &plan->gone, order[i], now_ns + 700 * NS_PER_MS,
                   now_ns + 1000 * NS_PER_MS);
    }
}

static void run_fresh(struct engine *engine, const struct plan *plan)
{
    static const int order[] = {CONF_SINK, CONF_SERVICE, CONF_PROVIDER};
    for (int role = 0; role < 3; role++) {
        for (uint32_t i = 0; i < plan->fresh.count; i++) {
            struct tacho_err err = {0};
            if (plan->fresh.items[i]->conf->role == order[role] &&
                engine_run(engine, plan->fresh.items[i], &err) != TACHO_OK) {
                log_error(&engine->log, "%s", err.text);
            }
        }
    }
}

/* The list and the facts that others see. */
static void show(struct engine *engine, struct plan *plan)
{
    pthread_mutex_lock(&engine->lock);
    free(engine->list.items);
    engine->list = plan->list;
    engine->former[engine->former_count++] = engine->conf;
    engine->conf = plan->conf;
    engine->identity = plan->identity;
    engine->facts.hash = plan->conf->hash_text;
    engine->facts.generation++;
    engine->self_interval_ns = plan->conf->self ? plan->conf->self_interval_ns : 0;
    pthread_mutex_unlock(&engine->lock);
}

static void apply(struct engine *engine, struct plan *plan)
{
    struct identity *identity = engine->identity;
    uint32_t left_behind = engine->left_behind_count;
    show(engine, plan);
    log_set_level(plan->conf->log_level);
    engine_order_chains(engine, &plan->list);
    subscribe_fresh(engine, plan);
    end_gone(engine, plan);
    run_fresh(engine, plan);
    engine_watch_again(engine);
    if (identity != plan->identity && engine->left_behind_count == left_behind) {
        identity_free(identity);
    }
}

/* ---- outcome -----------------------------------------------------------------------------------
 */

static void reject(struct engine *engine, const struct conf_problems *problems, struct buf *out)
{
    char line[1024];
    buf_puts(out, "{\"applied\":false,\"problems\":[");
    for (uint32_t i = 0; i < problems->count; i++) {
        conf_problem_print(&problems->items[i], line, sizeof line);
        log_error(&engine->log, "%s", line);
        buf_puts(out, i ? "," : "");
        encode_json_text(out, line);
    }
    buf_puts(out, "]}");
    pthread_mutex_lock(&engine->lock);
    engine->facts.rejected++;
    pthread_mutex_unlock(&engine->lock);
    log_error(&engine->log,
              "the new configuration is not applied: %u problems; all goes on as before",
              problems->count);
    instance_event(&engine->identity->self, "tacho", "config_rejected", TACHO_SEVERITY_WARNING,
                   problems->count ? line : "");
}

static void reject_text(struct engine *engine, const char *text, struct buf *out)
{
    struct conf_problem problem = {.file = engine->conf->path, .path = "", .problem = (char *)text};
    reject(engine, &(struct conf_problems){.items = &problem, .count = 1}, out);
}

static void accept(struct engine *engine, const struct plan *plan, struct buf *out)
{
    char text[160];
    snprintf(text, sizeof text, "configuration %s applied: %u kept, %u started, %u stopped",
             engine->facts.hash, plan->kept, plan->fresh.count, plan->gone.count);
    log_info(&engine->log, "%s", text);
    instance_event(&engine->identity->self, "tacho", "config_applied", TACHO_SEVERITY_INFO, text);
    buf_printf(out,
               "{\"applied\":true,\"generation\":%llu,\"hash\":\"%s\",\"kept\":%u,\"started\":%u,"
               "\"stopped\":%u}",
               (unsigned long long)engine->facts.generation, engine->facts.hash, plan->kept,
               plan->fresh.count, plan->gone.count);
}

void engine_reload(struct engine *engine, struct buf *out)
{
    struct conf_problems problems = {0};
    struct conf *conf = NULL;
    struct tacho_err err = {0};
    struct plan plan;
    if (conf_load(engine->conf->path, CONF_FULL, &conf, &problems) != TACHO_OK) {
        reject(engine, &problems, out);
        conf_problems_free(&problems);
        return;
    }
    conf_problems_free(&problems);
    bool applied = plan_make(engine, conf, &plan, &err) == TACHO_OK;
    if (applied) {
        apply(engine, &plan);
        accept(engine, &plan, out);
        free_former(engine);
    } else {
        reject_text(engine, err.text, out);
    }
    plan_free(engine, &plan, applied);
    if (!applied) {
        conf_free(conf);
    }
}

void engine_move_control(struct engine *engine)
{
    struct tacho_err err = {0};
    if (strcmp(engine->control_path, engine->conf->control) == 0) {
        return;
    }
    control_free(engine->control);
    engine->control = NULL;
    if (engine_listen(engine, &err) != TACHO_OK) {
        log_error(&engine->log, "%s", err.text);
    }
}
