/* SPDX-License-Identifier: Apache-2.0 */
/* Three tables where each number has one place, which a later number takes over. */
#include "format/perfetto/kernels.h"

#include "hal/base/hash.h"
#include "hal/base/mem.h"

enum { PLACES_LOG2 = 16, PLACES = 1 << PLACES_LOG2, MOST_BYTES = 32 << 20 };

enum table {
    EXECUTABLES,     /* names of entry points */
    COMMAND_BUFFERS, /* what its dispatches run */
    SUBMISSIONS,     /* its command buffers */
    TABLES
};

struct trace_kernels_slot {
    uint64_t number;
    uint32_t count, capacity;
    void *data; /* NULL: free */
};

static struct trace_kernels_slot *place_of(const struct trace_kernels *kernels, enum table table,
                                           uint64_t number)
{
    const uint64_t mixed = hal_hash_u64(number) >> (64 - PLACES_LOG2);
    return &kernels->slots[(size_t)table * PLACES + mixed];
}

static const struct trace_kernels_slot *find(const struct trace_kernels *kernels, enum table table,
                                             uint64_t number)
{
    const struct trace_kernels_slot *slot = place_of(kernels, table, number);
    return slot->data && slot->number == number ? slot : NULL;
}

static size_t element_bytes(const struct trace_kernels *kernels,
                            const struct trace_kernels_slot *slot)
{
    static const size_t bytes[TABLES] = {sizeof(uint32_t), sizeof(struct trace_kernel),
                                         sizeof(uint64_t)};
    return bytes[(slot - kernels->slots) / PLACES];
}

static void forget(struct trace_kernels *kernels, struct trace_kernels_slot *slot)
{
    kernels->bytes -= slot->capacity * element_bytes(kernels, slot);
    free(slot->data);
    *slot = (struct trace_kernels_slot){0};
}

/* Room for `capacity` elements of that number. NULL: there is none, or no memory. */
static struct trace_kernels_slot *take(struct trace_kernels *kernels, enum table table,
                                       uint64_t number, uint32_t capacity)
{
    struct trace_kernels_slot *slot = place_of(kernels, table, number);
    const size_t bytes = capacity * element_bytes(kernels, slot);
    forget(kernels, slot);
    if (!capacity || bytes > MOST_BYTES)
        return NULL;
    while (kernels->bytes + bytes > MOST_BYTES) {
        forget(kernels, &kernels->slots[kernels->hand]);
        kernels->hand = (kernels->hand + 1) % (TABLES * PLACES);
    }
    slot->data = hal_alloc(capacity, element_bytes(kernels, slot));
    if (!slot->data)
        return NULL;
    slot->number = number;
    slot->capacity = capacity;
    kernels->bytes += bytes;
    return slot;
}

void trace_kernels_init(struct trace_kernels *kernels)
{
    *kernels =
        (struct trace_kernels){.slots = hal_alloc((size_t)TABLES * PLACES, sizeof *kernels->slots)};
}

void trace_kernels_finish(struct trace_kernels *kernels)
{
    for (size_t i = 0; kernels->slots && i < (size_t)TABLES * PLACES; i++)
        free(kernels->slots[i].data);
    free(kernels->slots);
    *kernels = (struct trace_kernels){0};
}

static void take_executable(struct trace_kernels *kernels,
                            const struct trace_executable_create *create)
{
    struct trace_kernels_slot *slot =
        take(kernels, EXECUTABLES, create->executable, create->entry_point_count);
    uint32_t *names = slot ? slot->data : NULL;
    for (uint32_t i = 0; slot && i < create->entry_point_count; i++)
        names[slot->count++] = create->entry_points[i].name;
}

static void take_submission(struct trace_kernels *kernels, const struct trace_submit *submit)
{
    const uint64_t *buffers =
        (const void *)(submit->values + submit->wait_count + submit->signal_count);
    struct trace_kernels_slot *slot =
        take(kernels, SUBMISSIONS, submit->submission, submit->command_buffer_count);
    if (!slot)
        return;
    memcpy(slot->data, buffers, submit->command_buffer_count * sizeof *buffers);
    slot->count = submit->command_buffer_count;
}

void trace_kernels_event(struct trace_kernels *kernels, const struct trace_event *event)
{
    const void *record = event;
    const struct trace_command_buffer_seal *seal = record;
    if (!kernels->slots || event->status)
        return;
    if (event->kind == TRACE_EXECUTABLE_CREATE)
        take_executable(kernels, record);
    else if (event->kind == TRACE_COMMAND_BUFFER_SEAL)
        take(kernels, COMMAND_BUFFERS, seal->command_buffer, seal->dispatch_count);
    else if (event->kind == TRACE_SUBMIT)
        take_submission(kernels, record);
}

void trace_kernels_segment(struct trace_kernels *kernels, uint64_t command_buffer,
                           const struct trace_segment *segment)
{
    struct trace_kernel kernel = {0};
    if (!kernels->slots || !trace_is_dispatch(segment->kind))
        return;
    struct trace_kernels_slot *slot = place_of(kernels, COMMAND_BUFFERS, command_buffer);
    if (!slot->data || slot->number != command_buffer || slot->count == slot->capacity)
        return;
    const struct trace_dispatched run = trace_dispatched(segment);
    const struct trace_kernels_slot *executable = find(kernels, EXECUTABLES, run.executable);
    if (executable && run.entry < executable->count)
        kernel.name = ((const uint32_t *)executable->data)[run.entry];
    if (segment->kind == TRACE_DISPATCH)
        memcpy(kernel.groups, TRACE_AS(trace_dispatch, segment)->workgroup_count,
               sizeof kernel.groups);
    ((struct trace_kernel *)slot->data)[slot->count++] = kernel;
}

bool trace_kernels_find(const struct trace_kernels *kernels, uint64_t submission,
                        const struct trace_dispatch_time *time, struct trace_kernel *out)
{
    if (!kernels->slots)
        return false;
    const struct trace_kernels_slot *submitted = find(kernels, SUBMISSIONS, submission);
    if (!submitted || time->command_buffer >= submitted->count)
        return false;
    const uint64_t id = ((const uint64_t *)submitted->data)[time->command_buffer];
    const struct trace_kernels_slot *commands = find(kernels, COMMAND_BUFFERS, id);
    if (!commands || time->dispatch >= commands->count)
        return false;
    *out = ((const struct trace_kernel *)commands->data)[time->dispatch];
    return out->name != 0;
}
