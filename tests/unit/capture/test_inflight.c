/* SPDX-License-Identifier: Apache-2.0 */
/* capture/track/inflight.c and capture/encode/access_ranges.c: what the host can know to be done,
 * and what command buffers may use. Objects are made by hand: no driver is needed. */
#include "capture/track/inflight.h"
#include "format/limits.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "tests/support/hal_fixture.h"

enum { SEMAPHORES = 4 };

struct setup {
    struct capture_inflight inflight;
    struct hal_semaphore semaphores[SEMAPHORES];
};

static void open_setup(struct setup *setup)
{
    memset(setup, 0, sizeof *setup);
    capture_inflight_init(&setup->inflight);
    for (unsigned i = 0; i < SEMAPHORES; i++)
        setup->semaphores[i].object.layer_data = capture_semaphore_create(0);
}

static void close_setup(struct setup *setup)
{
    capture_inflight_finish(&setup->inflight);
    for (unsigned i = 0; i < SEMAPHORES; i++)
        capture_semaphore_release(setup->semaphores[i].object.layer_data);
}

/* Waits for one value and signals one; semaphore -1: none. */
static struct capture_submission *add(struct setup *setup, int wait, uint64_t wait_value,
                                      int signal, uint64_t signal_value)
{
    const struct hal_semaphore_value waits = {wait < 0 ? NULL : &setup->semaphores[wait],
                                              wait_value};
    const struct hal_semaphore_value signals = {signal < 0 ? NULL : &setup->semaphores[signal],
                                                signal_value};
    const struct hal_submission submission = {.waits = &waits,
                                              .wait_count = wait < 0 ? 0 : 1,
                                              .signals = &signals,
                                              .signal_count = signal < 0 ? 0 : 1};
    struct capture_submission *entry = capture_inflight_add(&setup->inflight, &submission);
    assert_non_null(entry);
    return entry;
}

static struct capture_submission *see(struct setup *setup, int semaphore, uint64_t value)
{
    return capture_inflight_see_value(&setup->inflight,
                                      setup->semaphores[semaphore].object.layer_data, value);
}

static size_t length(const struct capture_submission *list)
{
    size_t count = 0;
    for (; list; list = list->list)
        count++;
    return count;
}

static bool contains(const struct capture_submission *list, const struct capture_submission *entry)
{
    while (list && list != entry)
        list = list->list;
    return list != NULL;
}

TEST(a_value_tells_of_what_signalled_up_to_it)
{
    struct setup setup;
    open_setup(&setup);
    struct capture_submission *first = add(&setup, -1, 0, 0, 1);
    struct capture_submission *second = add(&setup, -1, 0, 0, 2);
    struct capture_submission *third = add(&setup, -1, 0, 0, 3);
    capture_inflight_retire(&setup.inflight, first, CAPTURE_SUBMISSION_DONE);
    capture_inflight_retire(&setup.inflight, second, CAPTURE_SUBMISSION_DONE);
    capture_inflight_retire(&setup.inflight, third, CAPTURE_SUBMISSION_DONE);
    struct capture_submission *seen = see(&setup, 0, 2);
    assert_int_equal(length(seen), 2);
    assert_true(contains(seen, first));
    assert_true(contains(seen, second));
    capture_inflight_free(&setup.inflight, seen);
    assert_null(see(&setup, 0, 2));
    assert_null(see(&setup, 0, 1));
    seen = see(&setup, 0, 10);
    assert_int_equal(length(seen), 1);
    assert_ptr_equal(seen, third);
    capture_inflight_free(&setup.inflight, seen);
    close_setup(&setup);
}

TEST(work_that_runs_is_not_seen)
{
    struct setup setup;
    open_setup(&setup);
    struct capture_submission *running = add(&setup, -1, 0, 0, 1);
    /* The host signalled the value itself, past the submission's. */
    assert_null(see(&setup, 0, 5));
    assert_null(capture_inflight_see_all(&setup.inflight, 100));
    capture_inflight_retire(&setup.inflight, running, CAPTURE_SUBMISSION_DONE);
    struct capture_submission *seen = capture_inflight_see_all(&setup.inflight, 100);
    assert_ptr_equal(seen, running);
    capture_inflight_free(&setup.inflight, seen);
    close_setup(&setup);
}

