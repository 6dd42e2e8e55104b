/* SPDX-License-Identifier: Apache-2.0 */
/* What attack.py captures: programs without races that a seed decides, whose every result the host
 * computes as well; one that goes on until it is killed; one with many contents; one with a kernel
 * of a fixed length, to be exchanged in its trace.
 *
 *     attack-program random SEED MEMORY [STORE]   MEMORY: any, small, large, import
 *     attack-program steady COUNT         prints the number of each step that was waited for
 *     attack-program writes COUNT
 *     attack-program probe
 *     attack-program wrong KERNEL         prints a wrong source of the kernel
 *
 * `random` prints a checksum of all that is read back, and "visible: " and the kernels that, if
 * they were wrong, would change it. The host's store number STORE is another one than without. Exit
 * status: 0, 3 the device's results are wrong, 9 a call failed. */
#include "hal/hal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != HAL_OK) {                                                                    \
            fprintf(stderr, "%d: %s: %s\n", __LINE__, #call, hal_message());                       \
            exit(9);                                                                               \
        }                                                                                          \
    } while (0)

enum {
    KERNELS = 4,
    VERSIONS = KERNELS + 1,
    BUFFERS = 6,
    SLOTS = 4,
    WORDS = 1024,
    OPS = 60,
    ALL = 8
};

static uint64_t random_state;

static uint32_t below(uint32_t limit)
{
    uint64_t x = random_state += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return (uint32_t)((x ^ (x >> 31)) % limit);
}

/* ---- Kernels, on the device and here -------------------------------------------------------- */

static const struct kernel {
    const char *name, *result, *where; /* a[where] becomes `result` */
    bool updates;                      /* reads what it writes */
} kernels[KERNELS] = {
    {"add", "a[c.x + i] + c.z", "c.x + i", true},
    {"mix", "a[c.x + i] * 1664525u + b[c.w + i] + c.z", "c.x + i", true},
    {"turn", "((b[c.w + i] << 7) | (b[c.w + i] >> 25)) ^ c.z", "c.x + i", false},
    {"flip", "b[c.w + c.y - 1 - i] * 3u + c.z", "c.x + i", false},
};

static uint32_t compute(size_t kernel, uint32_t a, const uint32_t *b, uint32_t i, uint32_t count,
                        uint32_t x)
{
    switch (kernel) {
    case 0: return a + x;
    case 1: return a * 1664525u + b[i] + x;
    case 2: return ((b[i] << 7) | (b[i] >> 25)) ^ x;
    default: return b[count - 1 - i] * 3u + x;
    }
}

static void write_source(char *out, size_t bytes, const struct kernel *kernel, const char *more)
{
    snprintf(out, bytes,
             "#include <metal_stdlib>\nusing namespace metal;\nkernel void %s(device uint *a "
             "[[buffer(0)]], const device uint *b [[buffer(1)]], constant uint4 &c [[buffer(2)]], "
             "uint i [[thread_position_in_grid]]) { if (i < c.y) a[%s] = %s%s; }\n",
             kernel->name, kernel->where, kernel->result, more);
}

static struct hal_executable *make_kernel(struct hal_device *device, const char *name,
                                          const char *source, uint32_t constant_bytes)
{
    struct hal_executable *executable;
    const struct hal_entry_point entry = {.name = name,
                                          .workgroup_size = {32, 1, 1},
                                          .constant_bytes = constant_bytes,
                                          .constants_slot = 2};
    OK(hal_executable_create(device,
                             &(struct hal_executable_desc){.label = name,
                                                           .format = HAL_FORMAT_MSL,
                                                           .data = source,
                                                           .bytes = strlen(source),
                                                           .entry_points = &entry,
                                                           .entry_point_count = 1},
                             &executable));
    return executable;
}

/* ---- Random programs ------------------------------------------------------------------------- */

enum kind { PLAIN, EXPORTED, IMPORTED, MAPPED };

