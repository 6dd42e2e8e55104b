/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace trim, strip and merge, as programs. What a trimmed trace does is worked out by a small
 * interpreter of its own: whatever was trimmed, it never hangs, and every read-back that is left
 * sees the recorded bytes. HALTRACE_TRIM_SEEDS: how many random traces. */
#include "tests/support/command.h"
#include "tests/support/own_folder.h"
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"

#include <sys/wait.h>
#include <unistd.h>

enum {
    BUFFERS = 5,
    BYTES = 32,
    DONE = 50,      /* a semaphore that every submission raises by one */
    OTHER = 51,     /* one that the host raises */
    COMMANDS = 100, /* the first command buffer */
    MOST = 64,
};

/* Runs a shell command in the folder; the exit status. */
static int run(const char *command_line)
{
    return command_run("cd %s && PATH=%s:$PATH && exec 2>&1; %s", folder.path, HAL_TRACE_FOLDER,
                       command_line);
}

static const char *file(const char *name)
{
    static char path[PATH_MAX];
    return test_folder_file(&folder, name, path);
}

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state % limit;
}

/* ---- Random traces of transfers, whose bytes are known ---- */

struct world {
    uint8_t bytes[BUFFERS + 1][BYTES];
};

static void random_range(uint64_t *state, uint64_t *offset, uint64_t *size)
{
    *offset = random_below(state, 4) ? 8 * random_below(state, 3) : 0;
    *size = random_below(state, 3) ? 8 : BYTES - *offset;
}

/* Records one command and applies it. */
static void random_command(struct trace_builder *b, struct world *world, uint64_t *state)
{
    uint64_t offset, size, other, ignored;
    const uint64_t target = 1 + random_below(state, BUFFERS);
    const uint64_t source = 1 + (target + random_below(state, BUFFERS - 1)) % BUFFERS;
    random_range(state, &offset, &size);
    random_range(state, &other, &ignored);
    if (other + size > BYTES)
        other = BYTES - size;
    if (random_below(state, 3) == 0) {
        const uint32_t value = (uint32_t)random_below(state, 256);
        builder_fill(b, target, offset, size, value, 1);
        memset(world->bytes[target] + offset, (int)value, size);
    } else if (random_below(state, 4) == 0) {
        uint8_t data[BYTES];
        for (size_t i = 0; i < size; i++)
            data[i] = (uint8_t)random_below(state, 256);
        builder_update(b, target, offset, data, size);
        memcpy(world->bytes[target] + offset, data, size);
    } else {
        builder_copy(b, source, other, target, offset, size);
        memcpy(world->bytes[target] + offset, world->bytes[source] + other, size);
    }
}

static void write_commands(struct trace_builder *b, struct world *world, uint64_t *state,
                           uint64_t id)
{
    builder_command_buffer_create(b, id, NULL, 0);
    for (uint64_t i = 1 + random_below(state, 2); i-- > 0;)
        random_command(b, world, state);
    builder_end_commands(b, id);
}

/* Submissions are a chain through DONE, whatever the order in which they are submitted: each has
 * the value that it waits for one below the one that it signals. */
static void submit(struct trace_builder *b, uint64_t number, uint64_t value, uint64_t commands)
{
    const struct trace_semaphore_value values[] = {{DONE, value - 1}, {DONE, value}};
    builder_submit(b, number, (uint32_t)(number % 2), VALUES(values[0]), VALUES(values[1]),
                   IDS(commands));
}

static void host_look(struct trace_builder *b, const struct world *world, uint64_t *state,
                      uint64_t value)
{
    const struct trace_semaphore_value values[] = {{DONE, value}};
    uint64_t offset, size;
    builder_semaphore_wait(b, 0, values, 1, INT64_MAX);
    for (uint64_t i = random_below(state, 3); i-- > 0;) {
        const uint64_t buffer = 1 + random_below(state, BUFFERS);
        random_range(state, &offset, &size);
        builder_host_read(b, buffer, offset, world->bytes[buffer] + offset, size);
    }
}

static void host_write(struct trace_builder *b, struct world *world, uint64_t *state)
{
    uint64_t offset, size;
    const uint64_t buffer = 1 + random_below(state, BUFFERS);
    random_range(state, &offset, &size);
    for (uint64_t i = 0; i < size; i++)
        world->bytes[buffer][offset + i] = (uint8_t)random_below(state, 256);
    builder_host_write(b, buffer, offset, world->bytes[buffer] + offset, size);
}