TEST(waits_tell_of_what_must_have_come_before)
{
    struct setup setup;
    open_setup(&setup);
    /* Submitted in the wrong order: the last one signals what the others wait for. */
    struct capture_submission *last = add(&setup, 1, 1, 2, 1);
    struct capture_submission *middle = add(&setup, 0, 7, 1, 1);
    struct capture_submission *first = add(&setup, -1, 0, 0, 7);
    struct capture_submission *other = add(&setup, -1, 0, 3, 1);
    struct capture_submission *later = add(&setup, -1, 0, 0, 8);
    struct capture_submission *all[] = {last, middle, first, other, later};
    for (size_t i = 0; i < 5; i++)
        capture_inflight_retire(&setup.inflight, all[i], CAPTURE_SUBMISSION_DONE);
    struct capture_submission *seen = see(&setup, 2, 1);
    assert_int_equal(length(seen), 3);
    assert_true(contains(seen, first));
    assert_true(contains(seen, middle));
    assert_true(contains(seen, last));
    assert_false(contains(seen, other));
    assert_false(contains(seen, later));
    capture_inflight_free(&setup.inflight, seen);
    close_setup(&setup);
}

TEST(refused_submissions_tell_nothing_and_do_not_stay)
{
    struct setup setup;
    open_setup(&setup);
    struct capture_submission *waited_for = add(&setup, -1, 0, 0, 1);
    struct capture_submission *refused = add(&setup, 0, 1, 1, 1);
    capture_inflight_retire(&setup.inflight, waited_for, CAPTURE_SUBMISSION_DONE);
    capture_inflight_retire(&setup.inflight, refused, CAPTURE_SUBMISSION_REFUSED);
    struct capture_submission *seen = see(&setup, 3, 1);
    assert_int_equal(length(seen), 1);
    assert_ptr_equal(seen, refused);
    capture_inflight_free(&setup.inflight, seen);
    close_setup(&setup);
}

TEST(only_submissions_before_the_wait_are_seen_by_it)
{
    struct setup setup;
    open_setup(&setup);
    struct capture_submission *before = add(&setup, -1, 0, 0, 1);
    const uint64_t number = capture_inflight_number(&setup.inflight);
    struct capture_submission *after = add(&setup, -1, 0, 0, 2);
    capture_inflight_retire(&setup.inflight, before, CAPTURE_SUBMISSION_DONE);
    capture_inflight_retire(&setup.inflight, after, CAPTURE_SUBMISSION_DONE);
    struct capture_submission *seen = capture_inflight_see_all(&setup.inflight, number);
    assert_ptr_equal(seen, before);
    assert_null(seen->list);
    capture_inflight_free(&setup.inflight, seen);
    close_setup(&setup);
}

TEST(long_chains_and_long_lists_work)
{
    enum { CHAIN = 5000, MANY = 300 };
    struct setup setup;
    struct hal_semaphore_value waits[MANY];
    open_setup(&setup);
    for (uint64_t i = 0; i < CHAIN; i++)
        capture_inflight_retire(&setup.inflight, add(&setup, 0, i, 0, i + 1),
                                CAPTURE_SUBMISSION_DONE);
    for (unsigned i = 0; i < MANY; i++)
        waits[i] = (struct hal_semaphore_value){&setup.semaphores[0], CHAIN - i};
    const struct hal_semaphore_value signal = {&setup.semaphores[1], 1};
    const struct hal_submission wide = {
        .waits = waits, .wait_count = MANY, .signals = &signal, .signal_count = 1};
    capture_inflight_retire(&setup.inflight, capture_inflight_add(&setup.inflight, &wide),
                            CAPTURE_SUBMISSION_DONE);
    struct capture_submission *seen = see(&setup, 1, 1);
    assert_int_equal(length(seen), CHAIN + 1);
    capture_inflight_free(&setup.inflight, seen);
    close_setup(&setup);
}