/* A part of a buffer: who used it last, and what is in it; [k + 1]: if kernel k were wrong. */
struct slot {
    int writer, readers[ALL]; /* ops; -1: none */
    size_t reader_count;
    uint32_t words[VERSIONS][WORDS];
};

struct buffer {
    struct hal_buffer *handle;
    enum kind kind;
    uint32_t slot_words, slot_count;
    uint32_t *host; /* NULL: the host maps it when it needs it */
    struct hal_mapping mapping;
    struct slot slots[SLOTS];
};

struct place {
    struct buffer *buffer;
    struct slot *slot;
    uint32_t first; /* word */
};

struct op {
    struct hal_semaphore *done;
    struct hal_semaphore_value waits[2 * ALL + 2];
    size_t wait_count;
    struct place to, from;
    uint32_t what, count, x; /* a kernel, or those below */
    bool whole;              /* binds all of the buffer */
    uint8_t data[64];
};
enum { FILL = KERNELS, COPY, UPDATE, PAIR, KINDS };

struct program {
    struct hal_device *device;
    struct hal_executable *executables[KERNELS];
    struct buffer buffers[BUFFERS];
    struct op ops[OPS];
    size_t op_count, submitted;
    bool visible[KERNELS];
    uint32_t queues;
    long other_store, stores;
    uint32_t checksum;
};

static void release_host(void *user, void *pointer)
{
    (void)user;
    free(pointer);
}

static void make_buffer(struct program *p, struct buffer *buffer, const char *memory)
{
    const bool small = strcmp(memory, "small") == 0;
    buffer->kind = strcmp(memory, "any") == 0      ? (enum kind)below(4)
                   : strcmp(memory, "import") == 0 ? IMPORTED
                   : below(4) == 0                 ? MAPPED
                                                   : EXPORTED;
    buffer->slot_count = 1 + below(SLOTS);
    buffer->slot_words = 16 * (1 + below(small ? 8 : WORDS / 16));
    const struct hal_buffer_desc desc = {
        .label = "data", .bytes = (uint64_t)buffer->slot_count * buffer->slot_words * 4};
    if (buffer->kind == IMPORTED) {
        buffer->host = aligned_alloc(4096, (desc.bytes + 4095) / 4096 * 4096);
        OK(hal_buffer_import(p->device, &desc, buffer->host, release_host, NULL, &buffer->handle));
    } else {
        OK(hal_buffer_create(p->device, &desc, &buffer->handle));
    }
    if (buffer->kind == EXPORTED)
        OK(hal_buffer_export(buffer->handle, (void **)&buffer->host));
    if (buffer->kind == MAPPED) {
        OK(hal_buffer_map(buffer->handle, HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 0,
                          HAL_WHOLE_BUFFER, &buffer->mapping));
        buffer->host = buffer->mapping.data;
    }
    uint32_t *words = calloc(1, desc.bytes);
    for (uint32_t i = 0; i < desc.bytes / 4; i++)
        words[i] = below(UINT32_MAX);
    if (buffer->host)
        memcpy(buffer->host, words, desc.bytes);
    else
        OK(hal_buffer_write(buffer->handle, 0, words, desc.bytes));
    for (uint32_t s = 0; s < buffer->slot_count; s++) {
        buffer->slots[s].writer = -1;
        for (size_t v = 0; v < VERSIONS; v++)
            memcpy(buffer->slots[s].words[v], words + s * buffer->slot_words,
                   buffer->slot_words * 4);
    }
    free(words);
}

static struct place pick(struct program *p)
{
    struct buffer *buffer = &p->buffers[below(BUFFERS)];
    const uint32_t slot = below(buffer->slot_count);
    return (struct place){buffer, &buffer->slots[slot], slot * buffer->slot_words};
}

static void wait_for(struct program *p, struct op *op, int other)
{
    if (other >= 0)
        op->waits[op->wait_count++] = (struct hal_semaphore_value){p->ops[other].done, 1};
}

