/* SPDX-License-Identifier: Apache-2.0 */
/* replay/player/remote.c: a sandboxed child that lies about a run, in every way that the channel
 * has. What it says is never taken for "same", unless it hands over the recorded bytes. */
#include "hal/base/os.h"
#include "replay/cli/report.h"
#include "replay/player/remote.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum { BUFFER = 1, COMMANDS, DONE, BYTES = 64, READS = 2, VALUE = 7 };

enum lie {
    NONE, /* the real child */
    THE_BYTES_ALONE,
    NOTHING,
    ONE_READ,
    DOUBLED,
    SWAPPED,
    SHORT,
    LONG,
    WRONG_BYTES,
    UNKNOWN_KIND,
    UNKNOWN_STATUS,
    ENDLESS_MESSAGE,
    ENDLESS_TIME,
    EXIT,
    CLOSED,
    FLOOD,
    TAKEN_BACK,
    ALIVE_AND_STUCK,
    ALIVE_AND_AWAY, /* farther with each sign of life, to no end */
    DOUBTS,         /* the rest are of ranges in doubt */
    DOUBTS_ALONE,
    DOUBT_TWICE,
    DOUBT_BEFORE,
    DOUBT_BEHIND,
    DOUBT_NOTHING,
    DOUBT_IN_PART,
    DOUBT_WITHOUT_END,
};

struct fixture {
    struct test_folder folder;
    char path[PATH_MAX];
    struct replay_plan *plan;
    size_t reads[READS]; /* operations */
    enum lie lie;
    uint8_t fill;
};

/* ---- The child ----------------------------------------------------------------------------- */

static void tell(struct replay_sandboxed *inside, size_t op, uint8_t value, size_t bytes)
{
    uint8_t data[2 * BYTES];
    memset(data, value, sizeof data);
    if (replay_channel_tell(inside->channel, op, data, bytes) != HAL_OK)
        _exit(1);
}

static void tell_head(struct replay_sandboxed *inside, uint32_t kind, uint64_t bytes)
{
    const struct replay_tell head = {.kind = kind, .bytes = bytes};
    if (replay_channel_send(inside->channel, &head, sizeof head, NULL, 0) != HAL_OK)
        _exit(1);
}

/* The second read-back's bytes are in doubt, and as a rule wrong. */
static void tell_doubt(const struct fixture *f, struct replay_sandboxed *inside)
{
    static const struct {
        struct replay_touch list[2];
        size_t bytes;
    } doubts[] = {
        [DOUBTS - DOUBTS] = {{{BUFFER, 0, 8}, {BUFFER, 16, BYTES}}, 48},
        [DOUBTS_ALONE - DOUBTS] = {{{BUFFER, 0, 8}}, 24},
        [DOUBT_TWICE - DOUBTS] = {{{BUFFER, 0, 16}, {BUFFER, 8, 24}}, 48},
        [DOUBT_BEFORE - DOUBTS] = {{{BUFFER, 8, 16}, {BUFFER, 0, 8}}, 48},
        [DOUBT_BEHIND - DOUBTS] = {{{BUFFER, 8, BYTES + 1}}, 24},
        [DOUBT_NOTHING - DOUBTS] = {{{BUFFER, 8, 8}}, 24},
        [DOUBT_IN_PART - DOUBTS] = {{{BUFFER, 0, 8}}, 23},
    };
    tell(inside, f->reads[0], VALUE, BYTES);
    if (f->lie == DOUBT_WITHOUT_END) {
        const struct replay_tell head = {.kind = REPLAY_TELL_DOUBT,
                                         .subject = f->reads[1],
                                         .bytes =
                                             (UINT64_C(1) << 40) * sizeof(struct replay_touch)};
        if (replay_channel_send(inside->channel, &head, sizeof head, NULL, 0) != HAL_OK)
            _exit(1);
    } else if (replay_channel_tell_doubt(inside->channel, f->reads[1], doubts[f->lie - DOUBTS].list,
                                         doubts[f->lie - DOUBTS].bytes) != HAL_OK) {
        _exit(1);
    }
    tell(inside, f->reads[1], f->lie == DOUBTS_ALONE ? VALUE : VALUE + 1, BYTES);
}