static void open_trace(struct trace_builder *b, const char *name, struct world *world)
{
    static const uint8_t zeros[BYTES];
    builder_open(b, file(name), NULL);
    memset(world, 0, sizeof *world);
    builder_semaphore_create(b, DONE, "done", 0);
    for (uint64_t i = 1; i <= BUFFERS; i++) {
        builder_buffer_create(b, i, NULL, BYTES);
        builder_host_write(b, i, 0, zeros, BYTES);
    }
}

/* Returns the number of submissions. */
static uint64_t write_trace(const char *name, uint64_t seed)
{
    struct trace_builder b;
    struct world world;
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1, number = 0;
    open_trace(&b, name, &world);
    const uint64_t wanted = 4 + random_below(&state, 12);
    while (number < wanted) {
        if (random_below(&state, 3) == 0)
            host_write(&b, &world, &state);
        const bool swapped = random_below(&state, 5) == 0;
        write_commands(&b, &world, &state, COMMANDS + number);
        if (swapped) { /* the later one is submitted first, and waits */
            write_commands(&b, &world, &state, COMMANDS + number + 1);
            submit(&b, number, number + 2, COMMANDS + number + 1);
            submit(&b, number + 1, number + 1, COMMANDS + number);
        } else {
            submit(&b, number, number + 1, COMMANDS + number);
        }
        number += swapped ? 2 : 1;
        host_look(&b, &world, &state, number);
    }
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    return number;
}

/* ---- The interpreter ---- */

struct commands {
    uint64_t id;
    const struct trace_segment *segments;
    uint32_t count;
};

struct machine {
    struct trace_reader *reader;
    struct trace_chunk chunk;
    uint8_t bytes[BUFFERS + 1][BYTES];
    uint64_t values[2]; /* of DONE and OTHER */
    struct commands commands[MOST];
    size_t command_count;
    const struct trace_submit *pending[MOST];
    size_t pending_count;
    unsigned reads, works, barriers;
    uint64_t seed;
};

static uint64_t *value_of(struct machine *m, uint64_t semaphore)
{
    assert_true(semaphore == DONE || semaphore == OTHER);
    return &m->values[semaphore - DONE];
}

static void run_commands(struct machine *m, uint64_t id)
{
    size_t i = 0;
    while (i < m->command_count && m->commands[i].id != id)
        i++;
    assert_true(i < m->command_count);
    const struct trace_segment *segment = m->commands[i].segments;
    for (uint32_t k = 0; k < m->commands[i].count; k++, segment = trace_next_segment(segment)) {
        const void *any = segment;
        const struct trace_fill *fill = any;
        const struct trace_copy *copy = any;
        const struct trace_update *update = any;
        if (segment->kind == TRACE_FILL)
            memset(m->bytes[fill->target] + fill->offset, (int)fill->pattern, fill->size);
        else if (segment->kind == TRACE_COPY)
            memcpy(m->bytes[copy->target] + copy->target_offset,
                   m->bytes[copy->source] + copy->source_offset, copy->size);
        else if (segment->kind == TRACE_UPDATE)
            memcpy(m->bytes[update->target] + update->offset, update->data, update->size);
        else
            fail_msg("segment %u", segment->kind);
    }
}

static bool try_run(struct machine *m, const struct trace_submit *work)
{
    for (uint32_t i = 0; i < work->wait_count; i++) {
        if (*value_of(m, work->values[i].semaphore) < work->values[i].value)
            return false;
    }
    for (uint32_t i = 0; i < work->command_buffer_count; i++)
        run_commands(m, trace_submit_command_buffers(work)[i]);
    for (uint32_t i = 0; i < work->signal_count; i++) {
        const struct trace_semaphore_value signal = work->values[work->wait_count + i];
        uint64_t *value = value_of(m, signal.semaphore);
        if (signal.value <= *value)
            fail_msg("seed %llu: a signal of %llu, it is %llu already", (unsigned long long)m->seed,
                     (unsigned long long)signal.value, (unsigned long long)*value);
        *value = signal.value;
    }
    m->works += work->command_buffer_count > 0;
    m->barriers += work->operation == TRACE_OPERATION_BARRIER;
    return true;
}

static void run_pending(struct machine *m)
{
    for (size_t i = 0; i < m->pending_count;) {
        if (!try_run(m, m->pending[i])) {
            i++;
            continue;
        }
        memmove(&m->pending[i], &m->pending[i + 1],
                (m->pending_count - i - 1) * sizeof *m->pending);
        m->pending_count--;
        i = 0;
    }
}

