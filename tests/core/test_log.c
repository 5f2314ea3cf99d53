/* SPDX-License-Identifier: MIT */
/* The log: levels, repeats, one line for each fact, several threads. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "tests/harness.h"

enum { LINES = 64 };

static struct {
    unsigned count;
    struct {
        int level;
        char text[256];
    } lines[LINES];
} said;

static void keep(void *context, int level, const char *name, const char *text)
{
    (void)context;
    CU_ASSERT_STRING_EQUAL(name, "part");
    if (said.count < LINES) {
        said.lines[said.count].level = level;
        snprintf(said.lines[said.count].text, sizeof said.lines[0].text, "%s", text);
    }
    said.count++;
}

static void begin(struct log *log)
{
    said.count = 0;
    log_set_writer(keep, NULL);
    log_set_level(TACHO_LOG_INFO);
    log_init(log, "part");
}

static void end(struct log *log)
{
    log_fini(log);
    log_set_writer(NULL, NULL);
}

static void test_levels(void)
{
    struct log log;
    begin(&log);
    log_error(&log, "a %d", 1);
    log_info(&log, "b");
    log_debug(&log, "not heard");
    log_text(&log, 99, "odd level");
    CU_ASSERT_EQUAL(said.count, 3);
    CU_ASSERT_STRING_EQUAL(said.lines[0].text, "a 1");
    CU_ASSERT_EQUAL(said.lines[0].level, TACHO_LOG_ERROR);
    CU_ASSERT_EQUAL(said.lines[2].level, TACHO_LOG_INFO);
    CU_ASSERT_EQUAL(log_parse_level("warn"), TACHO_LOG_WARN);
    CU_ASSERT_EQUAL(log_parse_level("warning"), TACHO_LOG_WARN);
    CU_ASSERT_EQUAL(log_parse_level("debug"), TACHO_LOG_DEBUG);
    CU_ASSERT_EQUAL(log_parse_level("loud"), -1);
    end(&log);
}

static void test_repeats_are_counted(void)
{
    struct log log;
    begin(&log);
    for (int i = 0; i < 5; i++) {
        log_error(&log, "again");
    }
    CU_ASSERT_EQUAL(said.count, 1);
    log_info(&log, "other");
    CU_ASSERT_EQUAL(said.count, 3);
    CU_ASSERT_STRING_EQUAL(said.lines[1].text, "the last message came 4 more times");
    CU_ASSERT_EQUAL(said.lines[1].level, TACHO_LOG_ERROR);
    CU_ASSERT_STRING_EQUAL(said.lines[2].text, "other");
    log_info(&log, "other");
    log_info(&log, "third");
    CU_ASSERT_STRING_EQUAL(said.lines[3].text, "the last message came 1 more time");
    end(&log);
}

static void test_repeats_are_said_after_a_while(void)
{
    struct log log;
    begin(&log);
    log_warn(&log, "again");
    log_warn(&log, "again");
    log.last_mono_ns -= 11 * NS_PER_S; /* As if that time had passed. */
    log_warn(&log, "again");
    CU_ASSERT_EQUAL(said.count, 3);
    CU_ASSERT_STRING_EQUAL(said.lines[1].text, "the last message came 1 more time");
    CU_ASSERT_STRING_EQUAL(said.lines[2].text, "again");
    log_warn(&log, "again");
    end(&log);
    CU_ASSERT_EQUAL(said.count, 4);
}

static void test_one_fact_is_one_line(void)
{
    struct log log;
    char text[4000];
    begin(&log);
    log_info(&log, "two\nlines\x1B[2J and \xC3\xBC");
    CU_ASSERT_STRING_EQUAL(said.lines[0].text, "two lines [2J and \xC3\xBC");
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    log_text(&log, TACHO_LOG_INFO, text);
    CU_ASSERT_EQUAL(said.count, 2);
    end(&log);
}

static void *talk(void *context)
{
    for (int i = 0; i < 500; i++) {
        log_info(context, "line %d", i % 7);
    }
    return NULL;
}

static void test_threads(void)
{
    struct log log;
    pthread_t threads[4];
    begin(&log);
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, talk, &log);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    CU_ASSERT(said.count > 0);
    end(&log);
}

const struct test tests[] = {
    {"levels", test_levels},
    {"repeats_are_counted", test_repeats_are_counted},
    {"repeats_are_said_after_a_while", test_repeats_are_said_after_a_while},
    {"one_fact_is_one_line", test_one_fact_is_one_line},
    {"threads", test_threads},
    {NULL, NULL},
};
