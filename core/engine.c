/* SPDX-License-Identifier: MIT */
/*
 * Building, starting and stopping; see engine.h. Order is all there is to it: whoever consumes
 * stands ready before anybody produces, and ends after everybody has.
 */
#include "core/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/engine_internal.h"
#include "core/err.h"
#include "core/provider.h"
#include "core/session.h"
#include "core/sink.h"
#include "core/units.h"

/* ---- identity ----------------------------------------------------------------------------------
 */

void identity_free(struct identity *identity)
{
    if (identity) {
        if (identity->self.services) {
            host_fini(&identity->self);
        }
        free(identity->fleet);
        free(identity->host);
        free(identity->state_dir);
        free(identity);
    }
}

static int call_for_plugin(void *context, const char *instance, const char *command,
                           const char *arguments_json, struct tacho_reply *reply,
                           struct tacho_err *err)
{
    return engine_call(context, instance, command, arguments_json, reply->out, err);
}

struct identity *identity_new(const struct conf *conf, struct engine *engine, struct tacho_err *err)
{
    struct identity *identity = calloc(1, sizeof *identity);
    if (!identity) {
        tacho_fail(err, TACHO_RETRY, "no memory");
        return NULL;
    }
    identity->fleet = strdup(conf->fleet);
    identity->host = strdup(conf->host);
    identity->state_dir = strdup(conf->state_dir);
    identity->services = (struct host_services){.fleet = identity->fleet,
                                                .host = identity->host,
                                                .state_dir = identity->state_dir,
                                                .session = engine->session,
                                                .bus = engine->bus,
                                                .state = engine->state,
                                                .on_call = call_for_plugin,
                                                .context = engine};
    if (!identity->fleet || !identity->host || !identity->state_dir) {
        tacho_fail(err, TACHO_RETRY, "no memory");
    } else if (host_init(&identity->self, &identity->services, "self", NULL, err) == TACHO_OK) {
        return identity;
    }
    identity->self.services = NULL;
    identity_free(identity);
    return NULL;
}

/* ---- chains ------------------------------------------------------------------------------------
 */

static void wake_member(void *context, void *member)
{
    (void)context;
    instance_wake(member);
}

static void tell_switch(void *context, const char *chain, void *from, void *to, const char *reason)
{
    struct engine *engine = context;
    struct instance *after = to;
    struct instance *before = from;
    char text[TACHO_ERR_TEXT];
    if (!before) {
        log_info(&engine->log, "chain %s: %s serves", chain, after->host.name);
        return;
    }
    snprintf(text, sizeof text, "chain %s: %s serves instead of %s%s%s", chain, after->host.name,
             before->host.name, *reason ? ", which failed: " : ", the better one is back", reason);
    log_warn(&engine->log, "%s", text);
    instance_event(after->reports, after->host.name, "failover",
                   *reason ? TACHO_SEVERITY_WARNING : TACHO_SEVERITY_INFO, text);
    state_hide(engine->state, before->host.services->host, before->host.name);
}

static struct chain *find_chain(struct engine *engine, const char *name)
{
    for (uint32_t i = 0; i < engine->chain_count; i++) {
        if (strcmp(chain_name(engine->chains[i]), name) == 0) {
            return engine->chains[i];
        }
    }
    struct chain_hooks hooks = {.wake = wake_member, .switched = tell_switch, .context = engine};
    struct chain **moved =
        realloc(engine->chains, (engine->chain_count + 1) * sizeof(struct chain *));
    struct chain *chain = moved ? chain_new(name, &hooks) : NULL;
    engine->chains = moved ? moved : engine->chains;
    if (chain) {
        engine->chains[engine->chain_count++] = chain;
    }
    return chain;
}

void engine_order_chains(struct engine *engine, const struct instance_list *list)
{
    void **members = calloc(list->count ? list->count : 1, sizeof *members);
    for (uint32_t i = 0; members && i < engine->chain_count; i++) {
        uint32_t count = 0;
        for (uint32_t j = 0; j < list->count; j++) {
            if (list->items[j]->chain == engine->chains[i]) {
                members[count++] = list->items[j];
            }
        }
        if (chain_set(engine->chains[i], members, count) != 0) {
            log_error(&engine->log, "no memory to order chain %s", chain_name(engine->chains[i]));
        }
    }
    free(members);
}

/* ---- instances ---------------------------------------------------------------------------------
 */

int engine_make(struct engine *engine, struct identity *identity, struct conf_instance *conf,
                struct instance **out, struct tacho_err *err)
{
    struct chain *chain = NULL;
    if (conf->role == CONF_PROVIDER && conf->chain && *conf->chain &&
        !(chain = find_chain(engine, conf->chain))) {
        return tacho_fail(err, TACHO_RETRY, "no memory for chain %s", conf->chain);
    }
    int result = instance_new(conf, &identity->services, &identity->self, out, err);
    if (result == TACHO_OK) {
        (*out)->chain = chain;
    }
    return result;
}