static void host_access(struct machine *m, const struct trace_content_event *event)
{
    uint8_t data[BYTES];
    assert_true(event->size <= BYTES && event->buffer <= BUFFERS);
    assert_int_equal(trace_reader_content(m->reader, event->content, data, event->size), HAL_OK);
    if (event->head.kind == TRACE_HOST_WRITE) {
        memcpy(m->bytes[event->buffer] + event->offset, data, event->size);
        return;
    }
    m->reads++;
    if (memcmp(m->bytes[event->buffer] + event->offset, data, event->size) != 0)
        fail_msg("seed %llu: the read-back with ticket %llu sees other bytes",
                 (unsigned long long)m->seed, (unsigned long long)event->head.ticket);
}

static void step(struct machine *m, const struct trace_event *event)
{
    const void *any = event;
    const struct trace_semaphore_create *create = any;
    const struct trace_command_buffer_seal *seal = any;
    const struct trace_semaphore_wait *wait = any;
    switch (event->kind) {
    case TRACE_SEMAPHORE_CREATE: *value_of(m, create->semaphore) = create->initial_value; break;
    case TRACE_COMMAND_BUFFER_SEAL:
        m->commands[m->command_count++] = (struct commands){
            seal->command_buffer, (const void *)trace_next_event(event), seal->segment_count};
        break;
    case TRACE_SUBMIT:
        m->pending[m->pending_count++] = any;
        run_pending(m);
        break;
    case TRACE_SEMAPHORE_SIGNAL:
        *value_of(m, ((const struct trace_semaphore_event *)any)->semaphore) =
            ((const struct trace_semaphore_event *)any)->value;
        run_pending(m);
        break;
    case TRACE_SEMAPHORE_WAIT:
        for (uint32_t i = 0; i < wait->value_count; i++) {
            if (*value_of(m, wait->values[i].semaphore) < wait->values[i].value)
                fail_msg("seed %llu: a wait that never ends", (unsigned long long)m->seed);
        }
        break;
    case TRACE_HOST_WRITE:
    case TRACE_HOST_READ: host_access(m, any); break;
    default: break;
    }
}

/* One thread, hence one order. Bytes that nobody wrote differ from run to run. */
static void interpret(const char *name, struct machine *m, uint64_t seed)
{
    *m = (struct machine){.seed = seed};
    memset(m->bytes, 0xA5, sizeof m->bytes);
    assert_int_equal(trace_reader_open(file(name), &m->reader), HAL_OK);
    assert_int_equal(trace_reader_chunk_count(m->reader), 1);
    assert_int_equal(trace_reader_chunk(m->reader, 0, &m->chunk), HAL_OK);
    const struct trace_event *event = m->chunk.events;
    for (uint32_t i = 0; i < m->chunk.event_count; i++) {
        step(m, event);
        const uint8_t *next = (const uint8_t *)event + event->bytes;
        if (event->kind == TRACE_COMMAND_BUFFER_SEAL)
            next += ((const struct trace_command_buffer_seal *)(const void *)event)->segment_bytes;
        event = (const void *)next;
    }
    if (m->pending_count)
        fail_msg("seed %llu: %zu submissions never run", (unsigned long long)seed,
                 m->pending_count);
    trace_chunk_free(&m->chunk);
    trace_reader_close(m->reader);
}

TEST(random_traces_still_work)
{
    const char *text = getenv("HALTRACE_TRIM_SEEDS");
    const uint64_t seeds = text ? strtoull(text, NULL, 10) : 25;
    unsigned reads = 0, barriers = 0, smaller = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        char command[128];
        struct machine whole, part;
        uint64_t random = seed * 77 + 5;
        const uint64_t count = write_trace("r.pb.zst", seed);
        const uint64_t first = random_below(&random, count);
        const uint64_t last = first + random_below(&random, count - first > 2 ? 2 : count - first);
        interpret("r.pb.zst", &whole, seed);
        snprintf(command, sizeof command,
                 "hal-trace trim -f -o t.pb.zst --submissions=%llu-%llu r.pb.zst",
                 (unsigned long long)first, (unsigned long long)last);
        if (run(command) != 0)
            fail_msg("seed %llu: %s", (unsigned long long)seed, output);
        interpret("t.pb.zst", &part, seed);
        assert_true(part.works >= last - first + 1);
        reads += part.reads;
        barriers += part.barriers;
        smaller += part.works < whole.works;
    }
    print_message("%llu seeds: %u read-backs, %u barriers, %u smaller\n", (unsigned long long)seeds,
                  reads, barriers, smaller);
    assert_true(reads > seeds / 2 && barriers > seeds / 10 && smaller > seeds / 2);
}

/* ---- By hand ---- */