TEST(programs_that_never_look_cost_bounded_memory)
{
    struct setup setup;
    open_setup(&setup);
    for (unsigned i = 0; i < 200000; i++)
        capture_inflight_retire(&setup.inflight, add(&setup, -1, 0, 0, i + 1),
                                CAPTURE_SUBMISSION_DONE);
    assert_true(atomic_load(&setup.inflight.count) <= 65536 + 1);
    close_setup(&setup);
}

/* ---- Several threads ---- */

enum { SUBMITTERS = 3, SUBMISSIONS = 20000 };

struct submitter {
    struct setup *setup;
    int semaphore;
};

static void *submit_and_retire(void *argument)
{
    struct submitter *submitter = argument;
    for (uint64_t i = 0; i < SUBMISSIONS; i++)
        capture_inflight_retire(
            &submitter->setup->inflight,
            add(submitter->setup, submitter->semaphore, i, submitter->semaphore, i + 1),
            CAPTURE_SUBMISSION_DONE);
    return NULL;
}

TEST(every_submission_is_seen_once)
{
    struct setup setup;
    struct submitter submitters[SUBMITTERS];
    pthread_t threads[SUBMITTERS];
    size_t seen = 0;
    open_setup(&setup);
    for (int i = 0; i < SUBMITTERS; i++) {
        submitters[i] = (struct submitter){.setup = &setup, .semaphore = i};
        assert_int_equal(pthread_create(&threads[i], NULL, submit_and_retire, &submitters[i]), 0);
    }
    for (uint64_t value = 1; value <= SUBMISSIONS; value += 100) {
        for (int i = 0; i < SUBMITTERS; i++) {
            struct capture_submission *list = see(&setup, i, value);
            seen += length(list);
            capture_inflight_free(&setup.inflight, list);
        }
    }
    for (int i = 0; i < SUBMITTERS; i++)
        pthread_join(threads[i], NULL);
    struct capture_submission *rest = capture_inflight_see_all(&setup.inflight, UINT64_MAX);
    seen += length(rest);
    capture_inflight_free(&setup.inflight, rest);
    assert_int_equal(seen, SUBMITTERS * SUBMISSIONS);
    close_setup(&setup);
}

/* ---- Open submissions ---- */

static void count_use(void *user, const struct capture_access_range *use)
{
    assert_int_equal(capture_access_range_buffer(use), 77);
    ++*(size_t *)user;
}

static size_t open_uses(struct setup *setup)
{
    size_t count = 0;
    assert_true(capture_inflight_each_open_use(&setup->inflight, count_use, &count));
    return count;
}

/* One that reads buffer 77. */
static struct capture_submission *add_reader(struct setup *setup,
                                             const struct hal_semaphore_value *wait,
                                             const struct hal_semaphore_value *signal)
{
    static const struct hal_buffer buffer = {.object.id = 77, .memory = HAL_MEMORY_HOST_COHERENT};
    struct hal_command_buffer commands = {
        .object = {.layer_data = capture_access_ranges_of(&buffer, 0, 64, true)}};
    struct hal_command_buffer *const list[] = {&commands};
    const struct hal_submission submission = {.waits = wait,
                                              .wait_count = 1,
                                              .signals = signal,
                                              .signal_count = 1,
                                              .commands = list,
                                              .command_count = 1};
    struct capture_submission *entry = capture_inflight_add(&setup->inflight, &submission);
    assert_non_null(entry);
    capture_access_ranges_release(commands.object.layer_data);
    capture_inflight_hand_over(entry);
    if (!entry->is_open)
        capture_inflight_promise(&setup->inflight, &submission);
    return entry;
}

