/* SPDX-License-Identifier: Apache-2.0 */
/* hal/core/promise.c: which semaphore values come without help, in cases by hand and against a
 * model that goes over all submissions until nothing changes. The seed is printed; HAL_TEST_SEED
 * repeats it. */
#include "hal/core/promise.h"

#include "hal/core/engine/parts.h"
#include "tests/support/test.h"

#include <inttypes.h>
#include <time.h>

enum { SEMAPHORES = 5, MOST = 40, WAITS = 2, HIGHEST = 12 };

struct made {
    struct hal_submission submission;
    struct hal_semaphore_value waits[WAITS], signals[WAITS];
    bool is_over;
};

struct graph {
    struct hal_semaphore semaphores[SEMAPHORES];
    struct made made[MOST];
    size_t count;
};

static size_t retired_count;

static void count_retired(void *user, const struct hal_submission_result *result)
{
    (void)user;
    (void)result;
    retired_count++;
}

static void begin(struct graph *g)
{
    static const char *const labels[SEMAPHORES] = {"a", "b", "c", "d", "e"};
    memset(g, 0, sizeof *g);
    for (size_t i = 0; i < SEMAPHORES; i++) {
        hal_timeline_init(&g->semaphores[i], 0);
        g->semaphores[i].object.label = (char *)(uintptr_t)labels[i];
    }
}

static struct made *submit(struct graph *g, const struct hal_semaphore_value *waits,
                           size_t wait_count, const struct hal_semaphore_value *signals,
                           size_t signal_count)
{
    struct made *made = &g->made[g->count++];
    for (size_t i = 0; i < wait_count; i++)
        made->waits[i] = waits[i];
    for (size_t i = 0; i < signal_count; i++)
        made->signals[i] = signals[i];
    made->submission = (struct hal_submission){.waits = made->waits,
                                               .wait_count = wait_count,
                                               .signals = made->signals,
                                               .signal_count = signal_count,
                                               .retired = count_retired};
    hal_promise_end(hal_promise_begin(&made->submission), true);
    return made;
}

/* One wait and one signal; 0: none. */
static struct made *step(struct graph *g, size_t wait, uint64_t wait_value, size_t signal,
                         uint64_t signal_value)
{
    const struct hal_semaphore_value w = {&g->semaphores[wait], wait_value};
    const struct hal_semaphore_value s = {&g->semaphores[signal], signal_value};
    return submit(g, &w, wait_value > 0, &s, signal_value > 0);
}

static void finish(struct made *made)
{
    made->submission.retired(made->submission.user, NULL);
    for (size_t i = 0; i < made->submission.signal_count; i++) {
        struct hal_semaphore *semaphore = made->signals[i].semaphore;
        if (hal_timeline_value(semaphore) < made->signals[i].value)
            atomic_store(&semaphore->value, made->signals[i].value);
    }
    made->is_over = true;
}

static void end(struct graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        if (!g->made[i].is_over)
            finish(&g->made[i]);
    }
    for (size_t i = 0; i < SEMAPHORES; i++)
        hal_promises_forget(&g->semaphores[i]);
}

/* By somebody who waits for semaphore `wait`; 0: for nothing. */
static bool comes(struct graph *g, size_t wait, uint64_t wait_value, size_t semaphore,
                  uint64_t value)
{
    struct hal_question question;
    const struct hal_semaphore_value waits = {&g->semaphores[wait], wait_value};
    hal_question_begin(&question, &waits, wait_value > 0);
    const bool answer = hal_question_ask(&question, &g->semaphores[semaphore], value);
    hal_question_end();
    return answer;
}

/* ---- By hand -------------------------------------------------------------------------------- */

enum { A, B, C, D, E };

TEST(a_promise_needs_all_before_it)
{
    struct graph g;
    begin(&g);
    step(&g, A, 1, B, 1);
    step(&g, B, 1, C, 1);
    assert_false(comes(&g, 0, 0, C, 1));
    assert_true(comes(&g, A, 1, C, 1)); /* who waits for the same has to wait anyway */
    assert_true(comes(&g, B, 1, C, 1));
    assert_true(comes(&g, C, 1, B, 1)); /* and for what comes before */
    assert_false(comes(&g, D, 1, C, 1));
    step(&g, 0, 0, A, 1);
    assert_true(comes(&g, 0, 0, C, 1));
    assert_false(comes(&g, 0, 0, C, 2));
    end(&g);
}

TEST(a_failed_semaphore_delays_nobody)
{
    struct graph g;
    begin(&g);
    step(&g, A, 7, B, 1);
    assert_false(comes(&g, 0, 0, B, 1));
    assert_true(hal_timeline_fail(&g.semaphores[A], HAL_FAILED, "broken"));
    assert_true(comes(&g, 0, 0, B, 1));
    end(&g);
    hal_timeline_finish(&g.semaphores[A]);
}

