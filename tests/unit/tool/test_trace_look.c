/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace dump's filters, symbolize, and what the reader knows of chunks without reading them. */
#include "tests/support/command.h"
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"
#include "tests/support/trace_folder.h"

#include <math.h>
#include <unistd.h>

static int run(const char *arguments)
{
    return command_run("cd %s && %s/hal-trace %s trace.pb.zst 2>&1", folder.path, HAL_TRACE_FOLDER,
                       arguments);
}

static unsigned lines(void)
{
    unsigned count = 0;
    for (const char *at = output; *at; at++)
        count += *at == '\n';
    return count;
}

/* Ten submissions in ten frames, 1 ms apart from 1 ms on. */
static void write_steps(void)
{
    struct trace_builder b;
    builder_open(&b, path, NULL);
    builder_semaphore_create(&b, 5, "s", 0);
    for (uint64_t i = 0; i < 10; i++) {
        const struct trace_semaphore_value value = {5, i + 1};
        builder_flush(&b);
        b.begin_ns = 1000 + 1000000 * (int64_t)(i + 1);
        builder_submit(&b, i, 0, NO_VALUES, VALUES(value), NO_IDS);
        builder_submission_done(&b, i, 0, b.begin_ns, b.begin_ns, b.begin_ns + 50);
        builder_buffer_create(&b, 100 + i, NULL, 64);
    }
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

TEST(filters_show_what_was_asked_for)
{
    write_steps();
    assert_int_equal(run("dump"), 0);
    assert_int_equal(lines(), 31);
    assert_int_equal(run("dump --submission=#s4"), 0);
    assert_int_equal(lines(), 2);
    says("submit submission=4");
    says("submission_done submission=4");
    assert_int_equal(run("dump --kind=submit,semaphore_create"), 0);
    assert_int_equal(lines(), 11);
    assert_int_equal(run("dump --from=2999.5 --to=4500 --kind=submit"), 0);
    assert_int_equal(lines(), 2);
    says("submission=2 ");
    says("submission=3 ");
    assert_int_equal(run("dump --object=104"), 0);
    assert_int_equal(lines(), 1);
    assert_int_equal(run("dump --object=5 --kind=submit --json"), 0);
    assert_int_equal(lines(), 11); /* in the list of signals; the first line is the origin */
    assert_int_equal(run("dump --from=1000s"), 0);
    assert_int_equal(lines(), 0);
    static const char *const wrong[] = {
        "--from=x", "--kind=sub", "--kind=", "--object=-1", "--submission=#q", "--to="};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char command[64];
        snprintf(command, sizeof command, "dump %s", wrong[i]);
        assert_int_equal(run(command), 2);
        assert_int_equal(lines(), 1);
    }
}

/* The index tells the times and the submissions of each chunk, and they are those of its events. */
TEST(chunks_are_known_without_reading_them)
{
    struct trace_reader *reader;
    write_steps();
    assert_int_equal(trace_reader_open(path, &reader), HAL_OK);
    assert_int_equal(trace_reader_chunk_count(reader), 11);
    for (size_t i = 0; i < 11; i++) {
        const struct trace_span span = trace_reader_chunk_span(reader, i);
        assert_true(span.has_submissions);
        if (i == 0) {
            assert_true(span.first_submission > span.last_submission);
            continue;
        }
        assert_int_equal(span.first_submission, i - 1);
        assert_int_equal(span.last_submission, i - 1);
        assert_int_equal(span.first_ns, 1000 + 1000000 * (int64_t)i);
        assert_int_equal(span.last_ns, 1000 + 1000000 * (int64_t)i + 300);
    }
    trace_reader_close(reader);
}

/* ---- How busy queues were ---- */

enum { FRAMES = 40, SLOTS = 64, SLOT_NS = 1000, FRAME_NS = SLOTS * SLOT_NS, QUEUES = 3 };
enum { START_NS = 5000000, WHOLE_NS = FRAMES * FRAME_NS };

static uint64_t random_state;

static int64_t below(int64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)limit);
}

struct work {
    int64_t begin_ns, end_ns;
    uint32_t queue;
};

/* Not beside more than one of the same queue: more than two and a half are not told apart. */
static bool fits(const struct work *works, size_t count, const struct work *work)
{
    unsigned beside = 0;
    for (size_t i = 0; i < count; i++)
        beside += works[i].queue == work->queue && works[i].begin_ns < work->end_ns &&
                  work->begin_ns < works[i].end_ns;
    return beside < 2;
}

/* Frame i begins at START_NS + i * FRAME_NS and ends where the next one begins. Each has work of
 * some of the queues, from 1 ns to a third of the frame, which may overlap. */
