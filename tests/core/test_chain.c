/* SPDX-License-Identifier: MIT */
/* Chains: who works, who serves, fail-over and return, and changes of the members. */
#include <stdio.h>
#include <string.h>

#include "core/chain.h"
#include "tests/harness.h"

static char best[] = "best", middle[] = "middle", worst[] = "worst", other[] = "other";
static void *const all[] = {best, middle, worst};

struct story {
    char text[512]; /* each switch as "from>to(reason) " */
    int wakes;
};

static void wake(void *context, void *member)
{
    struct story *story = context;
    (void)member;
    story->wakes++;
}

static void switched(void *context, const char *chain, void *from, void *to, const char *reason)
{
    struct story *story = context;
    size_t used = strlen(story->text);
    (void)chain;
    snprintf(story->text + used, sizeof story->text - used, "%s>%s(%s) ", from ? (char *)from : "-",
             (char *)to, reason);
}

static struct chain *make(struct story *story)
{
    *story = (struct story){.text = ""};
    struct chain_hooks hooks = {.wake = wake, .switched = switched, .context = story};
    struct chain *chain = chain_new("gpu", &hooks);
    chain_set(chain, all, 3);
    return chain;
}

static bool works(struct chain *chain, void *member)
{
    bool serves = chain_enter(chain, member, true, "");
    if (serves) {
        chain_leave(chain);
    }
    return serves;
}

/* Who may work now, as letters. */
static const char *active(struct chain *chain, char out[4])
{
    int used = 0;
    for (int i = 0; i < 3; i++) {
        if (chain_active(chain, all[i])) {
            out[used++] = ((const char *)all[i])[0];
        }
    }
    out[used] = '\0';
    return out;
}

static void test_first_that_works_serves(void)
{
    struct story story;
    struct chain *chain = make(&story);
    char who[4];
    CU_ASSERT_STRING_EQUAL(active(chain, who), "b");
    CU_ASSERT_FALSE(works(chain, middle)); /* it is not its turn while the best is not known */
    CU_ASSERT_TRUE(works(chain, best));
    CU_ASSERT_STRING_EQUAL(active(chain, who), "b");
    CU_ASSERT_STRING_EQUAL(story.text, "->best() ");
    chain_free(chain);
}

static void test_fails_over_and_returns(void)
{
    struct story story;
    struct chain *chain = make(&story);
    char who[4];
    works(chain, best);
    int wakes = story.wakes;
    CU_ASSERT_FALSE(chain_enter(chain, best, false, "no driver"));
    CU_ASSERT_TRUE(story.wakes > wakes);
    CU_ASSERT_STRING_EQUAL(active(chain, who), "bm");
    CU_ASSERT_TRUE(works(chain, middle));
    CU_ASSERT_STRING_EQUAL(active(chain, who), "bm");
    chain_fail(chain, best, "still no driver");
    CU_ASSERT_TRUE(works(chain, middle));
    CU_ASSERT_TRUE(works(chain, best));
    CU_ASSERT_FALSE(works(chain, middle)); /* what was under way is not published */
    CU_ASSERT_STRING_EQUAL(active(chain, who), "b");
    CU_ASSERT_STRING_EQUAL(story.text, "->best() best>middle(no driver) middle>best() ");
    chain_free(chain);
}

static void test_goes_down_to_the_last(void)
{
    struct story story;
    struct chain *chain = make(&story);
    char who[4];
    chain_fail(chain, best, "one");
    chain_fail(chain, middle, "two");
    CU_ASSERT_STRING_EQUAL(active(chain, who), "bmw");
    CU_ASSERT_TRUE(works(chain, worst));
    CU_ASSERT_TRUE(works(chain, middle));
    CU_ASSERT_STRING_EQUAL(active(chain, who), "bm");
    chain_fail(chain, middle, "again");
    CU_ASSERT_STRING_EQUAL(active(chain, who), "bmw");
    CU_ASSERT_STRING_EQUAL(story.text, "->worst() worst>middle() ");
    CU_ASSERT_TRUE(works(chain, worst));
    CU_ASSERT_STRING_EQUAL(story.text, "->worst() worst>middle() middle>worst(again) ");
    chain_free(chain);
}

static void test_members_may_change(void)
{
    struct story story;
    struct chain *chain = make(&story);
    works(chain, best);
    void *const with_better[] = {other, best, middle};
    chain_set(chain, with_better, 3);
    CU_ASSERT_TRUE(chain_active(chain, other));
    CU_ASSERT_TRUE(works(chain, best)); /* goes on until the new one has shown that it works */
    CU_ASSERT_FALSE(chain_active(chain, middle));
    CU_ASSERT_TRUE(works(chain, other));
    CU_ASSERT_FALSE(works(chain, best));
    void *const without[] = {middle};
    chain_set(chain, without, 1);
    CU_ASSERT_FALSE(chain_active(chain, best));
    CU_ASSERT_FALSE(works(chain, best));
    CU_ASSERT_TRUE(works(chain, middle));
    chain_fail(chain, best, "no member any more");
    chain_set(chain, NULL, 0);
    CU_ASSERT_FALSE(chain_active(chain, middle));
    CU_ASSERT_STRING_EQUAL(story.text, "->best() best>other() ->middle() ");
    chain_free(chain);
}

const struct test tests[] = {
    {"first_that_works_serves", test_first_that_works_serves},
    {"fails_over_and_returns", test_fails_over_and_returns},
    {"goes_down_to_the_last", test_goes_down_to_the_last},
    {"members_may_change", test_members_may_change},
    {NULL, NULL},
};
