/* SPDX-License-Identifier: Apache-2.0 */
/* A random program without races that works on mapped memory: `mapped_app MEMORY SEED [whole]`.
 * MEMORY: large, roomy or huge (most of it is not used), small (less than a page each) or imported.
 * Host and kernels share pages: every slot of 64 bytes has one owner at a time, and changes hands
 * only by semaphores. Slots are bound by range, or (whole) with all of their buffer. The result is
 * compared with the same computed here: exit status 1 if it is wrong. */
#include "hal/hal.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SLOT_WORDS = 16,
    SLOT_BYTES = 4 * SLOT_WORDS,
    BUFFERS = 2,
    MOST_SLOTS = 64,
    MOST_SUBMISSIONS = 48,
    QUEUES = 3,
    MOST_WAITS = 2 * MOST_SUBMISSIONS + 2,
};

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != HAL_OK) {                                                                    \
            fprintf(stderr, "%s: %s\n", #call, hal_message());                                     \
            exit(9);                                                                               \
        }                                                                                          \
    } while (0)

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void mix(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]],\n"
    "                uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    uint x = out[i];\n"
    "    for (int k = 0; k < 3000; k++) x = x * 1664525u + in[i] + 1013904223u;\n"
    "    out[i] = x;\n"
    "}\n";

static const char whole_source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void mix(device uint *in [[buffer(0)]], device uint *out [[buffer(1)]],\n"
    "                device const uint *at [[buffer(2)]], uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    uint x = out[at[1] + i];\n"
    "    for (int k = 0; k < 3000; k++) x = x * 1664525u + in[at[0] + i] + 1013904223u;\n"
    "    out[at[1] + i] = x;\n"
    "}\n";

static struct hal_device *device;
static struct hal_executable *executable;
static struct hal_buffer *buffers[BUFFERS];
static uint32_t *memory[BUFFERS];
static uint32_t slot_count;
static bool whole;

struct slot {
    int writer;       /* the last submission that writes it; -1: none */
    uint64_t readers; /* bits: submissions since then */
    uint32_t model[SLOT_WORDS];
};

struct submission {
    struct hal_semaphore *done;
    struct hal_semaphore *gate; /* the host or a later submission opens it; NULL: none */
    struct hal_buffer *at;
    uint64_t after; /* bits: what it waited for */
    bool observed, is_held;
    uint32_t from_buffer, from, to_buffer, to;
};

/* One thread: the slots that are its own. */
struct worker {
    uint64_t random;
    uint32_t first, count;
    struct slot slots[BUFFERS][MOST_SLOTS];
    struct submission submissions[MOST_SUBMISSIONS];
    int submission_count;
};

static uint32_t below(struct worker *w, uint32_t bound)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (uint32_t)((w->random >> 20) % bound);
}

static uint32_t *words_of(uint32_t buffer, uint32_t slot)
{
    return memory[buffer] + (size_t)slot * SLOT_WORDS;
}

/* ---- Who owns a slot ---- */

static bool all_observed(const struct worker *w, uint64_t submissions)
{
    for (int i = 0; i < w->submission_count; i++) {
        if (submissions >> i & 1 && !w->submissions[i].observed)
            return false;
    }
    return true;
}

static bool may_load(const struct worker *w, const struct slot *slot)
{
    return slot->writer < 0 || w->submissions[slot->writer].observed;
}

static bool may_store(const struct worker *w, const struct slot *slot)
{
    return may_load(w, slot) && all_observed(w, slot->readers);
}

static bool is_held(const struct worker *w, const struct slot *slot)
{
    for (int i = 0; i < w->submission_count; i++) {
        if (w->submissions[i].is_held && (slot->writer == i || slot->readers >> i & 1))
            return true;
    }
    return false;
}

static void store(struct worker *w, uint32_t buffer, uint32_t number)
{
    struct slot *slot = &w->slots[buffer][number];
    const uint32_t count = 1 + below(w, SLOT_WORDS);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = below(w, SLOT_WORDS);
        slot->model[at] = below(w, 4) ? below(w, 1u << 30) : 0;
        words_of(buffer, w->first + number)[at] = slot->model[at];
    }
}

/* ---- Work ---- */

static void compute(struct worker *w, const struct submission *s)
{
    const uint32_t *in = w->slots[s->from_buffer][s->from].model;
    uint32_t *out = w->slots[s->to_buffer][s->to].model;
    for (int i = 0; i < SLOT_WORDS; i++) {
        for (int k = 0; k < 3000; k++)
            out[i] = out[i] * 1664525u + in[i] + 1013904223u;
    }
}

static size_t wait_list(struct worker *w, uint64_t after, struct hal_semaphore_value *values)
{
    size_t count = 0;
    for (int i = 0; i < w->submission_count; i++) {
        if (after >> i & 1 && !w->submissions[i].observed)
            values[count++] = (struct hal_semaphore_value){w->submissions[i].done, 1};
    }
    return count;
}