static struct sequence *find_sequence(struct engine *engine, const char *name)
{
    for (uint32_t i = 0; i < engine->sequence_count; i++) {
        if (strcmp(engine->sequences[i].name, name) == 0) {
            return &engine->sequences[i];
        }
    }
    return NULL;
}

static void remember_sequence(struct engine *engine, const char *name, uint64_t next)
{
    struct sequence *sequence = find_sequence(engine, name);
    if (!sequence) {
        struct sequence *moved =
            realloc(engine->sequences, (engine->sequence_count + 1) * sizeof *moved);
        char *copy = strdup(name);
        engine->sequences = moved ? moved : engine->sequences;
        if (!moved || !copy) {
            free(copy);
            return;
        }
        sequence = &engine->sequences[engine->sequence_count++];
        sequence->name = copy;
    }
    sequence->next = next;
}

int engine_subscribe(struct engine *engine, struct instance *instance, struct tacho_err *err)
{
    if (instance->queue && instance->plugin->consume &&
        bus_subscribe(engine->bus, instance->queue, instance->conf->filter,
                      instance->conf->filter_count) != TACHO_OK) {
        return tacho_fail(err, TACHO_RETRY, "no memory to subscribe %s", instance->host.name);
    }
    return TACHO_OK;
}

int engine_run(struct engine *engine, struct instance *instance, struct tacho_err *err)
{
    const struct sequence *sequence = find_sequence(engine, instance->host.name);
    instance->host.seq = sequence ? sequence->next : 0;
    bool provider = instance->conf->role == CONF_PROVIDER;
    return instance_start(instance, provider ? provider_run : sink_run, err);
}

/* What an instance that was left behind borrows has to stay for ever. */
static void keep_conf(struct engine *engine, const struct conf_instance *conf)
{
    const struct conf_instance **moved =
        realloc(engine->left_behind, (engine->left_behind_count + 1) * sizeof *moved);
    if (!moved) {
        abort(); /* To go on would free what a running call reads. */
    }
    engine->left_behind = moved;
    engine->left_behind[engine->left_behind_count++] = conf;
}

static void let_go(struct engine *engine, struct instance *instance, int64_t hard_ns)
{
    if (!instance_join(instance, hard_ns)) {
        log_warn(&engine->log, "%s does not return from its call; left behind",
                 instance->host.name);
        keep_conf(engine, instance->conf);
    }
    remember_sequence(engine, instance->host.name, host_retire(&instance->host));
    instance_unref(instance);
}

void engine_end(struct engine *engine, const struct instance_list *list, int role, int64_t soft_ns,
                int64_t hard_ns)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct instance *instance = list->items[i];
        if (instance && instance->conf->role == role) {
            if (instance->queue) {
                bus_unsubscribe(engine->bus, instance->queue);
            }
            instance_stop(instance);
        }
    }
    for (uint32_t i = 0; i < list->count; i++) {
        struct instance *instance = list->items[i];
        if (instance && instance->conf->role == role && !instance_wait_done(instance, soft_ns)) {
            instance_cancel(instance);
        }
    }
    for (uint32_t i = 0; i < list->count; i++) {
        struct instance *instance = list->items[i];
        if (instance && instance->conf->role == role) {
            let_go(engine, instance, hard_ns);
            list->items[i] = NULL;
        }
    }
}

/* ---- life --------------------------------------------------------------------------------------
 */

static int make_parts(struct engine *engine, struct tacho_err *err)
{
    engine->state = state_new();
    engine->bus = engine->state ? bus_new(engine->state) : NULL;
    engine->request_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!engine->bus) {
        return tacho_fail(err, TACHO_RETRY, "no memory");
    }
    if (engine->request_fd < 0) {
        return err_sys(err, TACHO_RETRY, "cannot make an eventfd");
    }
    engine->facts.bus = engine->bus;
    engine->facts.generation = 1;
    engine->facts.hash = engine->conf->hash_text;
    engine->facts.started_ns = engine->started_ns;
    engine->self_interval_ns = engine->conf->self ? engine->conf->self_interval_ns : 0;
    int result = session_next(engine->conf->state_dir, &engine->session, err);
    if (result == TACHO_OK && !(engine->identity = identity_new(engine->conf, engine, err))) {
        result = TACHO_RETRY;
    }
    return result;
}