static _Noreturn void be_silent(void)
{
    for (;;)
        pause();
}

/* Until the parent has enough. */
static _Noreturn void be_alive(struct replay_sandboxed *inside, uint64_t step)
{
    for (uint64_t i = 0;; i += step) {
        const struct replay_tell sign = {.kind = REPLAY_TELL_ALIVE, .subject = i, .bytes = i};
        if (replay_channel_send(inside->channel, &sign, sizeof sign, NULL, 0) != HAL_OK ||
            replay_channel_flush(inside->channel) != HAL_OK)
            _exit(1);
    }
}

static void tell_reads(const struct fixture *f, struct replay_sandboxed *inside)
{
    const size_t first = f->reads[0], second = f->reads[1];
    switch (f->lie) {
    case SWAPPED:
        tell(inside, second, VALUE, BYTES);
        tell(inside, first, VALUE, BYTES);
        return;
    case DOUBLED: tell(inside, first, VALUE, BYTES); break;
    case SHORT: tell(inside, first, VALUE, BYTES / 2); return;
    case LONG: tell(inside, first, VALUE, 2 * BYTES); return;
    case UNKNOWN_KIND: tell_head(inside, 77, 0); return;
    case FLOOD: tell_head(inside, REPLAY_TELL_BYTES, UINT64_MAX); return;
    case EXIT: _exit(0);
    case CLOSED:
        close(inside->channel->to);
        close(inside->channel->from);
        be_silent();
    case TAKEN_BACK:
        tell_head(inside, REPLAY_TELL_ALIVE, 0);
        (void)!replay_channel_flush(inside->channel);
        be_silent();
    case ALIVE_AND_STUCK: be_alive(inside, 0);
    case ALIVE_AND_AWAY: be_alive(inside, 1);
    case DOUBTS:
    case DOUBTS_ALONE:
    case DOUBT_TWICE:
    case DOUBT_BEFORE:
    case DOUBT_BEHIND:
    case DOUBT_NOTHING:
    case DOUBT_IN_PART:
    case DOUBT_WITHOUT_END: tell_doubt(f, inside); return;
    case NOTHING: return;
    case NONE:
    case THE_BYTES_ALONE:
    case ONE_READ:
    case WRONG_BYTES:
    case UNKNOWN_STATUS:
    case ENDLESS_MESSAGE:
    case ENDLESS_TIME: break;
    }
    tell(inside, first, f->lie == WRONG_BYTES ? VALUE + 1 : VALUE, BYTES);
    if (f->lie != ONE_READ)
        tell(inside, second, VALUE, BYTES);
}

static int be_a_liar(void *user, struct replay_sandboxed *inside)
{
    const struct fixture *f = user;
    static struct replay_request request;
    static struct replay_answer answer;
    while (replay_channel_receive(inside->channel, &request, sizeof request) == HAL_OK) {
        const bool run = request.ask == REPLAY_ASK_UNTIL;
        memset(&answer, 0, sizeof answer);
        if (run)
            tell_reads(f, inside);
        if (run && f->lie == ENDLESS_TIME) {
            answer.total_ns = answer.wait_ns = INT64_MAX;
            answer.took_ns = INT64_MIN;
        }
        answer.status = run && f->lie == UNKNOWN_STATUS    ? 99
                        : run && f->lie == ENDLESS_MESSAGE ? HAL_DEVICE_LOST
                                                           : HAL_OK;
        if (f->lie == ENDLESS_MESSAGE)
            memset(answer.message, 'x', sizeof answer.message);
        tell_head(inside, REPLAY_TELL_DONE, sizeof answer);
        if (replay_channel_send(inside->channel, &answer, sizeof answer, NULL, 0) != HAL_OK ||
            replay_channel_flush(inside->channel) != HAL_OK)
            return 1;
    }
    return 0;
}