static void write_work(uint32_t first_queue)
{
    struct trace_builder b;
    uint64_t number = 0;
    builder_open(&b, path, NULL);
    for (int64_t i = 0; i < FRAMES; i++) {
        const int64_t frame_ns = START_NS + i * FRAME_NS, tries = below(60);
        struct work works[60];
        size_t count = 0;
        builder_flush(&b);
        b.step_ns = 1;
        b.begin_ns = frame_ns;
        builder_buffer_create(&b, 1000 + 2 * (uint64_t)i, NULL, 64);
        for (int64_t k = 0; k < tries; k++) {
            const int64_t from = below(FRAME_NS - 1), left = FRAME_NS - from;
            const int64_t long_ns = below(4) ? 700 : FRAME_NS / 3;
            const int64_t ns = 1 + below(left < long_ns ? left : long_ns);
            const uint32_t queue = first_queue + (uint32_t)below(i % (QUEUES + 1) + 1) % QUEUES;
            const struct work work = {frame_ns + from, frame_ns + from + ns, queue};
            if (!fits(works, count, &work))
                continue;
            works[count++] = work;
            builder_submission_done(&b, number++, queue, 0, work.begin_ns, work.end_ns);
        }
        b.begin_ns = frame_ns + FRAME_NS - 1;
        builder_buffer_create(&b, 1001 + 2 * (uint64_t)i, NULL, 64);
    }
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

static int64_t number_behind(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    assert_non_null(at);
    return strtoll(at + strlen(key), NULL, 10);
}

/* As hal-trace prints it. */
static size_t dump_work(struct work *works, size_t capacity)
{
    char command[2 * PATH_MAX], line[4096];
    size_t count = 0;
    snprintf(command, sizeof command, "%s/hal-trace dump --json --kind=submission_done %s",
             HAL_TRACE_FOLDER, path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    const int64_t origin_ns = number_behind(line, "\"origin_ns\":");
    while (fgets(line, sizeof line, pipe)) {
        assert_true(count < capacity);
        works[count++] = (struct work){origin_ns + number_behind(line, "\"begin_ns\":"),
                                       origin_ns + number_behind(line, "\"end_ns\":"),
                                       (uint32_t)number_behind(line, "\"queue\":")};
    }
    assert_int_equal(pclose(pipe), 0);
    return count;
}

static double expected_share(const struct work *works, size_t count, uint32_t queue,
                             int64_t begin_ns, int64_t end_ns)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t from = works[i].begin_ns > begin_ns ? works[i].begin_ns : begin_ns;
        const int64_t to = works[i].end_ns < end_ns ? works[i].end_ns : end_ns;
        sum += works[i].queue == queue && to > from ? to - from : 0;
    }
    return (double)sum / (double)(end_ns - begin_ns);
}

/* All frames, in parts of `slots` slots each. Rounding has moved no more than a hundredth of one
 * slot, in each frame. */
static void check_work(const struct trace_reader *reader, uint32_t first_queue,
                       const struct work *works, size_t work_count, int64_t slots)
{
    double shares[FRAMES * SLOTS];
    const int64_t count = FRAMES * SLOTS / slots, part_ns = slots * SLOT_NS;
    const int64_t frames = slots < SLOTS ? 1 : slots / SLOTS;
    for (uint32_t queue = first_queue; queue < first_queue + QUEUES + 1; queue++) {
        trace_reader_activity(reader, queue, START_NS, START_NS + WHOLE_NS, (size_t)count, shares);
        for (int64_t i = 0; i < count; i++) {
            const int64_t at = START_NS + i * part_ns;
            const double expected = expected_share(works, work_count, queue, at, at + part_ns);
            if (fabs(shares[i] - expected) > 0.0100001 * (double)frames / (double)slots)
                fail_msg("queue %u, part %d of %d: %f, expected %f", queue, (int)i, (int)count,
                         shares[i], expected);
        }
    }
}

static void check_seed(uint64_t seed, uint32_t first_queue)
{
    static struct work works[FRAMES * 60];
    struct trace_reader *reader;
    double share;
    random_state = seed;
    write_work(first_queue);
    const size_t count = dump_work(works, sizeof works / sizeof *works);
    assert_true(count > FRAMES);
    assert_int_equal(trace_reader_open(path, &reader), HAL_OK);
    assert_int_equal(trace_reader_active_queues(reader), 7ull << first_queue);
    for (int64_t slots = 1; slots <= FRAMES * SLOTS; slots *= 2) {
        if (FRAMES * SLOTS % slots == 0)
            check_work(reader, first_queue, works, count, slots);
    }
    for (int i = 0; i < 200; i++) { /* anywhere: a slot is cut at each end */
        const int64_t begin = START_NS + below(WHOLE_NS), end = begin + 1 + below(WHOLE_NS);
        const int64_t slots_begin = begin - begin % SLOT_NS, slots_end = end - end % SLOT_NS;
        double most = 0.01 * (FRAMES + 2); /* rounding */
        trace_reader_activity(reader, first_queue, begin, end, 1, &share);
        most += expected_share(works, count, first_queue, slots_begin, slots_begin + SLOT_NS);
        most += expected_share(works, count, first_queue, slots_end, slots_end + SLOT_NS);
        const double expected = expected_share(works, count, first_queue, begin, end);
        assert_true(fabs(share - expected) * (double)(end - begin) <= most * SLOT_NS);
    }
    trace_reader_close(reader);
}