static void order_after(struct program *p, struct op *op, struct slot *slot, bool writes)
{
    const int self = (int)(op - p->ops);
    wait_for(p, op, slot->writer);
    for (size_t i = 0; i < slot->reader_count && writes; i++)
        wait_for(p, op, slot->readers[i]);
    if (writes) {
        slot->writer = self;
        slot->reader_count = 0;
    } else {
        slot->readers[slot->reader_count++] = self;
    }
}

/* What the op does, in all versions. */
static void model(struct op *op)
{
    for (size_t v = 0; v < VERSIONS; v++) {
        uint32_t *a = op->to.slot->words[v];
        const uint32_t *b = op->from.slot->words[v];
        const uint32_t kernel = op->what == PAIR ? 0 : op->what;
        for (uint32_t i = 0; i < op->count && kernel < KERNELS; i++)
            a[i] = compute(kernel, a[i], b, i, op->count, op->x) + (v == kernel + 1 ? 12345 : 0);
        for (uint32_t i = 0; i < op->count && op->what == PAIR; i++)
            a[i] = compute(1, a[i], b, i, op->count, op->x) + (v == 2 ? 12345 : 0);
        if (op->what == FILL)
            for (uint32_t i = 0; i < op->count; i++)
                a[i] = op->x;
        else if (op->what == COPY)
            memcpy(a, b, (size_t)op->count * 4);
        else if (op->what == UPDATE)
            memcpy(a, op->data, sizeof op->data);
    }
}

static void plan(struct program *p)
{
    struct op *op = &p->ops[p->op_count];
    do {
        op->to = pick(p);
        op->from = pick(p);
    } while (op->to.slot == op->from.slot || op->from.slot->reader_count == ALL);
    op->what = below(KINDS);
    op->x = below(UINT32_MAX);
    op->whole = below(2);
    op->count = op->to.buffer->slot_words < op->from.buffer->slot_words
                    ? op->to.buffer->slot_words
                    : op->from.buffer->slot_words;
    if (below(3) == 0)
        op->count = 1 + below(op->count);
    for (size_t i = 0; i < sizeof op->data; i++)
        op->data[i] = (uint8_t)below(256);
    OK(hal_semaphore_create(p->device, "done", 0, &op->done));
    order_after(p, op, op->from.slot, false);
    order_after(p, op, op->to.slot, true);
    model(op);
    p->op_count++;
}

/* A binding of one place: its buffer, or the part that it is, where that begins well. */
static struct hal_binding bind(const struct op *op, const struct place *place, uint32_t *first)
{
    const bool whole = op->whole || place->first % 64;
    *first = whole ? place->first : 0;
    return (struct hal_binding){place->buffer->handle, whole ? 0 : (uint64_t)place->first * 4,
                                whole ? HAL_WHOLE_BUFFER : (uint64_t)place->buffer->slot_words * 4};
}

static void submit_kernels(struct program *p, const struct op *op,
                           const struct hal_submit_desc *desc)
{
    uint32_t c[4] = {0, op->count, op->x, 0};
    struct hal_binding bindings[2];
    const uint32_t groups[3] = {(op->count + 31) / 32, 1, 1};
    bindings[0] = bind(op, &op->to, &c[0]);
    bindings[1] = bind(op, &op->from, &c[3]);
    if (op->what != PAIR) {
        OK(hal_queue_dispatch(p->device, desc,
                              &(struct hal_dispatch_desc){.executable = p->executables[op->what],
                                                          .workgroup_count = {groups[0], 1, 1},
                                                          .bindings = bindings,
                                                          .binding_count = 2,
                                                          .constants = c,
                                                          .constant_bytes = sizeof c}));
        return;
    }
    struct hal_command_buffer *commands;
    struct hal_submit_desc with = *desc;
    OK(hal_command_buffer_create(
        p->device, &(struct hal_command_buffer_desc){.label = "pair", .mode = HAL_ONE_SHOT},
        &commands));
    OK(hal_command_push_descriptor_set(commands, 0, bindings, 2));
    OK(hal_command_push_constants(commands, 0, c, sizeof c));
    OK(hal_command_dispatch(commands, p->executables[0], 0, groups));
    OK(hal_command_barrier(commands, NULL));
    OK(hal_command_dispatch(commands, p->executables[1], 0, groups));
    OK(hal_command_buffer_end(commands));
    with.commands = &commands;
    with.command_count = 1;
    OK(hal_queue_submit(p->device, &with));
    hal_command_buffer_release(commands);
}