TEST(what_waits_for_the_host_is_open_and_what_depends_on_it)
{
    struct setup setup;
    open_setup(&setup);
    struct hal_semaphore *host = &setup.semaphores[0], *work = &setup.semaphores[1];
    const struct hal_semaphore_value none = {host, 0}, five = {host, 5}, one = {work, 1},
                                     two = {work, 2}, three = {work, 3};
    assert_int_equal(open_uses(&setup), 0);
    /* It waits for what is there. */
    struct capture_submission *first = add_reader(&setup, &none, &one);
    assert_false(first->is_open);
    assert_int_equal(open_uses(&setup), 0);
    /* The first one promises its value. */
    struct capture_submission *second = add_reader(&setup, &one, &two);
    assert_false(second->is_open);
    /* Nobody has said that the host's value comes: nor what depends on it. */
    struct capture_submission *third = add_reader(&setup, &five, &three);
    struct capture_submission *fourth = add_reader(&setup, &three, &three);
    assert_true(third->is_open);
    assert_true(fourth->is_open);
    assert_int_equal(open_uses(&setup), 2);
    capture_semaphore_raise(host->object.layer_data, 5);
    struct capture_submission *fifth = add_reader(&setup, &five, &three);
    assert_false(fifth->is_open);
    assert_int_equal(open_uses(&setup), 2);
    capture_inflight_retire(&setup.inflight, third, CAPTURE_SUBMISSION_DONE);
    assert_int_equal(open_uses(&setup), 1);
    capture_inflight_retire(&setup.inflight, fourth, CAPTURE_SUBMISSION_REFUSED);
    assert_int_equal(open_uses(&setup), 0);
    close_setup(&setup);
}

TEST(too_many_submissions_to_look_through_are_told)
{
    struct setup setup;
    open_setup(&setup);
    const struct hal_semaphore_value one = {&setup.semaphores[0], 1};
    size_t count = 0;
    for (unsigned i = 0; i < 1000; i++)
        add_reader(&setup, &one, &one);
    assert_false(capture_inflight_each_open_use(&setup.inflight, count_use, &count));
    close_setup(&setup);
}

/* ---- Who may have written ---- */

struct progress {
    size_t started, waiting, held;
};

static void note_progress(void *user, const struct capture_access_range *use,
                          enum capture_progress progress)
{
    struct progress *counts = user;
    assert_int_equal(capture_access_range_buffer(use), 78);
    counts->started += progress == CAPTURE_MAY_HAVE_STARTED;
    counts->waiting += progress == CAPTURE_NOT_STARTED;
    counts->held += progress == CAPTURE_HELD;
}

static void expect_progress(struct setup *setup, const struct capture_submission *except,
                            size_t started, size_t waiting, size_t held)
{
    struct progress counts = {0};
    assert_true(capture_inflight_each_write(&setup->inflight, except, note_progress, &counts));
    assert_int_equal(counts.started, started);
    assert_int_equal(counts.waiting, waiting);
    assert_int_equal(counts.held, held);
}

/* One that writes buffer 78 when the semaphore has the value. */
static struct capture_submission *add_signalling_writer(struct setup *setup,
                                                        struct hal_semaphore *semaphore,
                                                        uint64_t value,
                                                        const struct hal_semaphore_value *signal)
{
    static const struct hal_buffer buffer = {.object.id = 78, .memory = HAL_MEMORY_HOST_COHERENT};
    struct hal_command_buffer commands = {
        .object = {.layer_data = capture_access_ranges_of(&buffer, 0, 64, false)}};
    struct hal_command_buffer *const list[] = {&commands};
    const struct hal_semaphore_value wait = {semaphore, value};
    const struct hal_submission submission = {.waits = &wait,
                                              .wait_count = 1,
                                              .signals = signal,
                                              .signal_count = signal != NULL,
                                              .commands = list,
                                              .command_count = 1};
    struct capture_submission *entry = capture_inflight_add(&setup->inflight, &submission);
    assert_non_null(entry);
    capture_access_ranges_release(commands.object.layer_data);
    return entry;
}

static struct capture_submission *add_writer(struct setup *setup, struct hal_semaphore *semaphore,
                                             uint64_t value)
{
    return add_signalling_writer(setup, semaphore, value, NULL);
}

static bool others_do(void)
{
    return true;
}

