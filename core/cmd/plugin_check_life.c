/* SPDX-License-Identifier: MIT */
/* Opening and closing: once, a thousand times, and two at the same time. */
#include <dirent.h>
#include <malloc.h>

#include "core/clock.h"
#include "core/cmd/plugin_check.h"
#include "core/cmd/plugin_check_run.h"
#include "core/err.h"

#define LEAK_NS (20 * NS_PER_S) /* slow plugins get fewer rounds */

enum { WARM_UP = 20, LEAST_ROUNDS = 50 };

int check_open(struct check *check)
{
    struct run run;
    int ready = run_init(&run, check, "check", false);
    if (ready != RUN_READY) {
        return ready;
    }
    for (int i = 0; i < 3; i++) {
        if ((ready = run_open(&run, check)) != RUN_READY) {
            run_fini(&run);
            return ready;
        }
        if (!run.self) {
            run_fini(&run);
            return check_say(check, VERDICT_FAIL, "open returns ok but no instance");
        }
        run_close(&run);
    }
    run_fini(&run);
    return check_say(check, VERDICT_PASS, "opened and closed");
}

/* ---- leaks ----------------------------------------------------------------------------------- */

struct usage {
    size_t bytes;
    int descriptors, threads;
};

static int count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;
    while (folder && readdir(folder)) {
        count++;
    }
    if (folder) {
        closedir(folder);
    }
    return count;
}

/* In a build with a sanitizer, which has an allocator of its own. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated_bytes(void)
{
    if (__sanitizer_get_current_allocated_bytes) {
        return __sanitizer_get_current_allocated_bytes();
    }
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static struct usage measure(void)
{
    return (struct usage){.bytes = allocated_bytes(),
                          .descriptors = count_entries("/proc/self/fd"),
                          .threads = count_entries("/proc/self/task")};
}

/* Open, one collect, close, again and again; false when open failed. */
static bool repeat(struct run *run, struct check *check, int rounds, int64_t until_ns, int *done)
{
    for (*done = 0; *done < rounds && clock_mono_ns() < until_ns; ++*done) {
        if (run_open(run, check) != RUN_READY) {
            return false;
        }
        if (run->module->plugin.collect && *done % 10 == 0) {
            (void)run_collect(run, NS_PER_S);
        }
        run_close(run);
    }
    return true;
}

static int judge_usage(struct check *check, struct usage before, struct usage after, int rounds)
{
    size_t grown = after.bytes > before.bytes ? after.bytes - before.bytes : 0;
    if (after.descriptors > before.descriptors) {
        return check_say(check, VERDICT_FAIL, "%d descriptors are left open after %d rounds",
                         after.descriptors - before.descriptors, rounds);
    }
    if (after.threads > before.threads) {
        return check_say(check, VERDICT_FAIL, "%d threads are left running after %d rounds",
                         after.threads - before.threads, rounds);
    }
    if (grown > (size_t)rounds * 8) {
        return check_say(check, VERDICT_FAIL, "%zu bytes are left behind after %d rounds", grown,
                         rounds);
    }
    return check_say(check, VERDICT_PASS, "nothing is left behind after %d rounds", rounds);
}

int check_leaks(struct check *check)
{
    struct run run;
    int done, ready = run_init(&run, check, "check", false);
    if (ready != RUN_READY) {
        return ready;
    }
    int64_t until_ns = clock_mono_ns() + LEAK_NS;
    /* What a plugin's libraries keep for ever shows in the first rounds. */
    if (!repeat(&run, check, WARM_UP, until_ns, &done)) {
        run_fini(&run);
        return VERDICT_SKIP;
    }
    struct usage before = measure();
    if (!repeat(&run, check, CHECK_ROUNDS, until_ns, &done)) {
        run_fini(&run);
        return check_say(check, VERDICT_FAIL, "round %d of open fails, the first ones did not: %s",
                         done, run.err.text);
    }
    struct usage after = measure();
    run_fini(&run);
    if (done < LEAST_ROUNDS) {
        return check_say(check, VERDICT_SKIP, "only %d rounds in %lld s: too slow to tell", done,
                         (long long)(LEAK_NS / NS_PER_S));
    }
    return judge_usage(check, before, after, done);
}

/* ---- two at once ----------------------------------------------------------------------------- */

static bool collect_ok(struct run *run, struct check *check)
{
    if (!run->module->plugin.collect) {
        return true;
    }
    int result = run_collect(run, NS_PER_S);
    return run_result_ok(check, "collect", result, &run->err);
}

/* In turns, then without the first, then with a new one. */
static int use_both(struct run *one, struct run *two, struct check *check)
{
    for (int i = 0; i < 10; i++) {
        if (!collect_ok(one, check) || !collect_ok(two, check)) {
            return VERDICT_FAIL;
        }
    }
    run_close(one);
    if (!collect_ok(two, check)) {
        return VERDICT_FAIL;
    }
    int ready = run_open(one, check);
    if (ready != RUN_READY) {
        return check_say(check, VERDICT_FAIL, "cannot be opened again beside another instance: %s",
                         one->err.text);
    }
    run_close(two);
    if (!collect_ok(one, check)) {
        return VERDICT_FAIL;
    }
    return check_say(check, VERDICT_PASS, "two instances in turns, closed in either order");
}

int check_pair(struct check *check)
{
    struct run one, two;
    int ready = run_init(&one, check, "one", false);
    if (ready != RUN_READY) {
        return ready;
    }
    ready = run_init(&two, check, "two", true);
    if (ready != RUN_READY) {
        run_fini(&one);
        return ready;
    }
    ready = run_open(&one, check);
    if (ready == RUN_READY && (ready = run_open(&two, check)) == VERDICT_SKIP) {
        ready =
            check_say(check, VERDICT_FAIL, "a second instance cannot be opened: %s", two.err.text);
    }
    int verdict = ready == RUN_READY ? use_both(&one, &two, check) : ready;
    run_fini(&one);
    run_fini(&two);
    return verdict;
}