static void submit(struct program *p, const struct op *op)
{
    const struct hal_semaphore_value signal = {op->done, 1};
    const struct hal_submit_desc desc = {.queues = UINT64_C(1) << below(p->queues),
                                         .waits = op->waits,
                                         .wait_count = op->wait_count,
                                         .signals = &signal,
                                         .signal_count = 1};
    const uint64_t to = (uint64_t)op->to.first * 4, from = (uint64_t)op->from.first * 4;
    if (op->what == FILL)
        OK(hal_queue_fill(p->device, &desc, op->to.buffer->handle, to, (uint64_t)op->count * 4,
                          op->x, 4));
    else if (op->what == COPY)
        OK(hal_queue_copy(p->device, &desc, op->from.buffer->handle, from, op->to.buffer->handle,
                          to, (uint64_t)op->count * 4));
    else if (op->what == UPDATE)
        OK(hal_queue_update(p->device, &desc, op->data, op->to.buffer->handle, to,
                            sizeof op->data));
    else
        submit_kernels(p, op, &desc);
}

/* What was planned, sometimes in another order: waits come before their signals. */
static void submit_planned(struct program *p)
{
    struct op *order[OPS];
    const size_t count = p->op_count - p->submitted;
    for (size_t i = 0; i < count; i++)
        order[i] = &p->ops[p->submitted + i];
    for (size_t i = count; i > 1 && below(2); i--) {
        const size_t k = below((uint32_t)i);
        struct op *kept = order[i - 1];
        order[i - 1] = order[k];
        order[k] = kept;
    }
    for (size_t i = 0; i < count; i++)
        submit(p, order[i]);
    p->submitted = p->op_count;
}

static void await(struct program *p, int op)
{
    if (op >= 0)
        OK(hal_semaphore_wait(p->ops[op].done, 1, HAL_FOREVER));
}

static void await_slot(struct program *p, const struct slot *slot)
{
    await(p, slot->writer);
    for (size_t i = 0; i < slot->reader_count; i++)
        await(p, slot->readers[i]);
}

/* The HAL's own reads and writes are scoped mappings: nothing that is bound there may run. */
static void await_buffer(struct program *p, const struct buffer *buffer)
{
    for (uint32_t s = 0; s < buffer->slot_count; s++)
        await_slot(p, &buffer->slots[s]);
}

static void read_back(struct program *p, struct place place)
{
    uint32_t seen[WORDS];
    const size_t bytes = (size_t)place.buffer->slot_words * 4;
    await_buffer(p, place.buffer);
    OK(hal_buffer_read(place.buffer->handle, (uint64_t)place.first * 4, seen, bytes));
    if (memcmp(seen, place.slot->words[0], bytes) != 0) {
        printf("wrong results\n");
        exit(3);
    }
    for (size_t i = 0; i < bytes / sizeof *seen; i++)
        p->checksum = p->checksum * 1664525u + seen[i];
    for (size_t k = 0; k < KERNELS; k++)
        p->visible[k] |= memcmp(seen, place.slot->words[k + 1], bytes) != 0;
}

/* The host writes some words, while the device may work on other slots. */
static void host_write(struct program *p, struct place place)
{
    const uint32_t count = 1 + below(place.buffer->slot_words);
    const uint32_t x = below(UINT32_MAX) ^ (p->stores++ == p->other_store ? 0x10000 : 0);
    uint32_t words[WORDS];
    for (uint32_t i = 0; i < count; i++)
        words[i] = x + i;
    if (place.buffer->host) {
        await_slot(p, place.slot);
        memcpy(place.buffer->host + place.first, words, (size_t)count * 4);
    } else {
        await_buffer(p, place.buffer);
        OK(hal_buffer_write(place.buffer->handle, (uint64_t)place.first * 4, words,
                            (size_t)count * 4));
    }
    for (size_t v = 0; v < VERSIONS; v++)
        memcpy(place.slot->words[v], words, (size_t)count * 4);
}

