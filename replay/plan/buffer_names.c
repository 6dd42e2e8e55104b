/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/plan/buffer_names.h"

#include "hal/base/mem.h"
#include "hal/base/text.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- Candidates ------------------------------------------------------------------------------ */

void replay_candidates_add(struct replay_candidates *candidates, const struct replay_plan *plan,
                           uint32_t object, const char *note)
{
    enum { LEAST_BYTES = 160 }; /* of a label, and the text around it */
    const struct replay_object *o = &plan->objects[object];
    const char *label = replay_object_label(plan, object);
    char size[128] = "";
    candidates->count++;
    if (sizeof candidates->text - candidates->used < LEAST_BYTES)
        return;
    if (o->kind == REPLAY_BUFFER)
        snprintf(size, sizeof size, " (%s%s%s)",
                 hal_count(TRACE_AS(trace_buffer_create, o->created)->size, "byte", "bytes").text,
                 *note ? ", " : "", note);
    candidates->used += (size_t)snprintf(
        candidates->text + candidates->used, sizeof candidates->text - candidates->used,
        "%s#%" PRIu64 "%s%.64s%s%s", candidates->used ? ", " : "", o->id, label ? " '" : "",
        label ? label : "", label ? "'" : "", size);
}

enum hal_status replay_candidates_refuse(const struct replay_candidates *candidates,
                                         const char *name, const char *where)
{
    return hal_fail(HAL_NOT_FOUND, "'%s'%s is one of %zu: name it by its number: %s%s", name, where,
                    candidates->count, candidates->text,
                    candidates->used + 160 > sizeof candidates->text ? ", ..." : "");
}

static bool is_there(const struct replay_plan *const *plans, size_t count, const char *name)
{
    bool found = false;
    for (size_t k = 0; k < count; k++)
        for (uint32_t i = 1; i < plans[k]->object_count && !found; i++)
            found = replay_buffer_is_called(plans[k], i, name);
    return found;
}

static enum hal_status refuse_name(size_t plans, const char *name)
{
    return hal_fail(HAL_NOT_FOUND, "the %s no buffer '%s'", plans > 1 ? "traces have" : "trace has",
                    name);
}

/* ---- What the host writes -------------------------------------------------------------------- */

static void mark_written(const struct replay_plan *plan, bool *written)
{
    for (size_t i = 0; i < plan->op_count; i++) {
        const struct trace_content_event *event = (const void *)plan->ops[i].event;
        if (plan->ops[i].action == REPLAY_WRITE)
            written[event->buffer] = true;
    }
}

static bool is_any_written(const struct replay_plan *plan, const bool *written, const char *name)
{
    bool found = false;
    for (uint32_t i = 1; i < plan->object_count && !found; i++)
        found = written[i] && replay_buffer_is_called(plan, i, name);
    return found;
}

/* One that the host writes and a command copies into one of that name; 0: none. */
static uint32_t find_source(const struct replay_plan *plan, const bool *written, const char *name)
{
    for (uint32_t i = 1; i < plan->object_count; i++) {
        const struct replay_object *object = &plan->objects[i];
        if (object->kind != REPLAY_COMMANDS || !object->commands.seal)
            continue;
        const struct trace_segment *segment = object->commands.segments;
        for (uint32_t k = 0; k < object->commands.seal->segment_count; k++) {
            const struct trace_copy *copy = (const void *)segment;
            if (segment->kind == TRACE_COPY && written[copy->source] &&
                replay_buffer_is_called(plan, (uint32_t)copy->target, name))
                return (uint32_t)copy->source;
            segment = trace_next_segment(segment);
        }
    }
    return 0;
}

static enum hal_status refuse_unwritten(const struct replay_plan *plan, const bool *written,
                                        const char *name)
{
    char source_name[REPLAY_NAME_BYTES], hint[REPLAY_NAME_BYTES + 64] = "";
    const uint32_t source = find_source(plan, written, name);
    if (source)
        snprintf(hint, sizeof hint, "; it is filled by copies from %s",
                 replay_object_name(plan, source, source_name));
    return hal_fail(HAL_UNSUPPORTED,
                    "the host never writes into buffer '%s', so nothing would be replaced%s", name,
                    hint);
}