TEST(work_whose_wait_cannot_be_met_has_not_written)
{
    struct setup setup;
    open_setup(&setup);
    struct capture_submission *entry = add_writer(&setup, &setup.semaphores[0], 5);
    expect_progress(&setup, NULL, 0, 0, 1); /* the driver does not have it */
    entry->is_preceded = true;
    expect_progress(&setup, NULL, 0, 0, 1); /* nor may it run when it has */
    expect_progress(&setup, entry, 0, 0, 0);
    capture_inflight_hand_over(entry);
    capture_semaphore_raise(setup.semaphores[0].object.layer_data, 4);
    expect_progress(&setup, NULL, 0, 0, 1);
    setup.inflight.others_may_signal = others_do;
    expect_progress(&setup, NULL, 1, 0, 0);
    setup.inflight.others_may_signal = NULL;
    capture_semaphore_raise(setup.semaphores[0].object.layer_data, 5);
    expect_progress(&setup, NULL, 1, 0, 0);
    capture_inflight_retire(&setup.inflight, entry, CAPTURE_SUBMISSION_DONE);
    expect_progress(&setup, NULL, 1, 0, 0); /* it has ended, and nobody has looked */
    struct capture_submission *refused = add_writer(&setup, &setup.semaphores[0], 1);
    capture_inflight_retire(&setup.inflight, refused, CAPTURE_SUBMISSION_REFUSED);
    expect_progress(&setup, NULL, 1, 0, 0);
    close_setup(&setup);
}

/* Each waits for the one before, all for a value that then is promised by work that can run. */
TEST(held_work_goes_on_when_what_it_waits_for_is_promised)
{
    struct setup setup;
    open_setup(&setup);
    for (unsigned i = 0; i < 3; i++) {
        const struct hal_semaphore_value signal = {&setup.semaphores[i + 1], 1};
        struct capture_submission *entry =
            add_signalling_writer(&setup, &setup.semaphores[i], 1, &signal);
        capture_inflight_hand_over(entry);
    }
    expect_progress(&setup, NULL, 0, 0, 3);
    const struct hal_semaphore_value gate = {&setup.semaphores[0], 1};
    capture_inflight_promise(&setup.inflight,
                             &(struct hal_submission){.signals = &gate, .signal_count = 1});
    expect_progress(&setup, NULL, 0, 3, 0);
    close_setup(&setup);
}

/* A submission's value counts as promised from the look ahead of it: what it lets go may have a
 * lower ticket than what is recorded before its call returns. */
TEST(work_that_is_being_submitted_holds_nothing)
{
    struct setup setup;
    open_setup(&setup);
    const struct hal_semaphore_value one = {&setup.semaphores[1], 1};
    capture_inflight_hand_over(add_writer(&setup, one.semaphore, one.value));
    struct capture_submission *entry = add_signalling_writer(&setup, &setup.semaphores[0], 0, &one);
    expect_progress(&setup, NULL, 0, 0, 2);
    entry->is_preceded = true;
    expect_progress(&setup, NULL, 0, 2, 0);
    capture_inflight_hand_over(entry);
    expect_progress(&setup, NULL, 1, 1, 0);
    close_setup(&setup);
}

/* A device that waits by itself starts what is promised, whatever the host has seen. */
TEST(promised_work_may_run_ahead_of_what_the_host_sees)
{
    struct setup setup;
    open_setup(&setup);
    const struct hal_semaphore_value one = {&setup.semaphores[1], 1};
    capture_inflight_hand_over(add_signalling_writer(&setup, &setup.semaphores[0], 0, &one));
    capture_inflight_hand_over(add_writer(&setup, one.semaphore, one.value));
    capture_inflight_hand_over(add_writer(&setup, &setup.semaphores[2], 1));
    expect_progress(&setup, NULL, 1, 1, 1);
    setup.inflight.starts_ahead = true;
    expect_progress(&setup, NULL, 2, 0, 1);
    close_setup(&setup);
}

