/* SPDX-License-Identifier: Apache-2.0 */
/* replay/variant/runs.c: submissions that become one never wait for themselves, by way of others or
 * of the host. Random programs are compared with a model that goes over all submissions until
 * nothing changes. The seed is printed; HAL_TEST_SEED repeats it. */
#include "replay/plan/plan.h"
#include "replay/variant/whatif.h"
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/replay_trace.h"
#include "tests/support/test.h"

#include <inttypes.h>

enum { SEMAPHORE = 1, COMMANDS = 100, SEMAPHORES = 4, MOST_SUBMITS = 24, MOST_CALLS = 64 };

struct fixture {
    struct test_folder folder;
    char path[PATH_MAX];
    struct trace_builder b;
    struct replay_plan *plan, *variant;
    struct replay_what_if_info info;
    uint32_t submit_count;
};

static int begin(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    return f && test_folder_make(&f->folder) ? 0 : -1;
}

static int end(void **state)
{
    struct fixture *f = *state;
    replay_plan_destroy(f->variant);
    replay_plan_destroy(f->plan);
    test_folder_remove(&f->folder);
    free(f);
    return 0;
}

/* Semaphores are numbered from 0. */
static struct trace_semaphore_value at(uint64_t semaphore, uint64_t value)
{
    return (struct trace_semaphore_value){SEMAPHORE + semaphore, value};
}

static void open_program(struct fixture *f)
{
    f->submit_count = 0;
    builder_open(&f->b, test_folder_file(&f->folder, "t.pb.zst", f->path), NULL);
    for (uint64_t i = 0; i < SEMAPHORES; i++)
        builder_semaphore_create(&f->b, SEMAPHORE + i, "semaphore", 0);
}

static void submit(struct fixture *f, uint32_t queue, const struct trace_semaphore_value *waits,
                   uint32_t wait_count, const struct trace_semaphore_value *signals,
                   uint32_t signal_count)
{
    const uint64_t n = f->submit_count++, commands = COMMANDS + n;
    builder_command_buffer_create(&f->b, commands, NULL, 0);
    builder_end_commands(&f->b, commands);
    builder_submit(&f->b, n, queue, builder_values(waits, wait_count),
                   builder_values(signals, signal_count), IDS(commands));
    builder_submission_done(&f->b, n, queue, f->b.begin_ns, f->b.begin_ns, f->b.begin_ns + 1);
    builder_destroy(&f->b, TRACE_COMMAND_BUFFER_DESTROY, commands);
}

static void host_wait(struct fixture *f, struct trace_semaphore_value value)
{
    builder_semaphore_wait(&f->b, HAL_WAIT_ALL, &value, 1, INT64_MAX);
}

static void host_signal(struct fixture *f, struct trace_semaphore_value value)
{
    builder_semaphore(&f->b, TRACE_SEMAPHORE_SIGNAL, value.semaphore, value.value, NULL);
}

static void coalesce(struct fixture *f)
{
    replay_plan_destroy(f->variant);
    replay_plan_destroy(f->plan);
    f->variant = f->plan = NULL;
    if (builder_close(&f->b, NULL) != HAL_OK ||
        replay_plan_load(f->path, &(struct replay_load_options){0}, &f->plan) != HAL_OK ||
        replay_plan_what_if(f->plan, &(struct replay_what_if){.coalesce_submissions = true},
                            &f->info, &f->variant) != HAL_OK)
        fail_msg("%s", hal_message());
}

/* ---- The model ----------------------------------------------------------------------------- */

struct model {
    uint64_t values[SEMAPHORES + SEMAPHORE];
    const struct trace_submit *submits[MOST_SUBMITS];
    bool over[MOST_SUBMITS];
    size_t count;
};

static bool are_reached(const struct model *m, const struct trace_semaphore_value *values,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (m->values[values[i].semaphore] < values[i].value)
            return false;
    }
    return true;
}

static void reach(struct model *m, const struct trace_semaphore_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (m->values[values[i].semaphore] < values[i].value)
            m->values[values[i].semaphore] = values[i].value;
    }
}

static void settle(struct model *m)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < m->count; i++) {
            const struct trace_submit *s = m->submits[i];
            if (m->over[i] || !are_reached(m, s->values, s->wait_count))
                continue;
            reach(m, s->values + s->wait_count, s->signal_count);
            m->over[i] = changed = true;
        }
    }
}

static bool host_returns(struct model *m, const struct replay_op *op)
{
    const void *event = op->event;
    const struct trace_semaphore_wait *wait = event;
    const struct trace_semaphore_event *signal = event;
    if (op->action == REPLAY_SUBMIT)
        m->submits[m->count++] = event;
    else if (op->action == REPLAY_SIGNAL)
        reach(m, &(struct trace_semaphore_value){signal->semaphore, signal->value}, 1);
    settle(m);
    return op->action != REPLAY_WAIT || are_reached(m, wait->values, wait->value_count);
}

/* Whether every call of the host returns and all work ends. */
static bool ends(const struct replay_plan *plan)
{
    struct model m = {0};
    for (size_t i = 0; i < SEMAPHORES; i++)
        assert_int_equal(plan->objects[SEMAPHORE + i].kind, REPLAY_SEMAPHORE);
    for (size_t i = 0; i < plan->op_count; i++) {
        if (!host_returns(&m, &plan->ops[i]))
            return false;
    }
    for (size_t i = 0; i < m.count; i++) {
        if (!m.over[i])
            return false;
    }
    return true;
}