static void bind(const struct worker *w, struct submission *s, struct hal_binding bindings[3])
{
    const uint32_t from = w->first + s->from, to = w->first + s->to;
    if (whole) {
        const uint32_t at[2] = {from * SLOT_WORDS, to * SLOT_WORDS};
        CHECK(hal_buffer_create(
            device, &(struct hal_buffer_desc){.label = "at", .bytes = sizeof at}, &s->at));
        CHECK(hal_buffer_write(s->at, 0, at, sizeof at));
        bindings[0] = (struct hal_binding){buffers[s->from_buffer], 0, HAL_WHOLE_BUFFER};
        bindings[1] = (struct hal_binding){buffers[s->to_buffer], 0, HAL_WHOLE_BUFFER};
        bindings[2] = (struct hal_binding){s->at, 0, HAL_WHOLE_BUFFER};
        return;
    }
    bindings[0] =
        (struct hal_binding){buffers[s->from_buffer], (uint64_t)from * SLOT_BYTES, SLOT_BYTES};
    bindings[1] =
        (struct hal_binding){buffers[s->to_buffer], (uint64_t)to * SLOT_BYTES, SLOT_BYTES};
}

static void dispatch(struct worker *w, struct submission *s, const struct hal_submit_desc *desc)
{
    struct hal_binding bindings[3];
    bind(w, s, bindings);
    CHECK(hal_queue_dispatch(device, desc,
                             &(struct hal_dispatch_desc){.executable = executable,
                                                         .workgroup_count = {1, 1, 1},
                                                         .bindings = bindings,
                                                         .binding_count = whole ? 3 : 2}));
}

/* `opens`: the submission whose gate this one opens; NULL: none. */
static struct submission *submit(struct worker *w, struct submission *opens, bool gated)
{
    struct hal_semaphore_value waits[MOST_WAITS], signals[2];
    struct submission *s = &w->submissions[w->submission_count];
    *s = (struct submission){.is_held = gated};
    struct slot *from, *to;
    int tries = 0;
    do {
        s->from_buffer = below(w, BUFFERS);
        s->to_buffer = below(w, BUFFERS);
        s->from = below(w, w->count);
        s->to = below(w, w->count);
        from = &w->slots[s->from_buffer][s->from];
        to = &w->slots[s->to_buffer][s->to];
        if (++tries > 200)
            return NULL;
        /* What a closed gate holds back may not hold back what opens it. */
    } while (from == to || is_held(w, from) || is_held(w, to) || (gated && !may_store(w, from)));
    const int number = w->submission_count;
    s->after = to->readers | (to->writer >= 0 ? 1ull << to->writer : 0) |
               (from->writer >= 0 ? 1ull << from->writer : 0);
    CHECK(hal_semaphore_create(device, "done", 0, &s->done));
    size_t wait_count = wait_list(w, s->after, waits), signal_count = 1;
    signals[0] = (struct hal_semaphore_value){s->done, 1};
    if (gated) {
        CHECK(hal_semaphore_create(device, "gate", 0, &s->gate));
        waits[wait_count++] = (struct hal_semaphore_value){s->gate, 1};
    }
    if (opens)
        signals[signal_count++] = (struct hal_semaphore_value){opens->gate, 1};
    const struct hal_submit_desc desc = {.queues = 1ull << below(w, QUEUES),
                                         .waits = waits,
                                         .wait_count = wait_count,
                                         .signals = signals,
                                         .signal_count = signal_count};
    dispatch(w, s, &desc);
    w->submission_count++;
    from->readers |= 1ull << number;
    to->readers = 0;
    to->writer = number;
    if (!gated)
        compute(w, s);
    return s;
}

/* The work that a submission's end shows the end of. */
static void observe(struct worker *w, int number)
{
    struct submission *s = &w->submissions[number];
    if (s->observed)
        return;
    s->observed = true;
    for (int i = 0; i < number; i++) {
        if (s->after >> i & 1)
            observe(w, i);
    }
}

static void wait_for(struct worker *w, int number)
{
    CHECK(hal_semaphore_wait(w->submissions[number].done, 1, HAL_FOREVER));
    observe(w, number);
}

static void store_somewhere(struct worker *w)
{
    const uint32_t buffer = below(w, BUFFERS), slot = below(w, w->count);
    if (may_store(w, &w->slots[buffer][slot]))
        store(w, buffer, slot);
}

/* Waits before what it waits for is there, so that the host may still write what it reads. */
static void submit_held(struct worker *w)
{
    struct submission *s = submit(w, NULL, true);
    if (!s)
        return;
    for (uint32_t i = below(w, 3); i > 0; i--)
        store_somewhere(w);
    if (below(w, 2))
        store(w, s->from_buffer, s->from);
    if (below(w, 2))
        usleep(below(w, 300));
    const bool by_work = below(w, 2) && submit(w, s, false);
    if (!by_work) {
        store(w, s->from_buffer, s->from);
        CHECK(hal_semaphore_signal(s->gate, 1));
    }
    s->is_held = false;
    compute(w, s);
}