static enum hal_status check_written(const struct replay_plan *plan, const char *name)
{
    bool *written = hal_alloc(plan->object_count, sizeof *written);
    if (!written)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu objects", plan->object_count);
    mark_written(plan, written);
    const enum hal_status status =
        is_any_written(plan, written, name) ? HAL_OK : refuse_unwritten(plan, written, name);
    free(written);
    return status;
}

/* Whether the host writes two buffers of that name that exist at the same time, so that the name is
 * ambiguous. Buffers that exist one after the other all match. */
static enum hal_status check_single(const struct replay_plan *plan, const char *name)
{
    struct replay_candidates alive = {0};
    bool *written = hal_alloc(plan->object_count, sizeof *written);
    uint32_t one = 0; /* that is alive */
    if (!written)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu objects", plan->object_count);
    mark_written(plan, written);
    for (size_t i = 0; i < plan->op_count; i++) {
        const struct replay_op *op = &plan->ops[i];
        const bool creates = op->action == REPLAY_CREATE_BUFFER;
        if ((!creates && op->action != REPLAY_DESTROY_BUFFER) || !written[op->object] ||
            !replay_buffer_is_called(plan, op->object, name))
            continue;
        if (!creates && op->object == one)
            one = 0;
        if (creates && one) {
            if (!alive.count)
                replay_candidates_add(&alive, plan, one, "");
            replay_candidates_add(&alive, plan, op->object, "");
        }
        one = creates ? op->object : one;
    }
    free(written);
    return alive.count ? replay_candidates_refuse(&alive, name, "") : HAL_OK;
}

static enum hal_status check_substitute(const struct replay_plan *const *plans, size_t count,
                                        const char *name)
{
    enum hal_status status = HAL_UNSUPPORTED;
    if (!is_there(plans, count, name))
        return refuse_name(count, name);
    for (size_t i = 0; i < count && status == HAL_UNSUPPORTED; i++)
        status = check_written(plans[i], name);
    for (size_t i = 0; i < count && status == HAL_OK; i++)
        status = check_single(plans[i], name);
    return status;
}

/* ---- Kernels --------------------------------------------------------------------------------- */

/* Executables of the same source are one: they differ by constants, or come one after the other. */
static enum hal_status check_kernel(const struct replay_plan *plan,
                                    const struct replay_substitute *substitute)
{
    struct replay_candidates found = {0};
    uint64_t content = 0;
    bool differ = false;
    for (uint32_t i = 1; i < plan->object_count; i++) {
        const struct trace_executable_create *created = (const void *)plan->objects[i].created;
        if (plan->objects[i].kind != REPLAY_EXECUTABLE ||
            !replay_substitute_of(plan, i, substitute, 1))
            continue;
        differ |= found.count && created->content != content;
        content = created->content;
        replay_candidates_add(&found, plan, i, "");
    }
    return differ ? replay_candidates_refuse(&found, substitute->kernel, "") : HAL_OK;
}

/* ---- All ------------------------------------------------------------------------------------- */

enum hal_status replay_names_check(const struct replay_plan *const *plans, size_t count,
                                   const struct replay_options *options)
{
    for (size_t i = 0; i < options->type_count; i++) {
        const char *const name = options->types[i].buffer; /* NULL: all */
        if (name && !is_there(plans, count, name))
            return hal_add_context(refuse_name(count, name), "--type");
    }
    for (size_t i = 0; i < options->buffer_count; i++)
        HAL_TRY(hal_add_context(check_substitute(plans, count, options->buffers[i].buffer),
                                "--substitute-buffer"));
    for (size_t i = 0; i < options->substitute_count; i++)
        for (size_t k = 0; k < count; k++)
            HAL_TRY(
                hal_add_context(check_kernel(plans[k], &options->substitutes[i]), "--substitute"));
    return HAL_OK;
}