/* #s0 and #s1 have nothing to do with #s2; #s3 reads what #s0 made. */
static void write_known(const char *name)
{
    struct trace_builder b;
    struct world world;
    open_trace(&b, name, &world);
    builder_scope_begin(&b, "first");
    builder_command_buffer_create(&b, 100, NULL, 0);
    builder_fill(&b, 1, 0, BYTES, 7, 1);
    builder_end_commands(&b, 100);
    submit(&b, 0, 1, 100);
    builder_scope_end(&b);
    builder_command_buffer_create(&b, 101, NULL, 0);
    builder_fill(&b, 2, 0, BYTES, 8, 1);
    builder_end_commands(&b, 101);
    submit(&b, 1, 2, 101);
    builder_scope_begin(&b, "alone");
    builder_command_buffer_create(&b, 102, NULL, 0);
    builder_fill(&b, 3, 0, BYTES, 9, 1);
    builder_end_commands(&b, 102);
    submit(&b, 2, 3, 102);
    builder_scope_end(&b);
    builder_command_buffer_create(&b, 103, NULL, 0);
    builder_copy(&b, 1, 0, 4, 0, BYTES);
    builder_end_commands(&b, 103);
    submit(&b, 3, 4, 103);
    const struct trace_semaphore_value all[] = {{DONE, 4}};
    uint8_t bytes[BYTES];
    builder_semaphore_wait(&b, 0, all, 1, INT64_MAX);
    memset(bytes, 9, sizeof bytes);
    builder_host_read(&b, 3, 0, bytes, BYTES);
    memset(bytes, 7, sizeof bytes);
    builder_host_read(&b, 4, 0, bytes, BYTES);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

TEST(only_what_is_needed_stays)
{
    struct machine m;
    write_known("k.pb.zst");
    assert_int_equal(run("hal-trace trim -f -o t.pb.zst --submissions=#s2 k.pb.zst"), 0);
    says("1 submission, 0 dependencies, 1 as barriers");
    interpret("t.pb.zst", &m, 0);
    assert_int_equal(m.works, 1);
    assert_int_equal(m.reads, 1);
    assert_int_equal(run("hal-trace trim -f -o t.pb.zst --submissions=3..3 k.pb.zst"), 0);
    says("1 submission, 1 dependency, 2 as barriers");
    interpret("t.pb.zst", &m, 0);
    assert_int_equal(m.works, 2);
    assert_int_equal(m.reads, 1);
    assert_int_equal(run("hal-trace info t.pb.zst"), 0);
    says("changed    trim --submissions=3..3: 1 submission, 1 dependency");
    assert_int_equal(run("hal-trace trim -f -o t.pb.zst --scope=alone k.pb.zst"), 0);
    says("1 submission, 0 dependencies, 1 as barriers");
    assert_int_equal(run("hal-trace dump t.pb.zst | grep -c 'scope_begin name=\"alone\"'"), 0);
    assert_int_equal(run("hal-trace dump t.pb.zst | grep 'buffer_create'"), 0);
    assert_null(strstr(output, "buffer=1 "));
    assert_int_equal(run("hal-trace verify t.pb.zst"), 0);
}

/* #s1 waits for what comes after the part that stays; #s2 waits for #s1, and raises the semaphore
 * that it waits for. Neither would ever run. */
TEST(what_waits_for_itself_alone_goes)
{
    enum { INNER = 60, OUTER = 61 };
    struct trace_builder b;
    struct world world;
    struct machine m;
    const struct trace_semaphore_value inner[] = {{INNER, 1}, {INNER, 2}}, outer = {OUTER, 1};
    const struct trace_semaphore_value done = {DONE, 1};
    open_trace(&b, "w.pb.zst", &world);
    builder_semaphore_create(&b, INNER, "inner", 0);
    builder_semaphore_create(&b, OUTER, "outer", 0);
    builder_command_buffer_create(&b, 100, NULL, 0);
    builder_fill(&b, 1, 0, BYTES, 7, 1);
    builder_end_commands(&b, 100);
    submit(&b, 0, 1, 100);
    builder_submit(&b, 1, 1, VALUES(outer), VALUES(inner[0]), NO_IDS);
    builder_submit(&b, 2, 0, VALUES(inner[0]), VALUES(inner[1]), NO_IDS);
    builder_semaphore_wait(&b, 0, &done, 1, INT64_MAX);
    builder_submit(&b, 3, 0, NO_VALUES, VALUES(outer), NO_IDS);
    builder_semaphore_wait(&b, 0, &inner[1], 1, INT64_MAX);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    assert_int_equal(run("hal-trace trim -f -o t.pb.zst --submissions=#s0 w.pb.zst"), 0);
    says("1 submission, 0 dependencies, 0 as barriers");
    interpret("t.pb.zst", &m, 0);
}

/* A fill of all of it, or of a half only. */
TEST(what_was_overwritten_is_not_needed)
{
    for (unsigned half = 0; half < 2; half++) {
        struct trace_builder b;
        struct world world;
        struct machine m;
        uint8_t bytes[BYTES];
        const struct trace_semaphore_value all = {DONE, 3};
        open_trace(&b, "o.pb.zst", &world);
        for (unsigned i = 0; i < 3; i++) {
            builder_command_buffer_create(&b, 100 + i, NULL, 0);
            if (i < 2)
                builder_fill(&b, 1, 0, i && half ? BYTES / 2 : BYTES, 7 + i, 1);
            else
                builder_copy(&b, 1, 0, 4, 0, BYTES);
            builder_end_commands(&b, 100 + i);
            submit(&b, i, i + 1, 100 + i);
        }
        builder_semaphore_wait(&b, 0, &all, 1, INT64_MAX);
        memset(bytes, 7, sizeof bytes);
        memset(bytes, 8, half ? BYTES / 2 : BYTES);
        builder_host_read(&b, 4, 0, bytes, BYTES);
        assert_int_equal(builder_close(&b, NULL), HAL_OK);
        assert_int_equal(run("hal-trace trim -f -o t.pb.zst --submissions=#s2 o.pb.zst"), 0);
        says(half ? "1 submission, 2 dependencies" : "1 submission, 1 dependency");
        interpret("t.pb.zst", &m, 0);
        assert_int_equal(m.works, 2 + half);
        assert_int_equal(m.reads, 1);
    }
}

/* Half of a buffer is filled by the submission that stays, the other half written by the host:
 * before the window, in it, or after the fill. */
TEST(a_read_back_keeps_what_the_host_wrote_beside)
{
    for (unsigned when = 0; when < 3; when++) {
        struct trace_builder b;
        struct world world;
        struct machine m;
        uint8_t bytes[BYTES], own[BYTES / 2];
        open_trace(&b, "b.pb.zst", &world);
        memset(own, 6, sizeof own);
        for (unsigned i = 0; i < 2; i++) {
            const struct trace_semaphore_value done = {DONE, i + 1};
            builder_command_buffer_create(&b, 100 + i, NULL, 0);
            builder_fill(&b, 1, i ? BYTES / 2 : 0, BYTES / 2, 7 + i, 1);
            builder_end_commands(&b, 100 + i);
            if (i == when)
                builder_host_write(&b, 1, 0, own, sizeof own);
            submit(&b, i, i + 1, 100 + i);
            builder_semaphore_wait(&b, 0, &done, 1, INT64_MAX);
            if (i + 1 == when)
                builder_host_write(&b, 1, 0, own, sizeof own);
        }
        memset(bytes, when ? 6 : 7, BYTES / 2);
        memset(bytes + BYTES / 2, 8, BYTES / 2);
        builder_host_read(&b, 1, 0, bytes, BYTES);
        assert_int_equal(builder_close(&b, NULL), HAL_OK);
        assert_int_equal(run("hal-trace trim -f -o t.pb.zst --submissions=#s1 b.pb.zst"), 0);
        says("1 submission, 0 dependencies");
        interpret("t.pb.zst", &m, 0);
        assert_int_equal(m.works, 1);
        assert_int_equal(m.reads, when > 0); /* #s0 is gone, which filled the other half */
    }
}

/* A file is read into buffer 1, which is copied into 2, which is written into another file. */
TEST(files_are_read_and_written_by_what_is_needed)
{
    static const struct {
        const char *trimmed, *says;
    } cases[] = {{"#s1", "1 submission, 1 dependency"},
                 {"#s2", "1 submission, 2 dependencies"},
                 {"#s3", "1 submission, 0 dependencies"}};
    struct trace_builder b;
    struct world world;
    open_trace(&b, "f.pb.zst", &world);
    for (unsigned i = 0; i < 4; i++) {
        const bool reads = i == 0, writes = i == 2;
        const struct trace_semaphore_value values[] = {{DONE, i}, {DONE, i + 1}};
        const uint64_t commands = COMMANDS + i;
        if (!reads && !writes) {
            builder_command_buffer_create(&b, commands, NULL, 0);
            builder_copy(&b, i == 1 ? 1 : 4, 0, i == 1 ? 2 : 5, 0, BYTES);
            builder_end_commands(&b, commands);
        } else {
            b.operation = (struct trace_submit){.operation = reads ? TRACE_OPERATION_READ
                                                                   : TRACE_OPERATION_WRITE,
                                                .file = builder_string(&b, reads ? "in" : "out"),
                                                .buffer = reads ? 1 : 2,
                                                .size = BYTES};
        }
        builder_submit(&b, i, 0, VALUES(values[0]), VALUES(values[1]),
                       builder_ids(&commands, !reads && !writes));
    }
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[256];
        snprintf(command, sizeof command,
                 "hal-trace trim -f -o t.pb.zst --submissions=%s f.pb.zst && "
                 "hal-trace verify t.pb.zst",
                 cases[i].trimmed);
        assert_int_equal(run(command), 0);
        says(cases[i].says);
    }
}