static int run_random(struct hal_device *device, uint64_t seed, const char *memory,
                      long other_store)
{
    static struct program program;
    struct program *p = &program;
    random_state = seed;
    p->device = device;
    p->other_store = other_store;
    p->queues = hal_device_get_info(device)->queue_count;
    for (size_t k = 0; k < KERNELS; k++) {
        char source[1024];
        write_source(source, sizeof source, &kernels[k], "");
        p->executables[k] = make_kernel(device, kernels[k].name, source, 16);
    }
    for (size_t i = 0; i < BUFFERS; i++)
        make_buffer(p, &p->buffers[i], memory);
    const uint32_t most = below(2) ? OPS : 1 + below(6); /* little happens after a mistake */
    while (p->op_count < most) {
        for (uint32_t i = 1 + below(6); i > 0 && p->op_count < most; i--)
            plan(p);
        submit_planned(p);
        if (below(3) == 0)
            usleep(below(3000)); /* work ends, and the host does not look */
        for (uint32_t i = below(3); i > 0; i--)
            host_write(p, pick(p));
        if (below(4) == 0)
            read_back(p, pick(p));
    }
    for (size_t i = 0; i < BUFFERS; i++) {
        for (uint32_t s = 0; s < p->buffers[i].slot_count; s++)
            read_back(p, (struct place){&p->buffers[i], &p->buffers[i].slots[s],
                                        s * p->buffers[i].slot_words});
    }
    printf("checksum: %08" PRIx32 "\nvisible:", p->checksum);
    for (size_t k = 0; k < KERNELS; k++)
        printf("%s%s", p->visible[k] ? " " : "", p->visible[k] ? kernels[k].name : "");
    printf("\n");
    OK(hal_device_wait_idle(device, HAL_FOREVER));
    for (size_t i = 0; i < p->op_count; i++)
        hal_semaphore_release(p->ops[i].done);
    for (size_t i = 0; i < BUFFERS; i++) {
        if (p->buffers[i].mapping.buffer)
            OK(hal_buffer_unmap(&p->buffers[i].mapping));
        hal_buffer_release(p->buffers[i].handle);
    }
    for (size_t k = 0; k < KERNELS; k++)
        hal_executable_release(p->executables[k]);
    return 0;
}

/* ---- The others ------------------------------------------------------------------------------ */

/* Steps one after the other; each is on standard output when the host has seen its end. */
static int run_steady(struct hal_device *device, uint64_t count)
{
    char source[1024], line[32];
    struct hal_buffer *buffer;
    struct hal_semaphore *done;
    write_source(source, sizeof source, &kernels[0], "");
    struct hal_executable *executable = make_kernel(device, "add", source, 16);
    OK(hal_buffer_create(device, &(struct hal_buffer_desc){.label = "data", .bytes = 65536},
                         &buffer));
    OK(hal_semaphore_create(device, "done", 0, &done));
    const struct hal_binding bindings[2] = {{buffer, 0, 32768}, {buffer, 32768, 32768}};
    for (uint64_t i = 1; i <= count; i++) {
        const uint32_t c[4] = {0, 8192, (uint32_t)i, 0};
        const struct hal_semaphore_value signal = {done, i};
        uint32_t seen;
        OK(hal_queue_dispatch(device,
                              &(struct hal_submit_desc){.signals = &signal, .signal_count = 1},
                              &(struct hal_dispatch_desc){.executable = executable,
                                                          .workgroup_count = {256, 1, 1},
                                                          .bindings = bindings,
                                                          .binding_count = 2,
                                                          .constants = c,
                                                          .constant_bytes = sizeof c}));
        OK(hal_semaphore_wait(done, i, HAL_FOREVER));
        OK(hal_buffer_read(buffer, 0, &seen, sizeof seen));
        const int bytes = snprintf(line, sizeof line, "%" PRIu64 "\n", i);
        if (write(STDOUT_FILENO, line, (size_t)bytes) != bytes)
            return 9;
    }
    hal_semaphore_release(done);
    hal_buffer_release(buffer);
    hal_executable_release(executable);
    return 0;
}