/* Each waits for the one before: too many to find out at once how far the host's value reaches. */
TEST(work_at_the_end_of_a_long_chain_counts_as_promised)
{
    enum { CHAIN = 100 };
    struct setup setup;
    open_setup(&setup);
    struct hal_semaphore *turn = &setup.semaphores[0];
    for (unsigned i = 1; i <= CHAIN; i++) {
        const struct hal_semaphore_value next = {turn, i + 1};
        capture_inflight_hand_over(add_signalling_writer(&setup, turn, i, &next));
    }
    expect_progress(&setup, NULL, 0, 0, CHAIN);
    capture_semaphore_raise(turn->object.layer_data, 1);
    expect_progress(&setup, NULL, 1, CHAIN - 1, 0);
    setup.inflight.starts_ahead = true;
    expect_progress(&setup, NULL, CHAIN, 0, 0);
    close_setup(&setup);
}

/* ---- What has copies ---- */

struct visited {
    struct capture_submission *entries[8];
    size_t count;
};

static void note_visit(void *user, struct capture_submission *other)
{
    struct visited *visited = user;
    assert_true(visited->count < 8);
    visited->entries[visited->count++] = other;
}

/* A program that looks at nothing leaves thousands of finished entries behind, which no end of a
 * submission walks: what came in stays where it came in. */