TEST(usage_and_failures)
{
    static const struct {
        const char *arguments;
        int status;
        const char *says;
    } cases[] = {
        {"trim -o x.pb.zst k.pb.zst", 2, "either --submissions"},
        {"trim -o x.pb.zst --submissions=5-3 k.pb.zst", 2, "5-3"},
        {"trim -o x.pb.zst --submissions= k.pb.zst", 2, "is not a range of locators"},
        {"trim -o x.pb.zst --submissions=99 k.pb.zst", 3, "no submission #s99"},
        {"trim -o x.pb.zst --scope=none k.pb.zst", 3, "scope 'none'"},
        {"trim --submissions=1 k.pb.zst", 2, "-o OUTPUT"},
        {"trim -o k.pb.zst --submissions=1 -f k.pb.zst", 2, "another file"},
        {"trim -o x.pb.zst --level=20 --submissions=1 k.pb.zst", 2, "--level=20"},
        {"trim -o x.pb.zst --submissions=1 missing", 3, "No such file"},
        {"trim -o none/x.pb.zst --submissions=1 k.pb.zst", 3, "cannot create"},
        {"strip k.pb.zst", 2, "-o OUTPUT"},
        {"strip -o x.pb.zst --reads-only --executables k.pb.zst", 2, "either"},
        {"strip -o there k.pb.zst", 3, "exists"},
        {"merge -o x.pb.zst k.pb.zst", 2, "at least two files"},
        {"merge -o x.pb.zst --clock=sun k.pb.zst k.pb.zst", 2, "--clock=sun"},
        {"merge -o x.pb.zst k.pb.zst missing", 3, "No such file"},
        {"recompress -o x.pb.zst --wrong k.pb.zst", 2, "--wrong"},
        {"recompress -o x.pb.zst cut.pb.zst", 3, "is incomplete"},
    };
    write_known("k.pb.zst");
    assert_int_equal(run("touch there; head -c -600 k.pb.zst > cut.pb.zst"), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[256];
        snprintf(command, sizeof command, "hal-trace %s", cases[i].arguments);
        const int status = run(command);
        if (status != cases[i].status || !strstr(output, cases[i].says))
            fail_msg("%s: %d, '%s'", cases[i].arguments, status, output);
        assert_int_equal(run("test -e x.pb.zst"), 1);
    }
    /* What is left of a file that was cut off is what the rest is made of, and it is said. */
    assert_int_equal(run("hal-trace strip -f -o x.pb.zst cut.pb.zst && hal-trace info x.pb.zst"),
                     0);
    says("had been cut off");
    assert_int_equal(run("rm x.pb.zst"), 0);
}