/* ---- The parent ---------------------------------------------------------------------------- */

/* Between the moment in which there is something to read and that in which it is read, somebody
 * else takes it: who may look into /proc opens the end of a pipe again. */
static enum hal_status (*look_after)(void *user, int descriptor, short events);

static enum hal_status take_back(void *user, int descriptor, short events)
{
    char path[64], bytes[256];
    HAL_TRY(look_after(user, descriptor, events));
    if (!(events & POLLIN))
        return HAL_OK;
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    const int again = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    while (again >= 0 && read(again, bytes, sizeof bytes) > 0)
        ;
    close(again);
    return HAL_OK;
}

/* What is not set where it is used is none of 0. */
static void fill_stack(void)
{
    volatile uint8_t bytes[32 << 10];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = 0x55;
}

static enum hal_status run(struct fixture *f, enum lie lie, struct replay_report *out_report)
{
    const int64_t time_ns = lie == TAKEN_BACK ? INT64_C(300000000) : INT64_C(60000000000);
    const struct replay_sandbox_desc desc = {.trace = f->path,
                                             .time_ns = time_ns,
                                             .deadline_ns = hal_deadline_ns(time_ns),
                                             .silence_ns = lie == TAKEN_BACK ? 0 : 1000000,
                                             .inside = lie == NONE ? replay_serve : be_a_liar,
                                             .user = f};
    struct replay_sandbox *sandbox = NULL;
    struct replay_player *player = NULL;
    f->lie = lie;
    *out_report = (struct replay_report){0};
    assert_int_equal(replay_sandbox_open(&desc, &sandbox), HAL_OK);
    if (replay_sandbox_start(sandbox) != HAL_OK)
        fail_msg("%s", hal_message());
    replay_sandbox_limit_silence(sandbox, lie != NONE);
    struct replay_remote remote = {.sandbox = sandbox, .info = {.driver = "cpu"}};
    const struct replay_options options = {.remote = &remote, .fill = f->fill};
    if (lie == NONE)
        assert_int_equal(replay_remote_open(&remote, "cpu"), HAL_OK);
    assert_int_equal(replay_player_create(f->plan, NULL, &options, &player), HAL_OK);
    struct replay_channel *const channel = replay_sandbox_channel(sandbox);
    look_after = channel->wait;
    if (lie == TAKEN_BACK)
        channel->wait = take_back;
    fill_stack();
    const enum hal_status status = replay_player_run(player, out_report);
    char message[HAL_MESSAGE_BYTES];
    snprintf(message, sizeof message, "%s", status == HAL_OK ? "" : hal_message());
    replay_player_destroy(player);
    replay_sandbox_close(sandbox);
    return status == HAL_OK ? status : hal_fail(status, "%s", message);
}

static bool is_same(const struct fixture *f, enum hal_status status,
                    const struct replay_report *report)
{
    return status == HAL_OK &&
           replay_exit_code(replay_plan_get_info(f->plan), report) == REPLAY_EXIT_SAME;
}

TEST_ON(the_recorded_bytes_are_the_same, struct fixture *f)
{
    struct replay_report report;
    for (enum lie lie = NONE; lie <= THE_BYTES_ALONE; lie++) {
        const enum hal_status status = run(f, lie, &report);
        if (!is_same(f, status, &report))
            fail_msg("%d: %s", (int)lie, hal_message());
        assert_int_equal(report.compared_reads, READS);
    }
}