TEST(circles_do_not_come)
{
    struct graph g;
    begin(&g);
    step(&g, A, 1, B, 1);
    step(&g, B, 1, A, 1);
    step(&g, C, 1, C, 2);
    assert_false(comes(&g, 0, 0, A, 1));
    assert_false(comes(&g, 0, 0, B, 1));
    assert_false(comes(&g, 0, 0, C, 1));
    end(&g);
}

/* Somebody may still signal 1 before: whoever waits for 1 does not wait for the gate. */
TEST(a_higher_value_implies_nothing)
{
    struct graph g;
    begin(&g);
    step(&g, A, 1, B, 5);
    step(&g, A, 1, C, 1);
    assert_true(comes(&g, B, 5, C, 1));
    assert_false(comes(&g, B, 1, C, 1));
    end(&g);
}

TEST(other_ranks_may_be_late)
{
    struct graph g;
    begin(&g);
    struct made *made = &g.made[g.count++];
    made->signals[0] = (struct hal_semaphore_value){&g.semaphores[A], 1};
    made->submission = (struct hal_submission){.operation = HAL_OPERATION_COLLECTIVE,
                                               .signals = made->signals,
                                               .signal_count = 1,
                                               .retired = count_retired};
    hal_promise_end(hal_promise_begin(&made->submission), true);
    step(&g, A, 1, B, 1);
    assert_false(comes(&g, 0, 0, B, 1));
    assert_true(comes(&g, A, 1, B, 1));
    finish(made);
    assert_true(comes(&g, 0, 0, B, 1));
    end(&g);
}

TEST(what_was_refused_promises_nothing)
{
    struct graph g;
    begin(&g);
    const struct hal_semaphore_value signal = {&g.semaphores[A], 1};
    struct hal_submission submission = {
        .signals = &signal, .signal_count = 1, .retired = count_retired};
    hal_promise_end(hal_promise_begin(&submission), false);
    assert_false(comes(&g, 0, 0, A, 1));
    retired_count = 0; /* one that retires before the driver's function returns */
    submission =
        (struct hal_submission){.signals = &signal, .signal_count = 1, .retired = count_retired};
    struct hal_promise *promise = hal_promise_begin(&submission);
    submission.retired(submission.user, NULL);
    assert_int_equal(retired_count, 1);
    hal_promise_end(promise, true);
    assert_true(comes(&g, 0, 0, A, 1));
    end(&g);
}

/* Long lines, in either order, are no matter of the stack; and the name of what is missing. */
TEST(long_lines)
{
    enum { COUNT = 100000 };
    struct graph g;
    struct hal_submission *line = calloc(COUNT, sizeof *line);
    struct hal_question question;
    assert_non_null(line);
    begin(&g);
    for (uint64_t i = 0; i < COUNT; i++) {
        const uint64_t value = i % 2 ? COUNT + 1 - i : i + 1; /* from both ends */
        const struct hal_semaphore_value wait = {&g.semaphores[A], value},
                                         signal = {&g.semaphores[A], value + 1};
        line[i] = (struct hal_submission){.waits = &wait,
                                          .wait_count = 1,
                                          .signals = &signal,
                                          .signal_count = 1,
                                          .retired = count_retired};
        hal_promise_end(hal_promise_begin(&line[i]), true);
    }
    hal_question_begin(&question, NULL, 0);
    assert_false(hal_question_ask(&question, &g.semaphores[A], COUNT + 1));
    assert_string_equal(question.missing, "semaphore 'a'");
    assert_int_equal(question.missing_value, 1);
    hal_question_end();
    assert_true(comes(&g, A, 1, A, COUNT + 1));
    atomic_store(&g.semaphores[A].value, 1);
    assert_true(comes(&g, 0, 0, A, COUNT + 1));
    for (size_t i = 0; i < COUNT; i++)
        line[i].retired(line[i].user, NULL);
    free(line);
    end(&g);
}

/* ---- Against a model ------------------------------------------------------------------------ */

static uint64_t random_state;

static uint64_t below(uint64_t limit)
{
    uint64_t x = random_state += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return (x ^ (x >> 31)) % limit;
}

struct model {
    bool waited[MOST];            /* by the asker, in the end */
    uint64_t assumed[SEMAPHORES]; /* values that the asker waits for */
    bool comes[MOST];
};

/* The submission in flight with the lowest signal that is enough; MOST: there is none. */
static size_t bringer(const struct graph *g, const struct hal_semaphore_value *wanted)
{
    size_t best = MOST;
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; i < g->count; i++) {
        const struct made *made = &g->made[i];
        for (size_t s = 0; s < made->submission.signal_count && !made->is_over; s++) {
            if (made->signals[s].semaphore == wanted->semaphore &&
                made->signals[s].value >= wanted->value && made->signals[s].value < lowest) {
                lowest = made->signals[s].value;
                best = i;
            }
        }
    }
    return best;
}