TEST(an_empty_trace_can_be_rewritten)
{
    struct trace_builder b;
    builder_open(&b, file("e.pb.zst"), NULL);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    assert_int_equal(
        run("hal-trace strip -f -o e1.pb.zst e.pb.zst && hal-trace verify e1.pb.zst && "
            "hal-trace merge -f -o e2.pb.zst e.pb.zst e.pb.zst && "
            "hal-trace verify e2.pb.zst && hal-trace recompress -f -o e3.pb.zst "
            "e.pb.zst && hal-trace verify e3.pb.zst"),
        0);
    assert_int_equal(run("hal-trace trim -f -o e4.pb.zst --submissions=0 e.pb.zst"), 3);
}

/* ---- Strip and merge ---- */

TEST(stripped_bytes_are_nowhere)
{
    struct trace_builder b;
    builder_open(&b, file("s.pb.zst"), NULL);
    builder_buffer_create(&b, 1, "b", 64);
    builder_host_write(&b, 1, 0, "SECRET-WRITTEN-BY-HOST", 22);
    builder_command_buffer_create(&b, 2, NULL, 0);
    builder_update(&b, 1, 32, "SECRET-OF-AN-UPDATE!", 20);
    builder_end_commands(&b, 2);
    builder_submit(&b, 0, 0, NO_VALUES, NO_VALUES, IDS(2));
    builder_host_read(&b, 1, 0, "SECRET-READ-BY-HOST", 19);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    assert_int_equal(run("hal-trace strip -f -o t.pb.zst s.pb.zst && hal-trace verify t.pb.zst"),
                     0);
    assert_int_equal(run("zstd -dcq t.pb.zst | grep -c SECRET; grep -c SECRET t.pb.zst; "
                         "for i in 1 2; do hal-trace extract --content=$i t.pb.zst | grep SECRET; "
                         "done; zstd -dcq s.pb.zst | grep -ac SECRET"),
                     0);
    assert_string_equal(output, "0\n0\n1\n");
    /* Digests of what they were. */
    assert_int_equal(run("hal-trace extract --content=1 t.pb.zst | od -An -tx1 | tr -d ' \\n'; "
                         "printf ' '; printf SECRET-WRITTEN-BY-HOST | sha256sum | cut -c1-64"),
                     0);
    output[64] = output[129] = '\0';
    assert_string_equal(output, output + 65);
    assert_int_equal(run("hal-trace strip -f --reads-only -o t.pb.zst s.pb.zst && "
                         "hal-trace extract --content=1 t.pb.zst"),
                     0);
    says("SECRET-WRITTEN-BY-HOST");
}