/* As many small contents. */
static int run_writes(struct hal_device *device, uint64_t count)
{
    struct hal_buffer *buffer;
    OK(hal_buffer_create(device, &(struct hal_buffer_desc){.label = "data", .bytes = 4}, &buffer));
    for (uint32_t i = 0; i < count; i++)
        OK(hal_buffer_write(buffer, 0, &i, sizeof i));
    hal_buffer_release(buffer);
    return 0;
}

enum { PROBE_BYTES = 8192 };

static int run_probe(struct hal_device *device)
{
    static const char code[] = "#include <metal_stdlib>\nusing namespace metal;\nkernel void "
                               "probe(device uint *a [[buffer(0)]], uint i "
                               "[[thread_position_in_grid]]) { a[i] = i + 1; }\n//";
    char source[PROBE_BYTES + 1];
    uint32_t seen[32];
    struct hal_buffer *buffer;
    struct hal_semaphore *done;
    memset(source, '.', sizeof source); /* a comment, so that there is room */
    memcpy(source, code, sizeof code - 1);
    source[PROBE_BYTES - 1] = '\n';
    source[PROBE_BYTES] = '\0';
    struct hal_executable *executable = make_kernel(device, "probe", source, 0);
    OK(hal_buffer_create(device, &(struct hal_buffer_desc){.label = "data", .bytes = sizeof seen},
                         &buffer));
    OK(hal_semaphore_create(device, "done", 0, &done));
    const struct hal_binding binding = {buffer, 0, HAL_WHOLE_BUFFER};
    const struct hal_semaphore_value signal = {done, 1};
    OK(hal_queue_dispatch(device, &(struct hal_submit_desc){.signals = &signal, .signal_count = 1},
                          &(struct hal_dispatch_desc){.executable = executable,
                                                      .workgroup_count = {1, 1, 1},
                                                      .bindings = &binding,
                                                      .binding_count = 1}));
    OK(hal_semaphore_wait(done, 1, HAL_FOREVER));
    OK(hal_buffer_read(buffer, 0, seen, sizeof seen));
    hal_semaphore_release(done);
    hal_buffer_release(buffer);
    hal_executable_release(executable);
    return 0;
}

static int print_wrong(const char *name)
{
    for (size_t k = 0; k < KERNELS; k++) {
        char source[1024];
        if (strcmp(kernels[k].name, name) != 0)
            continue;
        write_source(source, sizeof source, &kernels[k], " + 12345u");
        return fputs(source, stdout) < 0 ? 9 : 0;
    }
    return 2;
}

int main(int argc, char **argv)
{
    struct hal_device *device;
    OK(hal_flags_parse(&argc, argv));
    const char *what = argc > 1 ? argv[1] : "";
    const char *argument = argc > 2 ? argv[2] : "0";
    int status = 2;
    if (strcmp(what, "wrong") == 0)
        return print_wrong(argument);
    OK(hal_device_open(NULL, &device));
    if (strcmp(what, "random") == 0)
        status = run_random(device, strtoull(argument, NULL, 0), argc > 3 ? argv[3] : "any",
                            argc > 4 ? atol(argv[4]) : -1);
    else if (strcmp(what, "steady") == 0)
        status = run_steady(device, strtoull(argument, NULL, 0));
    else if (strcmp(what, "writes") == 0)
        status = run_writes(device, strtoull(argument, NULL, 0));
    else if (strcmp(what, "probe") == 0)
        status = run_probe(device);
    hal_device_release(device);
    return status;
}