/* ---- Programs ------------------------------------------------------------------------------ */

TEST_ON(a_third_submission_needs_the_second_for_the_first, struct fixture *f)
{
    open_program(f);
    submit(f, 0, (struct trace_semaphore_value[]){at(0, 1)}, 1,
           (struct trace_semaphore_value[]){at(1, 1)}, 1);
    submit(f, 0, NULL, 0, (struct trace_semaphore_value[]){at(0, 1)}, 1);
    submit(f, 0, (struct trace_semaphore_value[]){at(1, 1)}, 1,
           (struct trace_semaphore_value[]){at(2, 1)}, 1);
    host_wait(f, at(2, 1));
    coalesce(f);
    assert_true(ends(f->plan));
    assert_true(ends(f->variant));
    assert_int_equal(f->info.after.submissions, 3);
}

/* #s0, which #s1 waits for, waits for #s3, which the host submits only after #s2. */
TEST_ON(the_host_waits_before_it_submits_what_another_needs, struct fixture *f)
{
    open_program(f);
    submit(f, 1, (struct trace_semaphore_value[]){at(0, 1)}, 1,
           (struct trace_semaphore_value[]){at(1, 13)}, 1);
    submit(f, 0, (struct trace_semaphore_value[]){at(1, 11)}, 1,
           (struct trace_semaphore_value[]){at(3, 1)}, 1);
    submit(f, 0, NULL, 0, (struct trace_semaphore_value[]){at(2, 1)}, 1);
    host_wait(f, at(2, 1));
    submit(f, 1, NULL, 0, (struct trace_semaphore_value[]){at(0, 1)}, 1);
    host_wait(f, at(3, 1));
    coalesce(f);
    assert_true(ends(f->plan));
    assert_true(ends(f->variant));
    assert_int_equal(f->info.after.submissions, 4);
}

/* All wait for the host: nothing needs one before the other. */
TEST_ON(what_one_call_lets_go_becomes_one, struct fixture *f)
{
    open_program(f);
    for (uint64_t n = 0; n < 3; n++)
        submit(f, 0, (struct trace_semaphore_value[]){at(0, 1)}, 1,
               (struct trace_semaphore_value[]){at(1, n + 1)}, 1);
    host_signal(f, at(0, 1));
    host_wait(f, at(1, 3));
    coalesce(f);
    assert_true(ends(f->variant));
    assert_int_equal(f->info.after.submissions, 1);
}

/* Waits for what was promised and for what may come later; signals above what was promised. */
static void random_submit(struct fixture *f, uint64_t *seed, struct model *m, uint64_t *promised)
{
    enum { MOST_VALUES = 2 };
    static struct {
        struct trace_submit head;
        struct trace_semaphore_value values[2 * MOST_VALUES];
    } records[MOST_SUBMITS];
    struct trace_submit *record = (void *)&records[m->count];
    struct trace_semaphore_value *signals = record->values;
    const uint64_t first = fixture_random(seed) % SEMAPHORES;
    record->wait_count = fixture_random(seed) % (MOST_VALUES + 1);
    record->signal_count = 1 + fixture_random(seed) % MOST_VALUES;
    for (uint32_t i = 0; i < record->wait_count; i++, signals++) {
        const uint64_t s = (first + 1 + i) % SEMAPHORES;
        *signals = at(s, 1 + fixture_random(seed) % (promised[s] + 2));
    }
    for (uint32_t i = 0; i < record->signal_count; i++) {
        const uint64_t s = (first + (i ? 3 : 0)) % SEMAPHORES;
        promised[s] += 1 + fixture_random(seed) % 2;
        signals[i] = at(s, promised[s]);
    }
    submit(f, fixture_random(seed) % 4 == 0, record->values, record->wait_count, signals,
           record->signal_count);
    m->submits[m->count++] = record;
    settle(m);
}

/* The host waits only for what the model has reached; in the end it lets everything go. */
static void random_program(struct fixture *f, uint64_t *seed)
{
    struct model m = {0};
    uint64_t promised[SEMAPHORES] = {0};
    open_program(f);
    for (size_t i = 0; i < MOST_CALLS && m.count < MOST_SUBMITS; i++) {
        const uint64_t s = fixture_random(seed) % SEMAPHORES;
        const uint64_t reached = m.values[SEMAPHORE + s];
        const uint32_t kind = fixture_random(seed) % 8;
        if (kind < 5) {
            random_submit(f, seed, &m, promised);
        } else if (kind < 7 && reached) {
            host_wait(f, at(s, 1 + fixture_random(seed) % reached));
        } else if (kind == 7 && reached == promised[s]) {
            host_signal(f, at(s, ++promised[s]));
            reach(&m, &(struct trace_semaphore_value){SEMAPHORE + s, promised[s]}, 1);
            settle(&m);
        }
    }
    for (uint64_t s = 0; s < SEMAPHORES; s++)
        host_signal(f, at(s, promised[s] + 1000));
}

TEST_ON(as_the_model_says, struct fixture *f)
{
    enum { ROUNDS = 300 };
    uint64_t seed = fixture_seed(), before = 0, after = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        random_program(f, &seed);
        coalesce(f);
        assert_true(ends(f->plan));
        if (!ends(f->variant))
            fail_msg("program %zu does not end", round);
        before += f->info.before.submissions;
        after += f->info.after.submissions;
    }
    print_message("%" PRIu64 " submissions become %" PRIu64 "\n", before, after);
    assert_true(after < before);
}

TEST_FIXTURE(begin, end);