TEST(the_index_tells_how_busy_queues_were)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        print_message("seed %d\n", (int)seed);
        check_seed(seed * 0x9e3779b97f4a7c15ull, seed == 4 ? 61 : (uint32_t)seed);
    }
}

/* Of a frame with many queues the slots are longer. What a later frame has at the same time is
 * added, and three at once are 255 percent. */
TEST(many_queues_share_a_frame)
{
    struct trace_builder b;
    struct trace_reader *reader;
    double shares[4];
    builder_open(&b, path, NULL);
    for (uint32_t queue = 0; queue < 64; queue++)
        builder_submission_done(&b, queue, queue, 0, 10000 + 1000 * (queue % 4),
                                11000 + 1000 * (queue % 4));
    builder_flush(&b);
    builder_submission_done(&b, 64, 0, 0, 10000, 11000);
    builder_flush(&b);
    for (uint32_t i = 0; i < 3; i++)
        builder_submission_done(&b, 65 + i, 1, 0, 13000, 14000);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    assert_int_equal(trace_reader_open(path, &reader), HAL_OK);
    assert_int_equal(trace_reader_active_queues(reader), UINT64_MAX);
    for (uint32_t queue = 0; queue < 64; queue++) {
        trace_reader_activity(reader, queue, 10000, 14000, 4, shares);
        for (uint32_t i = 0; i < 4; i++) {
            const double more = queue == 0 && i == 0 ? 1 : queue == 1 && i == 3 ? 2.55 : 0;
            assert_true(fabs(shares[i] - (i == queue % 4) - more) < 1e-9);
        }
    }
    trace_reader_close(reader);
}

/* ---- Symbols ---- */

extern const char __ehdr_start; /* where this program was loaded */

__attribute__((noinline)) void function_with_a_name(void);
void function_with_a_name(void)
{
    __asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop");
}

/* One behind the other: the first one ends in its last call. */
extern const char function_that_ends, function_behind_it;
__asm__(".pushsection .text\n"
        ".type function_that_ends, %function\n"
        "function_that_ends: nop; nop; nop; nop\n"
        ".size function_that_ends, . - function_that_ends\n"
        ".type function_behind_it, %function\n"
        "function_behind_it: nop\n"
        ".size function_behind_it, . - function_behind_it\n"
        ".popsection\n");

static void write_stack(const uint8_t *build_id, uint32_t build_id_bytes)
{
    struct trace_builder b;
    char self[PATH_MAX];
    uint64_t memory[16] = {0};
    struct trace_module *module = (void *)memory;
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    const uint64_t base = (uint64_t)(uintptr_t)&__ehdr_start;
    builder_open(&b, path, NULL);
    module->head = (struct trace_event){
        .kind = TRACE_MODULE, .bytes = (uint32_t)(sizeof *module + (build_id_bytes + 7) / 8 * 8)};
    module->base = base;
    module->size = 1 << 24;
    module->path = builder_string(&b, self);
    module->build_id_bytes = build_id_bytes;
    if (build_id_bytes)
        memcpy(module->build_id, build_id, build_id_bytes);
    builder_record(&b, &module->head);
    const uint64_t frames[] = {(uint64_t)(uintptr_t)function_with_a_name + 3,
                               (uint64_t)(uintptr_t)&function_behind_it, 0x10};
    b.stack = builder_stack(&b, frames, 3);
    builder_buffer_create(&b, 1, NULL, 64);
    builder_buffer_create(&b, 2, NULL, 64);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

TEST(stacks_get_names)
{
    char expected[256];
    write_stack(NULL, 0);
    assert_int_equal(run("symbolize"), 0);
    snprintf(expected, sizeof expected,
             "stack 1, used 2 times\n"
             "    function_with_a_name+0x3\n"
             "    function_that_ends+%#tx\n"
             "    0x10\n"
             "2 of 3 frames have names\n",
             &function_behind_it - &function_that_ends);
    assert_string_equal(output, expected);
}

TEST(another_build_gives_no_names)
{
    write_stack((const uint8_t *)"not the one", 11);
    assert_int_equal(run("symbolize"), 0);
    says("is not the build that was captured");
    says("    test_trace_look+0x");
    says("0 of 3 frames have names\n");
    assert_int_equal(run("symbolize --wrong"), 2);
}

TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