TEST_ON(no_lie_is_the_same, struct fixture *f)
{
    static const struct {
        enum lie lie;
        const char *message;
    } lies[] = {
        {NOTHING, "did not send read-back"},
        {ONE_READ, "did not send read-back"},
        {DOUBLED, "something other than read-back"},
        {SWAPPED, "something other than read-back"},
        {SHORT, "the wrong number of bytes for read-back"},
        {LONG, "the wrong number of bytes for read-back"},
        {FLOOD, "something other than read-back"},
        {UNKNOWN_KIND, "sent a message of kind 77"},
        {UNKNOWN_STATUS, "sent a status 99"},
        {ENDLESS_MESSAGE, "xxxxx"},
        {EXIT, "ended in the middle of the replay, with exit status 0"},
        {CLOSED, "was ended by signal 9"},
        {DOUBT_TWICE, "sent a range with an end at 24"},
        {DOUBT_BEFORE, "sent a range with an end at 8"},
        {DOUBT_BEHIND, "sent a range with an end at 65"},
        {DOUBT_NOTHING, "sent a range with an end at 8"},
        {DOUBT_IN_PART, "sent ranges of bytes: 23"},
        {DOUBT_WITHOUT_END, "sent ranges of bytes: 26388279066624"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct replay_report report;
        const enum hal_status status = run(f, lies[i].lie, &report);
        if (status == HAL_OK || !strstr(hal_message(), lies[i].message))
            fail_msg("lie %d: status %d, '%s'", (int)lies[i].lie, (int)status, hal_message());
        if (report.different_outcomes || report.unmet_losses || report.hung || report.total_ns ||
            report.first_outcome[0])
            fail_msg("lie %d: the report says what nobody said", (int)lies[i].lie);
    }
}

TEST_ON(other_bytes_are_different, struct fixture *f)
{
    struct replay_report report;
    assert_int_equal(run(f, WRONG_BYTES, &report), HAL_OK);
    assert_int_equal(replay_exit_code(replay_plan_get_info(f->plan), &report),
                     REPLAY_EXIT_DIFFERENT);
    assert_int_equal(report.different_reads, 1);
    assert_int_equal(report.first.actual[0], VALUE + 1);
    assert_int_equal(report.first.expected[0], VALUE);
}

/* Eight of the bytes that are wrong are not in doubt, and differ. */
TEST_ON(wrong_bytes_in_doubt_are_never_the_same, struct fixture *f)
{
    struct replay_report report;
    assert_int_equal(run(f, DOUBTS, &report), HAL_OK);
    assert_int_equal(report.doubtful_reads, 1);
    assert_int_equal(report.different_reads, 1);
    assert_int_equal(report.first.offset, 8);
    assert_int_equal(replay_exit_code(replay_plan_get_info(f->plan), &report),
                     REPLAY_EXIT_DIFFERENT);
    report.different_reads = 0;
    assert_int_equal(replay_exit_code(replay_plan_get_info(f->plan), &report),
                     REPLAY_EXIT_INCOMPARABLE);
}

/* Of a run of what was recorded, bytes in doubt decide when they are right; of another never. */
TEST_ON(right_bytes_in_doubt_are_the_same_where_kernels_are, struct fixture *f)
{
    struct replay_report report;
    for (f->fill = 0; f->fill < 2; f->fill++) {
        assert_int_equal(run(f, DOUBTS_ALONE, &report), HAL_OK);
        assert_int_equal(report.doubtful_reads, f->fill);
        assert_int_equal(replay_exit_code(replay_plan_get_info(f->plan), &report),
                         f->fill ? REPLAY_EXIT_INCOMPARABLE : REPLAY_EXIT_SAME);
    }
    f->fill = 0;
}

/* Nothing can have taken longer than the parent has waited. */
TEST_ON(times_are_cut_to_what_has_passed, struct fixture *f)
{
    struct replay_report report;
    const int64_t begin_ns = hal_clock_ns();
    assert_int_equal(run(f, ENDLESS_TIME, &report), HAL_OK);
    assert_in_range(report.total_ns, 0, hal_clock_ns() - begin_ns);
    assert_in_range(report.wait_ns, 0, hal_clock_ns() - begin_ns);
}

TEST_ON(a_limit_holds_where_bytes_are_taken_back, struct fixture *f)
{
    enum { TIMEOUT_S = 60 };
    struct replay_report report;
    alarm(TIMEOUT_S); /* instead of for ever */
    assert_int_equal(run(f, TAKEN_BACK, &report), HAL_TIMEOUT);
    assert_non_null(strstr(hal_message(), "(--time-limit)"));
    alarm(0);
}

/* Other than those of a child that plays, of which the parent can tell that they have an end. */
TEST_ON(signs_of_life_are_no_answer, struct fixture *f)
{
    struct replay_report report;
    for (enum lie lie = ALIVE_AND_STUCK; lie <= ALIVE_AND_AWAY; lie++) {
        assert_int_equal(run(f, lie, &report), HAL_TIMEOUT);
        assert_non_null(strstr(hal_message(), "(--timeout)"));
    }
}

/* Operations come one after the other, up to the one that is waited for; the trace has a semaphore,
 * which may fail, and one signal. */
TEST_ON(progress_is_what_the_plan_allows, const struct fixture *f)
{
    struct replay_player player = {.plan = f->plan, .op = f->reads[0]};
    assert_false(replay_progress_claim(&player, 0, 0));
    assert_true(replay_progress_claim(&player, 1, 0));
    assert_false(replay_progress_claim(&player, 1, 0));
    assert_false(replay_progress_claim(&player, 0, 1));
    assert_true(replay_progress_claim(&player, 1, 1));
    assert_true(replay_progress_claim(&player, 2, 2));
    assert_false(replay_progress_claim(&player, 3, 1));
    assert_false(replay_progress_claim(&player, 3, 3));
    assert_false(replay_progress_claim(&player, f->reads[0] + 1, 2));
    assert_true(replay_progress_claim(&player, f->reads[0], 2));
    player.op = f->reads[1];
    assert_true(replay_progress_claim(&player, f->reads[1], 2));
    player.op = f->plan->op_count;
    assert_true(replay_progress_claim(&player, f->plan->op_count, 2));
    assert_false(replay_progress_claim(&player, UINT64_MAX, 2));
    assert_false(replay_progress_claim(&player, f->plan->op_count, UINT64_MAX));
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *const f = &fixture;
    struct trace_builder b = {0};
    const struct trace_semaphore_value done = {DONE, 1};
    uint8_t bytes[BYTES];
    *state = f;
    if (!test_folder_make(&f->folder))
        return -1;
    memset(bytes, VALUE, sizeof bytes);
    builder_open(&b, test_folder_file(&f->folder, "t.pb.zst", f->path), NULL);
    builder_buffer_create(&b, BUFFER, "bytes", BYTES);
    builder_semaphore_create(&b, DONE, "done", 0);
    builder_command_buffer_create(&b, COMMANDS, NULL, 0);
    builder_fill(&b, BUFFER, 0, BYTES, VALUE, 1);
    builder_end_commands(&b, COMMANDS);
    builder_submit(&b, 0, 0, NO_VALUES, VALUES(done), IDS(COMMANDS));
    builder_semaphore_wait(&b, 0, &done, 1, INT64_MAX);
    for (int i = 0; i < READS; i++)
        builder_host_read(&b, BUFFER, 0, bytes, sizeof bytes);
    const struct replay_load_options options = {0};
    if (builder_close(&b, NULL) != HAL_OK ||
        replay_plan_load(f->path, &options, &f->plan) != HAL_OK)
        return -1;
    size_t found = 0;
    for (size_t op = 0; op < f->plan->op_count && found < READS; op++)
        if (f->plan->ops[op].action == REPLAY_READ)
            f->reads[found++] = op;
    return found == READS ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    replay_plan_destroy(f->plan);
    test_folder_remove(&f->folder);
    return 0;
}

TEST_SUITE_FIXTURE(set_up, tear_down);