TEST(an_end_visits_what_runs_and_has_copies_and_nothing_else)
{
    enum { FINISHED = 300, WATCHED = 5 };
    struct setup setup;
    struct capture_submission *watched[WATCHED];
    char copies[WATCHED];
    open_setup(&setup);
    for (unsigned i = 0; i < WATCHED; i++) {
        watched[i] = add(&setup, -1, 0, 0, i + 1);
        capture_inflight_watch(&setup.inflight, watched[i], (void *)&copies[i]);
        if (i != 3) /* which the driver does not have yet */
            capture_inflight_hand_over(watched[i]);
        for (unsigned k = 0; k < FINISHED; k++)
            capture_inflight_retire(&setup.inflight, add(&setup, -1, 0, 1, k + 1),
                                    CAPTURE_SUBMISSION_DONE);
    }
    const struct capture_submission *newest = atomic_load(&setup.inflight.incoming);
    struct visited visited = {.count = 0};
    capture_inflight_end(&setup.inflight, watched[1], note_visit, &visited);
    assert_null(watched[1]->copies);
    assert_int_equal(visited.count, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_true(visited.entries[i] == watched[0] || visited.entries[i] == watched[2] ||
                    visited.entries[i] == watched[4]);
    /* The newest, the oldest, and without a look at others. */
    capture_inflight_end(&setup.inflight, watched[4], NULL, NULL);
    capture_inflight_end(&setup.inflight, watched[0], NULL, NULL);
    visited.count = 0;
    capture_inflight_end(&setup.inflight, watched[3], note_visit, &visited);
    assert_int_equal(visited.count, 1);
    assert_ptr_equal(visited.entries[0], watched[2]);
    capture_inflight_end(&setup.inflight, watched[2], note_visit, &visited);
    assert_int_equal(visited.count, 1);
    assert_ptr_equal(atomic_load(&setup.inflight.incoming), newest);
    assert_null(setup.inflight.list);
    close_setup(&setup);
}

/* ---- What command buffers use ---- */

static const struct capture_access_range *range_of(const struct capture_access_ranges *uses,
                                                   uint64_t id, bool reads)
{
    for (uint32_t i = 0; i < uses->count; i++) {
        if (capture_access_range_buffer(&uses->ranges[i]) == id &&
            capture_access_range_writes(&uses->ranges[i]) != reads)
            return &uses->ranges[i];
    }
    return NULL;
}

static void assert_range(const struct capture_access_ranges *uses, uint64_t id, bool reads,
                         uint64_t begin, uint64_t end)
{
    const struct capture_access_range *range = range_of(uses, id, reads);
    assert_non_null(range);
    assert_int_equal(range->begin, begin);
    assert_int_equal(range->end, end);
}

static void assert_has_range(const struct capture_access_ranges *uses, uint64_t id, bool reads,
                             uint64_t begin, uint64_t end)
{
    bool found = false;
    for (uint32_t i = 0; i < uses->count; i++) {
        const struct capture_access_range *use = &uses->ranges[i];
        found |= use->key == capture_access_range_key(id, reads) && use->begin == begin &&
                 use->end == end;
    }
    assert_true(found);
}

TEST(transfers_and_bindings_count_and_private_memory_does_not)
{
    struct hal_buffer buffers[4] = {{.object.id = 10, .memory = HAL_MEMORY_HOST_COHERENT},
                                    {.object.id = 11, .memory = HAL_MEMORY_HOST_COHERENT},
                                    {.object.id = 12, .memory = HAL_MEMORY_DEVICE_LOCAL},
                                    {.object.id = 13, .memory = HAL_MEMORY_HOST_COHERENT}};
    struct hal_executable executable = {.reflection = NULL};
    struct {
        struct hal_command_fill fill, hidden;
        struct hal_command_copy copy;
        struct hal_command_dispatch_indirect indirect;
    } arena = {
        .fill = {{HAL_COMMAND_FILL, 0, sizeof arena.fill}, &buffers[0], 100, 50, 0, 1},
        .hidden = {{HAL_COMMAND_FILL, 0, sizeof arena.fill}, &buffers[2], 0, 8, 0, 1},
        .copy = {{HAL_COMMAND_COPY, 0, sizeof arena.copy}, &buffers[1], &buffers[0], 5, 20, 30},
        .indirect = {{HAL_COMMAND_DISPATCH_INDIRECT, 0, sizeof arena.indirect},
                     .executable = &executable,
                     .counts = &buffers[0],
                     .offset = 400}};
    const struct hal_binding bindings[3] = {{&buffers[3], 64, 128}, {NULL, 0, 0}};
    struct hal_dispatch_state dispatch = {.binding_count = {0, 3}, .bindings = {NULL, bindings}};
    const struct hal_command_buffer commands = {.arena = (uint8_t *)&arena,
                                                .arena_bytes = sizeof arena,
                                                .states = &dispatch,
                                                .state_count = 1};
    bool failed;
    struct capture_survey survey;
    struct capture_access_ranges *uses =
        capture_access_ranges_create(&commands, true, &survey, &failed);
    assert_false(failed);
    assert_int_equal(uses->count, 5);
    assert_has_range(uses, 10, false, 20, 50);
    assert_has_range(uses, 10, false, 100, 150);
    assert_range(uses, 10, true, 400, 412);
    assert_range(uses, 11, true, 5, 35);
    assert_range(uses, 13, false, 64, 192);
    assert_int_equal(survey.record_bytes, sizeof arena);
    assert_in_range(survey.largest_bytes, sizeof arena.copy, TRACE_MAX_RECORD_BYTES);
    assert_int_equal(survey.longest_list, 0);
    assert_false(survey.has_labels);
    capture_access_ranges_release(capture_access_ranges_retain(uses));
    capture_access_ranges_release(uses);

    const struct hal_command_buffer nothing = {0};
    assert_null(capture_access_ranges_create(&nothing, true, &survey, &failed));
    assert_false(failed);
}

TEST(many_buffers_are_told_apart)
{
    enum { MANY = 1000, TIMES = 3 };
    struct hal_buffer *buffers = hal_alloc(MANY, sizeof *buffers);
    struct hal_command_fill *fills = hal_alloc(MANY * TIMES, sizeof *fills);
    for (unsigned i = 0; i < MANY * TIMES; i++) {
        struct hal_buffer *buffer = &buffers[i * 7 % MANY];
        buffer->object.id = 1000 + i * 7 % MANY;
        buffer->memory = HAL_MEMORY_HOST_COHERENT;
        fills[i] = (struct hal_command_fill){
            {HAL_COMMAND_FILL, 0, sizeof *fills}, buffer, 8 * (i / MANY), 8, 0, 1};
    }
    const struct hal_command_buffer commands = {.arena = (uint8_t *)fills,
                                                .arena_bytes = MANY * TIMES * sizeof *fills};
    bool failed;
    struct capture_survey survey;
    struct capture_access_ranges *uses =
        capture_access_ranges_create(&commands, true, &survey, &failed);
    assert_int_equal(uses->count, MANY);
    for (unsigned i = 0; i < MANY; i++)
        assert_range(uses, 1000 + i, false, 0, 8 * TIMES);
    capture_access_ranges_release(uses);
    free(fills);
    free(buffers);
}

/* Sixteen slots of one buffer, every other 64 bytes; the seventeenth joins another. */
TEST(ranges_that_lie_apart_stay_apart_up_to_a_limit)
{
    enum { APART = 16 };
    struct hal_buffer buffer = {.object.id = 10, .memory = HAL_MEMORY_HOST_COHERENT};
    struct hal_command_fill fills[APART + 1];
    for (unsigned i = 0; i <= APART; i++)
        fills[i] = (struct hal_command_fill){
            {HAL_COMMAND_FILL, 0, sizeof *fills}, &buffer, 128 * i, 64, 0, 1};
    struct hal_command_buffer commands = {.arena = (uint8_t *)fills,
                                          .arena_bytes = APART * sizeof *fills};
    bool failed;
    struct capture_survey survey;
    struct capture_access_ranges *uses =
        capture_access_ranges_create(&commands, true, &survey, &failed);
    assert_int_equal(uses->count, APART);
    for (uint64_t i = 0; i < APART; i++)
        assert_has_range(uses, 10, false, 128 * i, 128 * i + 64);
    capture_access_ranges_release(uses);
    commands.arena_bytes = sizeof fills;
    uses = capture_access_ranges_create(&commands, true, &survey, &failed);
    assert_int_equal(uses->count, APART);
    assert_has_range(uses, 10, false, 128 * (APART - 1), 128 * APART + 64);
    capture_access_ranges_release(uses);
}

TEST(what_a_kernel_only_reads_is_not_written)
{
    struct hal_buffer buffers[2] = {{.object.id = 10, .memory = HAL_MEMORY_HOST_COHERENT},
                                    {.object.id = 11, .memory = HAL_MEMORY_HOST_COHERENT}};
    const struct hal_entry_binding declared[] = {
        {.set = 0, .index = 0, .access = HAL_ACCESS_READ},
        {.set = 0, .index = 1, .access = HAL_ACCESS_WRITE}};
    struct hal_entry_info info = {.bindings = declared, .binding_count = 2};
    struct hal_executable executable = {.reflection = &info};
    struct hal_command_dispatch dispatch = {.head = {HAL_COMMAND_DISPATCH, 0, sizeof dispatch},
                                            .executable = &executable,
                                            .workgroup_count = {1, 1, 1}};
    const struct hal_binding bindings[] = {
        {&buffers[0], 0, 64}, {&buffers[1], 64, 64}, {&buffers[1], 0, 8}};
    struct hal_dispatch_state seen = {.binding_count = {3}, .bindings = {bindings}};
    const struct hal_command_buffer commands = {.arena = (uint8_t *)&dispatch,
                                                .arena_bytes = sizeof dispatch,
                                                .states = &seen,
                                                .state_count = 1};
    bool failed;
    struct capture_survey survey;
    struct capture_access_ranges *uses =
        capture_access_ranges_create(&commands, true, &survey, &failed);
    assert_int_equal(uses->count, 2);
    assert_has_range(uses, 10, true, 0, 64);
    assert_has_range(uses, 11, false, 64, 128); /* the kernel takes no third binding */
    capture_access_ranges_release(uses);
    uses = capture_access_ranges_create(&commands, false, &survey, &failed);
    assert_int_equal(uses->count, 3);
    assert_has_range(uses, 10, false, 0, 64); /* nobody asked what the kernel does */
    assert_has_range(uses, 11, false, 0, 8);
    capture_access_ranges_release(uses);
    dispatch.workgroup_count[1] = 0; /* no kernel runs */
    assert_null(capture_access_ranges_create(&commands, true, &survey, &failed));
    assert_false(failed);
}