static int make_instances(struct engine *engine, struct tacho_err *err)
{
    const struct conf *conf = engine->conf;
    struct instance_list *list = &engine->list;
    list->items = calloc(conf->instance_count ? conf->instance_count : 1, sizeof(void *));
    if (!list->items) {
        return tacho_fail(err, TACHO_RETRY, "no memory");
    }
    for (uint32_t i = 0; i < conf->instance_count; i++) {
        int result = engine_make(engine, engine->identity, conf->instances[i],
                                 &list->items[list->count], err);
        if (result != TACHO_OK) {
            return result;
        }
        list->count++;
    }
    return TACHO_OK;
}

int engine_new(struct conf *conf, struct engine **out, struct tacho_err *err)
{
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine) {
        conf_free(conf);
        return tacho_fail(err, TACHO_RETRY, "no memory");
    }
    engine->conf = conf;
    engine->request_fd = -1;
    engine->started_ns = clock_mono_ns();
    log_init(&engine->log, "tacho");
    pthread_mutex_init(&engine->lock, NULL);
    pthread_mutex_init(&engine->request_lock, NULL);
    pthread_cond_init(&engine->request_done, NULL);
    engine_watch_init(engine);
    buf_init(&engine->outcome, 1u << 20);
    int result = make_parts(engine, err);
    if (result == TACHO_OK) {
        result = make_instances(engine, err);
    }
    if (result != TACHO_OK) {
        engine_free(engine);
        return result;
    }
    *out = engine;
    return TACHO_OK;
}

void engine_free(struct engine *engine)
{
    if (!engine) {
        return;
    }
    for (uint32_t i = 0; i < engine->list.count; i++) {
        instance_unref(engine->list.items[i]);
    }
    free(engine->list.items);
    for (uint32_t i = 0; i < engine->chain_count; i++) {
        chain_free(engine->chains[i]);
    }
    free(engine->chains);
    for (uint32_t i = 0; i < engine->sequence_count; i++) {
        free(engine->sequences[i].name);
    }
    free(engine->sequences);
    identity_free(engine->identity);
    bus_free(engine->bus);
    state_free(engine->state);
    for (uint32_t i = 0; i < engine->former_count; i++) {
        conf_free(engine->former[i]);
    }
    free(engine->former);
    free(engine->left_behind);
    conf_free(engine->conf);
    buf_fini(&engine->outcome);
    if (engine->request_fd >= 0) {
        close(engine->request_fd);
    }
    log_fini(&engine->log);
    engine_watch_fini(engine);
    pthread_mutex_destroy(&engine->lock);
    pthread_mutex_destroy(&engine->request_lock);
    pthread_cond_destroy(&engine->request_done);
    free(engine);
}

static int start_role(struct engine *engine, int role, struct tacho_err *err)
{
    for (uint32_t i = 0; i < engine->list.count; i++) {
        struct instance *instance = engine->list.items[i];
        if (instance->conf->role != role) {
            continue;
        }
        int result = engine_subscribe(engine, instance, err);
        if (result == TACHO_OK) {
            result = engine_run(engine, instance, err);
        }
        if (result != TACHO_OK) {
            return result;
        }
    }
    return TACHO_OK;
}

int engine_listen(struct engine *engine, struct tacho_err *err)
{
    snprintf(engine->control_path, sizeof engine->control_path, "%s", engine->conf->control);
    if (!*engine->conf->control) {
        return TACHO_OK;
    }
    return control_new(engine->conf->control, engine_call, engine, &engine->control, err);
}

int engine_start(struct engine *engine, struct tacho_err *err)
{
    engine_order_chains(engine, &engine->list);
    int result = engine_watch(engine, err);
    static const int order[] = {CONF_SINK, CONF_SERVICE, CONF_PROVIDER};
    for (int i = 0; i < 3 && result == TACHO_OK; i++) {
        result = start_role(engine, order[i], err);
    }
    return result == TACHO_OK ? engine_listen(engine, err) : result;
}

/* Takes the list away from other threads. */
static struct instance_list take_list(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    struct instance_list list = engine->list;
    engine->list = (struct instance_list){0};
    pthread_mutex_unlock(&engine->lock);
    return list;
}

bool engine_stop(struct engine *engine)
{
    int64_t now_ns = clock_mono_ns();
    engine_refuse_requests(engine);
    engine_unwatch(engine);
    for (uint32_t i = 0; i < engine->chain_count; i++) {
        chain_set(engine->chains[i], NULL, 0);
    }
    struct instance_list list = take_list(engine);
    engine_end(engine, &list, CONF_PROVIDER, now_ns + 100 * NS_PER_MS, now_ns + 400 * NS_PER_MS);
    engine_end(engine, &list, CONF_SERVICE, now_ns + 800 * NS_PER_MS, now_ns + 1000 * NS_PER_MS);
    engine_end(engine, &list, CONF_SINK, now_ns + 1600 * NS_PER_MS, now_ns + 1800 * NS_PER_MS);
    free(list.items);
    control_free(engine->control);
    engine->control = NULL;
    return engine->left_behind_count == 0;
}