static bool value_comes(const struct graph *g, const struct model *m,
                        const struct hal_semaphore_value *wanted)
{
    const size_t by = bringer(g, wanted);
    return hal_timeline_value(wanted->semaphore) >= wanted->value ||
           m->assumed[wanted->semaphore - g->semaphores] >= wanted->value ||
           (by < MOST && m->comes[by]);
}

static void assume(const struct graph *g, struct model *m, const struct hal_semaphore_value *waited)
{
    uint64_t *assumed = &m->assumed[waited->semaphore - g->semaphores];
    const size_t by = bringer(g, waited);
    *assumed = *assumed > waited->value ? *assumed : waited->value;
    if (by == MOST || m->waited[by])
        return;
    for (size_t s = 0; s < g->made[by].submission.signal_count; s++) {
        if (g->made[by].signals[s].semaphore != waited->semaphore ||
            g->made[by].signals[s].value != waited->value)
            continue;
        m->waited[by] = true;
        m->comes[by] = true;
    }
    for (size_t i = 0; i < g->made[by].submission.wait_count && m->waited[by]; i++)
        assume(g, m, &g->made[by].waits[i]);
}

static void run_until_idle(const struct graph *g, struct model *m)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < g->count; i++) {
            bool all = !m->comes[i] && !g->made[i].is_over;
            for (size_t w = 0; w < g->made[i].submission.wait_count && all; w++)
                all = value_comes(g, m, &g->made[i].waits[w]);
            m->comes[i] |= all;
            changed |= all;
        }
    }
}

static void compare(struct graph *g)
{
    struct model m = {0};
    struct hal_question question;
    const struct hal_semaphore_value waits[] = {
        {&g->semaphores[below(SEMAPHORES)], below(HIGHEST)},
        {&g->semaphores[below(SEMAPHORES)], below(HIGHEST)}};
    const size_t count = below(3);
    for (size_t i = 0; i < count; i++)
        assume(g, &m, &waits[i]);
    run_until_idle(g, &m);
    hal_question_begin(&question, waits, count);
    for (size_t s = 0; s < SEMAPHORES; s++) {
        for (uint64_t value = 1; value < HIGHEST + 2; value++) {
            const struct hal_semaphore_value wanted = {&g->semaphores[s], value};
            const bool answer = hal_question_ask(&question, wanted.semaphore, value);
            if (answer != value_comes(g, &m, &wanted))
                fail_msg("%s %" PRIu64 " is said to come: %d", question.missing, value, answer);
        }
    }
    hal_question_end();
}

/* A program in an order in which it can run: each step signals one semaphore, after whoever did
 * so before, and mostly after one other. Some steps are the host's. */
struct step {
    struct hal_semaphore_value waits[WAITS], signal;
    size_t wait_count;
    bool is_host, is_submitted, is_over;
    struct made *made;
};

static void random_program(struct graph *g, struct step *steps)
{
    uint64_t reached[SEMAPHORES] = {0};
    for (size_t i = 0; i < MOST; i++) {
        const size_t s = below(SEMAPHORES), other = below(SEMAPHORES);
        struct step *one = &steps[i];
        *one = (struct step){.is_host = below(5) == 0};
        if (reached[s] > 0)
            one->waits[one->wait_count++] =
                (struct hal_semaphore_value){&g->semaphores[s], reached[s]};
        if (reached[other] > 0 && other != s)
            one->waits[one->wait_count++] =
                (struct hal_semaphore_value){&g->semaphores[other], 1 + below(reached[other])};
        reached[s] += 1 + below(2);
        one->signal = (struct hal_semaphore_value){&g->semaphores[s], reached[s]};
    }
}

/* Submits it, or has it happen when it can. */
static void advance(struct graph *g, struct step *one)
{
    bool is_ready = one->is_submitted || one->is_host;
    if (!is_ready) {
        one->made = submit(g, one->waits, one->wait_count, &one->signal, 1);
        one->is_submitted = true;
        return;
    }
    for (size_t w = 0; w < one->wait_count; w++)
        is_ready &= hal_timeline_value(one->waits[w].semaphore) >= one->waits[w].value;
    if (!is_ready || one->is_over)
        return;
    one->is_over = true;
    if (one->made)
        finish(one->made);
    else
        atomic_store(&one->signal.semaphore->value, one->signal.value);
}

TEST(as_the_model_says)
{
    const char *text = getenv("HAL_TEST_SEED");
    const uint64_t seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL) * 1000003;
    print_message("HAL_TEST_SEED=%" PRIu64 "\n", seed);
    for (uint64_t round = 0; round < 100; round++) {
        struct graph g;
        struct step steps[MOST];
        random_state = seed + round;
        begin(&g);
        random_program(&g, steps);
        for (size_t i = 0; i < 4 * MOST; i++) {
            advance(&g, &steps[below(MOST)]);
            compare(&g);
        }
        end(&g);
    }
}