static void check_slot(struct worker *w, uint32_t buffer, uint32_t number)
{
    const struct slot *slot = &w->slots[buffer][number];
    uint32_t words[SLOT_WORDS];
    CHECK(hal_buffer_read(buffers[buffer], (uint64_t)(w->first + number) * SLOT_BYTES, words,
                          sizeof words));
    if (memcmp(words, slot->model, sizeof words) != 0 ||
        memcmp(words_of(buffer, w->first + number), slot->model, sizeof words) != 0) {
        fprintf(stderr, "slot %u of buffer %u is wrong\n", w->first + number, buffer);
        exit(1);
    }
}

static void step(struct worker *w)
{
    const uint32_t buffer = below(w, BUFFERS), slot = below(w, w->count);
    switch (below(w, 9)) {
    case 0:
    case 1:
    case 2: store_somewhere(w); break;
    case 3:
    case 4: (void)submit(w, NULL, false); break;
    case 5: submit_held(w); break;
    case 6:
        if (w->submission_count)
            wait_for(w, (int)below(w, (uint32_t)w->submission_count));
        break;
    case 7: usleep(below(w, 1500)); break; /* the work ends, and nobody looks */
    default:
        if (may_load(w, &w->slots[buffer][slot]))
            check_slot(w, buffer, slot);
        break;
    }
}

static void *work(void *user)
{
    struct worker *w = user;
    for (uint32_t b = 0; b < BUFFERS; b++) {
        for (uint32_t i = 0; i < w->count; i++) {
            w->slots[b][i].writer = -1;
            memset(words_of(b, w->first + i), 7, SLOT_BYTES);
            memset(w->slots[b][i].model, 7, SLOT_BYTES);
        }
    }
    while (w->submission_count < MOST_SUBMISSIONS / 2)
        step(w);
    (void)submit(w, NULL, false); /* what it computes is read below */
    for (int i = 0; i < w->submission_count; i++)
        wait_for(w, i);
    for (uint32_t b = 0; b < BUFFERS; b++) {
        for (uint32_t i = 0; i < w->count; i++)
            check_slot(w, b, i);
    }
    for (int i = 0; i < w->submission_count; i++) {
        hal_semaphore_release(w->submissions[i].done);
        hal_semaphore_release(w->submissions[i].gate);
        hal_buffer_release(w->submissions[i].at);
    }
    return NULL;
}

static void keep(void *user, void *pointer)
{
    (void)user, (void)pointer;
}

static void make_buffers(const char *how)
{
    const uint64_t bytes = strcmp(how, "roomy") == 0  ? 256 << 10
                           : strcmp(how, "huge") == 0 ? 2 << 20
                                                      : (uint64_t)slot_count * SLOT_BYTES;
    for (int i = 0; i < BUFFERS; i++) {
        const struct hal_buffer_desc desc = {.label = i ? "second" : "first", .bytes = bytes};
        void *pointer;
        if (strcmp(how, "imported") == 0) {
            pointer = aligned_alloc(4096, 16384);
            memset(pointer, 0, 16384);
            CHECK(hal_buffer_import(device, &desc, pointer, keep, NULL, &buffers[i]));
        } else {
            CHECK(hal_buffer_create(device, &desc, &buffers[i]));
            CHECK(hal_buffer_export(buffers[i], &pointer));
        }
        memory[i] = pointer;
    }
}

static void make_executable(void)
{
    const struct hal_entry_point entry = {.name = "mix", .workgroup_size = {SLOT_WORDS, 1, 1}};
    const struct hal_executable_desc desc = {.label = "mix",
                                             .format = HAL_FORMAT_MSL,
                                             .data = whole ? whole_source : source,
                                             .bytes = whole ? sizeof whole_source - 1
                                                            : sizeof source - 1,
                                             .entry_points = &entry,
                                             .entry_point_count = 1};
    CHECK(hal_executable_create(device, &desc, &executable));
}

int main(int argc, char **argv)
{
    static struct worker workers[2];
    CHECK(hal_flags_parse(&argc, argv));
    if (argc < 3)
        return 2;
    const uint64_t seed = strtoull(argv[2], NULL, 10);
    const uint32_t threads = seed % 4 == 3 ? 2 : 1;
    whole = argc > 3;
    slot_count = strcmp(argv[1], "small") == 0 ? 24 : 96;
    CHECK(hal_device_open("cpu?queues=3", &device));
    make_executable();
    make_buffers(argv[1]);
    pthread_t other;
    for (uint32_t i = 0; i < threads; i++)
        workers[i] = (struct worker){.random = (seed + 1) * 0x9E3779B97F4A7C15u + i,
                                     .first = i * (slot_count / 2),
                                     .count = threads > 1 ? slot_count / 2 : slot_count};
    for (uint32_t i = 0; i < threads; i++)
        workers[i].count = workers[i].count > 12 ? 12 : workers[i].count; /* they meet often */
    if (threads > 1 && pthread_create(&other, NULL, work, &workers[1]) != 0)
        return 9;
    work(&workers[0]);
    if (threads > 1)
        pthread_join(other, NULL);
    for (int i = 0; i < BUFFERS; i++)
        hal_buffer_release(buffers[i]);
    hal_executable_release(executable);
    hal_device_release(device);
    return 0;
}
