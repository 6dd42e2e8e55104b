/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes executables as records: all variants in staging memory, and their reflection. */
#include "capture/encode/encode.h"
#include "capture/encode/reflect.h"
#include "hal/base/text.h"

#include "format/limits.h"
#include "hal/base/mem.h"

SAME_NUMBER(TRACE_MAX_VARIANTS, HAL_MAX_VARIANTS);
_Static_assert(sizeof(struct trace_constant) == sizeof(struct hal_constant), "constants");

/* All variants in staging memory. */
struct staged_variants {
    size_t taken; /* by the device; the first, when it took none */
    uint64_t positions[HAL_MAX_VARIANTS];
};

static size_t staged_bytes(size_t bytes)
{
    return hal_align_up(bytes, CAPTURE_STAGING_ALIGNMENT);
}

/* They are claimed together: a thread that waits for room with unpublished contents could deadlock.
 * The writer releases them one by one. */
static bool stage_variants(struct capture_thread *thread, const struct hal_executable_desc *desc,
                           struct staged_variants *out_staged)
{
    uint64_t position = 0;
    size_t bytes = 0;
    if (desc->variant_count == 1)
        return capture_stage(thread, desc->variants[0].data, desc->variants[0].bytes,
                             &out_staged->positions[0]);
    for (size_t i = 0; i < desc->variant_count; i++) {
        out_staged->positions[i] = bytes;
        bytes += staged_bytes(desc->variants[i].bytes);
    }
    uint8_t *all = hal_alloc(1, bytes);
    if (!all) {
        capture_stop(thread->stream, HAL_NO_MEMORY, "no memory for %zu bytes of executables",
                     bytes);
        return false;
    }
    for (size_t i = 0; i < desc->variant_count; i++)
        memcpy(all + out_staged->positions[i], desc->variants[i].data, desc->variants[i].bytes);
    const bool done = capture_stage(thread, all, bytes, &position);
    for (size_t i = 0; i < desc->variant_count; i++)
        out_staged->positions[i] += position;
    free(all);
    return done;
}

static void fill_entry_points(struct trace_executable_create *record,
                              const struct hal_executable_desc *desc, const uint32_t *names)
{
    for (size_t i = 0; i < desc->entry_point_count; i++) {
        const struct hal_entry_point *entry = &desc->entry_points[i];
        record->entry_points[i] = (struct trace_entry_point){
            .name = names[i],
            .group_size = {entry->workgroup_size[0], entry->workgroup_size[1],
                           entry->workgroup_size[2]},
            .constant_bytes = entry->constant_bytes,
            .constants_slot = entry->constants_slot,
            .layout = desc->layouts && desc->layouts[i] ? desc->layouts[i]->object.id : 0,
        };
        for (size_t k = 0; k < HAL_MAX_WORKGROUP_ARGUMENTS; k++)
            record->entry_points[i].group_argument_bytes[k] = entry->workgroup_argument_bytes[k];
    }
}

static void fill_lists(struct trace_executable_create *record,
                       const struct hal_executable_desc *desc, const struct staged_variants *staged,
                       const struct capture_bindings *bindings)
{
    struct trace_variant *variant =
        (struct trace_variant *)(void *)(record->entry_points + desc->entry_point_count);
    for (size_t i = 0; i < desc->variant_count; i++) {
        if (i != staged->taken)
            *variant++ = (struct trace_variant){.content = staged->positions[i],
                                                .size = desc->variants[i].bytes,
                                                .format = (uint32_t)desc->variants[i].format};
    }
    struct trace_constant *constants = (struct trace_constant *)(void *)variant;
    for (size_t i = 0; i < desc->constant_count; i++)
        constants[i] = (struct trace_constant){.index = desc->constants[i].index,
                                               .type = desc->constants[i].type,
                                               .bits = desc->constants[i].bits};
    if (bindings->count)
        memcpy(constants + desc->constant_count, bindings->list,
               bindings->count * sizeof *bindings->list);
}