/* When that is asked for; else they stay. */
TEST(stripped_kernels_are_nowhere)
{
    struct trace_builder b;
    const struct trace_entry_point point = {.group_size = {1, 1, 1}};
    builder_open(&b, file("x.pb.zst"), NULL);
    builder_executable_create(&b, 1, "k", "SECRET-OF-A-KERNEL", &point, 1);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    assert_int_equal(run("hal-trace strip -f -o t.pb.zst x.pb.zst && hal-trace verify t.pb.zst && "
                         "hal-trace extract --content=1 t.pb.zst"),
                     0);
    says("SECRET-OF-A-KERNEL");
    assert_int_equal(
        run("hal-trace strip -f --executables -o t.pb.zst x.pb.zst >made && "
            "hal-trace verify t.pb.zst >verified && "
            "zstd -dcq t.pb.zst | grep -c SECRET; grep -c SECRET t.pb.zst; "
            "hal-trace dump --kind=executable_create t.pb.zst | grep -c 'label=\"k\"'"),
        0);
    assert_string_equal(output, "0\n0\n1\n");
}

static void write_process(const char *name, int64_t start_ns, int64_t wall_ns, int64_t first_ns,
                          uint64_t process)
{
    struct trace_builder b;
    struct trace_header header = builder_default_header();
    header.start_ns = start_ns;
    header.start_wall_ns = wall_ns;
    header.process_id = process;
    header.program = process == 1 ? "/bin/one" : "/bin/two";
    builder_open(&b, file(name), &header);
    b.begin_ns = first_ns;
    builder_buffer_create(&b, 3, "b", 64);
    builder_semaphore_create(&b, 5, "s", 0);
    b.begin_ns = first_ns + 1000000;
    b.operation.affinity = 3;
    builder_submit(&b, 0, 0, NO_VALUES, VALUES({5, 1}), NO_IDS);
    builder_submission_done(&b, 0, 0, b.begin_ns, b.begin_ns + 10, b.begin_ns + 20);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

TEST(merged_traces_share_a_clock)
{
    /* The second began half a millisecond after the first, on another clock. */
    write_process("one.pb.zst", 1000000000, 5000000000000, 1000000000, 1);
    write_process("two.pb.zst", 7000000000, 5000000500000, 7000000000, 2);
    assert_int_equal(run("hal-trace merge -f -o m.pb.zst one.pb.zst two.pb.zst && "
                         "hal-trace verify m.pb.zst && hal-trace dump m.pb.zst"),
                     0);
    const char *expected[] = {
        "@0.000000ms #1 one[1] main: buffer_create buffer=3",
        "@0.000200ms #2 one[1] main: semaphore_create semaphore=5",
        "@0.500000ms #3 two[2] main: buffer_create buffer=8",
        "@0.500200ms #4 two[2] main: semaphore_create semaphore=10",
        "@1.000000ms #5 one[1] main: submit submission=0 queue=0 affinity=3 ",
        "@1.500000ms #6 two[2] main: submit submission=1 queue=2 affinity=12 ",
        "signals=[{semaphore=10 's' value=1}]",
        "submission_done submission=1",
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        says(expected[i]);
    assert_int_equal(run("hal-trace merge -f -o m3.pb.zst m.pb.zst one.pb.zst && "
                         "hal-trace strip -f -o m4.pb.zst m3.pb.zst && "
                         "hal-trace info m4.pb.zst && hal-trace info --json m4.pb.zst"),
                     0);
    says("/bin/one 1 on testhost, cpu?threads=2&queues=2: queues from 0, submissions from #s0\n");
    says("/bin/two 2 on testhost, cpu?threads=2&queues=2: queues from 2, submissions from #s1\n");
    says("/bin/one 1 on testhost, cpu?threads=2&queues=2: queues from 4, submissions from #s2\n");
    says("\"queue_base\":4,\"thread_base\":4,\"object_base\":10,\"submission_base\":2");
    assert_int_equal(
        run("hal-trace merge -f --clock=monotonic -o m.pb.zst one.pb.zst two.pb.zst && "
            "hal-trace dump m.pb.zst"),
        0);
    says("@6000.000000ms #4 two[2] main: buffer_create buffer=8");
}

/* Groups of ranks that a trace of the process with that number names; `rank` tells them apart. */
static void write_groups(const char *name, struct trace_header header, uint64_t process,
                         uint32_t rank, const uint64_t *groups, uint32_t count)
{
    struct trace_builder b;
    header.process_id = process;
    header.program = process == 1 ? "/bin/one" : "/bin/two";
    builder_open(&b, file(name), &header);
    for (uint32_t i = 0; i < count; i++) {
        struct trace_channel_create record = {.head = {.kind = TRACE_CHANNEL_CREATE,
                                                       .bytes = sizeof record,
                                                       .ticket = i + 1,
                                                       .thread = 1,
                                                       .begin_ns = 1000 + i,
                                                       .end_ns = 1000 + i},
                                              .channel = i + 1,
                                              .group = groups[i],
                                              .rank = rank + i,
                                              .count = 100};
        builder_record(&b, &record.head);
    }
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

/* "rank=group" of all channels, by rank. */
static void has_groups(const char *merge, const char *expected)
{
    char command[512];
    snprintf(command, sizeof command,
             "hal-trace merge -f -o %s >/dev/null && hal-trace verify %.6s.pb.zst >/dev/null && "
             "hal-trace dump --kind=channel_create %.6s.pb.zst | "
             "sed -E 's/.*group=([0-9]+) rank=([0-9]+).*/\\2=\\1/' | sort -n | tr '\\n' ' '",
             merge, merge, merge);
    assert_int_equal(run(command), 0);
    assert_string_equal(output, expected);
}

TEST(groups_of_a_process_stay_together_in_merges_of_merges)
{
    const struct trace_header header = builder_default_header();
    struct trace_header mixed = header;
    const struct trace_capture captures[] = {
        {.program = "/bin/one", .host = header.host, .process_id = 1},
        {.program = "/bin/two", .host = header.host, .process_id = 2}};
    mixed.captures = captures; /* of a version that told no bases */
    mixed.capture_count = 2;
    write_groups("a.pb.zst", header, 1, 10, (uint64_t[]){1, 2}, 2);
    write_groups("b.pb.zst", header, 2, 20, (uint64_t[]){1, 2, 3}, 3);
    write_groups("c.pb.zst", header, 1, 30, (uint64_t[]){2, 3}, 2);
    write_groups("d.pb.zst", header, 2, 40, (uint64_t[]){3, 4}, 2);
    write_groups("e.pb.zst", header, 3, 50, NULL, 0);
    write_groups("f.pb.zst", mixed, 1, 60, (uint64_t[]){1, 2}, 2);
    has_groups("merge1.pb.zst a.pb.zst b.pb.zst", "10=1 11=2 20=3 21=4 22=5 ");
    has_groups("merge2.pb.zst merge1.pb.zst c.pb.zst", "10=1 11=2 20=4 21=5 22=6 30=2 31=3 ");
    has_groups("merge3.pb.zst d.pb.zst merge2.pb.zst e.pb.zst",
               "10=5 11=6 20=1 21=2 22=3 30=6 31=7 40=3 41=4 ");
    has_groups("merge4.pb.zst merge1.pb.zst merge3.pb.zst",
               "10=1 10=1 11=2 11=2 20=4 20=4 21=5 21=5 22=6 22=6 30=2 31=3 40=6 41=7 ");
    /* The processes of `e` have none, and those of `f` cannot be told apart. */
    has_groups("merge5.pb.zst e.pb.zst a.pb.zst", "10=2 11=3 ");
    has_groups("merge6.pb.zst merge5.pb.zst c.pb.zst f.pb.zst a.pb.zst",
               "10=2 10=2 11=3 11=3 30=3 31=4 60=5 61=6 ");
}

TEST_SUITE_FIXTURE(make_folder, remove_folder);