static bool executable_fits(const struct capture_call *call, const struct hal_executable_desc *desc,
                            uint64_t id)
{
    static const char name[] = "hal_executable_create";
    if (desc->entry_point_count > TRACE_MAX_LIST || desc->constant_count > TRACE_MAX_LIST) {
        capture_record_unsupported(call, call->ticket, id, name,
                                   "%zu entry points and %zu specialization constants: a trace "
                                   "holds at most %u of each",
                                   desc->entry_point_count, desc->constant_count, TRACE_MAX_LIST);
        return false;
    }
    struct capture_stream *stream = call->thread->stream;
    const uint64_t staging = stream->staging.bytes;
    const uint64_t most = staging < TRACE_MAX_CONTENT_BYTES ? staging : TRACE_MAX_CONTENT_BYTES;
    uint64_t bytes = 0;
    for (size_t i = 0; i < desc->variant_count; i++)
        bytes += desc->variants[i].bytes <= most ? staged_bytes(desc->variants[i].bytes) : most + 1;
    if (bytes <= most)
        return true;
    capture_record_unsupported(call, call->ticket, id, name,
                               "an executable of %s and %s or more: the capture holds at most %llu",
                               hal_count(desc->variant_count, "variant", "variants").text,
                               hal_count((unsigned long long)bytes, "byte", "bytes").text,
                               (unsigned long long)most);
    return false;
}

/* What is known of bindings must not make a record too large. */
static size_t executable_bytes(const struct hal_executable_desc *desc,
                               struct capture_bindings *bindings)
{
    const size_t needed = sizeof(struct trace_executable_create) +
                          desc->entry_point_count * sizeof(struct trace_entry_point) +
                          (desc->variant_count - 1) * sizeof(struct trace_variant) +
                          desc->constant_count * sizeof(struct trace_constant);
    const size_t used = needed + bindings->count * sizeof *bindings->list;
    if (hal_align_up(used, 8) <= TRACE_MAX_RECORD_BYTES)
        return used;
    bindings->known = false;
    bindings->count = 0;
    return needed;
}

static void record_executable(const struct capture_call *call,
                              const struct hal_executable_desc *desc,
                              const struct hal_executable *executable, uint32_t flags,
                              const uint32_t *names, struct capture_bindings *bindings)
{
    struct staged_variants staged = {.taken = executable ? executable->variant : 0};
    const size_t used = executable_bytes(desc, bindings);
    const size_t bytes = hal_align_up(used, 8);
    const uint32_t label = capture_string(call->thread, desc->label);
    if (!stage_variants(call->thread, desc, &staged))
        return;
    struct trace_executable_create *record = capture_reserve(call->thread, bytes);
    if (!record)
        return;
    memset((uint8_t *)record + used, 0, bytes - used);
    *record = (struct trace_executable_create){
        .head = capture_head(call, TRACE_EXECUTABLE_CREATE, bytes),
        .executable = executable ? executable->object.id : 0,
        .content = staged.positions[staged.taken],
        .size = desc->variants[staged.taken].bytes,
        .format = (uint32_t)desc->variants[staged.taken].format,
        .label = label,
        .flags = flags | (bindings->known ? (uint32_t)TRACE_FLAG_REFLECTED : 0U),
        .entry_point_count = (uint32_t)desc->entry_point_count,
        .constant_count = (uint32_t)desc->constant_count,
        .variant_count = (uint32_t)desc->variant_count - 1,
        .binding_count = (uint32_t)bindings->count,
    };
    fill_entry_points(record, desc, names);
    fill_lists(record, desc, &staged, bindings);
    capture_publish(call->thread, bytes);
}

void capture_record_executable(const struct capture_call *call, struct hal_driver_device *next,
                               const struct hal_executable_desc *desc,
                               struct hal_executable *executable, uint32_t flags)
{
    struct capture_bindings bindings;
    if (!executable_fits(call, desc, executable ? executable->object.id : 0))
        return;
    uint32_t *names = hal_alloc(desc->entry_point_count, sizeof *names);
    if (!names) {
        capture_stop(call->thread->stream, HAL_NO_MEMORY, "no memory for %zu entry points",
                     desc->entry_point_count);
        return;
    }
    for (size_t i = 0; i < desc->entry_point_count; i++)
        names[i] = capture_string(call->thread, desc->entry_points[i].name);
    capture_reflect(next, executable, desc->entry_point_count, &bindings);
    record_executable(call, desc, executable, flags, names, &bindings);
    free(bindings.list);
    free(names);
}
