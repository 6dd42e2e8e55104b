/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/search/inspect.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "replay/plan/buffer_names.h"
#include "replay/search/lockstep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { CHUNK_BYTES = 1 << 20 };

struct looking {
    const struct replay_inspect *look;
    struct replay_inspect_result *result;
    struct replay_serialized serialized;
    struct replay_player *player;
    struct trace_reflection reflection;
    uint32_t dumped[REPLAY_MOST_DUMPS]; /* buffers */
};

/* ---- Dumps --------------------------------------------------------------------------------- */

/* NumPy has no type for some; their bits are given as integers. */
static const char *npy_type(enum replay_type type)
{
    switch (type) {
    case REPLAY_F64: return "<f8";
    case REPLAY_F32: return "<f4";
    case REPLAY_F16: return "<f2";
    case REPLAY_BF16: return "<u2";
    case REPLAY_I64: return "<i8";
    case REPLAY_I32: return "<i4";
    case REPLAY_I16: return "<i2";
    case REPLAY_I8: return "|i1";
    case REPLAY_U64: return "<u8";
    case REPLAY_U32: return "<u4";
    case REPLAY_U16: return "<u2";
    case REPLAY_U8:
    case REPLAY_TYPE_UNKNOWN:
    case REPLAY_TYPES: break;
    }
    return "|u1";
}

/* Version 1.0: magic, length of the header, the header, padded so that data begin at 64. */
static void write_npy_header(FILE *file, enum replay_type type, uint64_t elements)
{
    char header[118];
    const int length = snprintf(
        header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRIu64 ",), }",
        npy_type(type), elements);
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
    memset(header + length, ' ', sizeof header - (size_t)length);
    header[sizeof header - 1] = '\n';
    fwrite(header, 1, sizeof header, file);
}

static void write_text(FILE *file, enum replay_type type, uint64_t first, const uint8_t *data,
                       uint64_t bytes)
{
    const uint32_t size = replay_type_bytes(type);
    for (uint64_t at = 0; at + size <= bytes; at += size) {
        const double value = replay_element(data + at, type);
        fprintf(file, replay_type_is_float(type) ? "%" PRIu64 " %.9g\n" : "%" PRIu64 " %.0f\n",
                first / size + at / size, value);
    }
}

static uint64_t bytes_of(const struct replay_plan *plan, uint32_t buffer)
{
    const struct trace_buffer_create *created = (const void *)plan->objects[buffer].created;
    return created->size;
}

static enum hal_status write_dump(struct looking *l, const struct replay_dump *dump,
                                  uint32_t buffer, enum replay_type type, FILE *file)
{
    const uint64_t bytes = bytes_of(l->serialized.plan, buffer);
    if (dump->format == REPLAY_DUMP_NPY)
        write_npy_header(file, type, bytes / replay_type_bytes(type));
    for (uint64_t at = 0; at < bytes;) {
        const uint64_t piece = bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES;
        const uint64_t whole = bytes / replay_type_bytes(type) * replay_type_bytes(type);
        const uint8_t *data;
        HAL_TRY(replay_memory_read(l->player, buffer, at, piece, &data));
        if (dump->format == REPLAY_DUMP_TEXT)
            write_text(file, type, at, data, piece);
        else if (dump->format == REPLAY_DUMP_RAW || at < whole)
            fwrite(data, 1,
                   (size_t)(dump->format == REPLAY_DUMP_RAW || at + piece <= whole ? piece
                                                                                   : whole - at),
                   file);
        HAL_TRY(replay_memory_read_end(l->player));
        at += piece;
    }
    return HAL_OK;
}

static enum hal_status make_dump(struct looking *l, size_t index)
{
    const struct replay_dump *dump = &l->look->dumps[index];
    const struct replay_options *options = l->look->options;
    const struct replay_plan *plan = l->serialized.plan;
    const uint32_t buffer = l->dumped[index];
    enum replay_type type =
        replay_type_of(options->types, options->type_count, replay_object_label(plan, buffer),
                       plan->objects[buffer].id);
    type = type == REPLAY_TYPE_UNKNOWN ? REPLAY_U8 : type;
    FILE *file = fopen(dump->path, "wb");
    if (!file)
        return hal_fail(HAL_IO, "cannot write '%s': %s", dump->path, strerror(errno));
    enum hal_status status = write_dump(l, dump, buffer, type, file);
    const bool failed = ferror(file) != 0;
    const bool closed = fclose(file) == 0;
    if (status == HAL_OK && (failed || !closed))
        status = hal_fail(HAL_IO, "cannot write '%s': %s", dump->path, strerror(errno));
    l->result->dump_bytes[index] = bytes_of(plan, buffer);
    l->result->dump_types[index] = type;
    return status;
}

static enum hal_status make_dumps(struct looking *l, const struct replay_step *step)
{
    for (size_t i = 0; i < l->look->dump_count; i++) {
        if (replay_serialized_find(&l->serialized, &l->look->dumps[i].where) == step)
            HAL_TRY(make_dump(l, i));
    }
    return HAL_OK;
}

/* ---- A dispatch in a loop ------------------------------------------------------------------ */

static enum hal_status put_back(struct looking *l, const struct replay_bytes_list *bytes)
{
    for (size_t i = 0; i < bytes->count; i++) {
        const struct replay_touch *range = &bytes->list[i].range;
        HAL_TRY(replay_memory_write(l->player, (uint32_t)range->buffer, range->begin,
                                    bytes->list[i].data, range->end - range->begin));
    }
    return HAL_OK;
}

/* Each run finds what the first one found, and leaves what it left. `object` 0: no work. */
static enum hal_status run_many(struct looking *l, uint32_t object,
                                const struct replay_bytes_list *before,
                                struct replay_times *out_times)
{
    const size_t wanted = (size_t)l->look->loop_runs;
    int64_t *times_ns = hal_alloc(wanted, sizeof *times_ns);
    size_t done = 0;
    enum hal_status status =
        times_ns ? HAL_OK : hal_fail(HAL_NO_MEMORY, "no memory for %zu times", wanted);
    while (done < wanted && status == HAL_OK) {
        status = put_back(l, before);
        if (status == HAL_OK)
            status = replay_player_submit_alone(l->player, object, &times_ns[done++]);
    }
    if (status == HAL_OK)
        *out_times = replay_times_of(times_ns, done);
    l->result->loop_runs = done;
    free(times_ns);
    return status;
}

static enum hal_status run_loop(struct looking *l, const struct replay_step *step,
                                const struct replay_bytes_list *before)
{
    static const struct replay_bytes_list nothing;
    replay_step_name(l->serialized.plan, step, l->result->loop_name);
    HAL_TRY(run_many(l, 0, &nothing, &l->result->empty));
    return run_many(l, step->piece, before, &l->result->loop);
}

/* ---- Steps --------------------------------------------------------------------------------- */

static bool is_loop(const struct looking *l, const struct replay_step *step)
{
    return l->look->has_loop && replay_serialized_find(&l->serialized, &l->look->loop) == step;
}

static enum hal_status take_before(struct looking *l, const struct replay_step *step,
                                   struct replay_bytes_list *out_bytes)
{
    struct replay_accesses accesses;
    HAL_TRY(replay_step_accesses(&l->serialized, &l->reflection, step, REPLAY_WRITES, &accesses));
    const enum hal_status status = replay_bytes_take(l->player, &accesses, out_bytes);
    replay_accesses_finish(&accesses);
    return status;
}

/* A later one may run before the first one of the range does. */
static bool is_in_range(const struct replay_inspect *look, uint64_t submission)
{
    return look->has_begin && submission >= look->begin.submission &&
           (!look->has_stop || submission <= look->stop.submission);
}

static enum hal_status run_step(struct looking *l, const struct replay_step *step)
{
    struct replay_bytes_list before = {0};
    const bool loop = is_loop(l, step);
    HAL_TRY(replay_player_until(l->player, step->submit_op));
    if (is_in_range(l->look, step->submit->submission))
        l->player->mute = false;
    enum hal_status status = loop ? take_before(l, step, &before) : HAL_OK;
    if (status == HAL_OK)
        status = replay_player_until(l->player, step->end_op);
    if (status == HAL_OK)
        status = make_dumps(l, step);
    if (status == HAL_OK && loop)
        status = run_loop(l, step, &before);
    replay_bytes_finish(&before);
    return status;
}

static enum hal_status run_steps(struct looking *l)
{
    for (size_t i = 0; i < l->serialized.step_count; i++)
        HAL_TRY(run_step(l, &l->serialized.steps[i]));
    return replay_player_until(l->player, l->serialized.plan->op_count);
}

static bool is_bound(const struct replay_accesses *accesses, uint32_t buffer)
{
    return replay_accesses_meet(
        accesses, &(struct replay_touch){.buffer = buffer, .begin = 0, .end = UINT64_MAX});
}

/* Which buffers of that name exist after the step; checks that there is exactly one. */
static enum hal_status find_dumped(struct looking *l, const struct replay_dump *dump,
                                   const struct replay_step *step, uint32_t *out_buffer)
{
    const struct replay_plan *plan = l->serialized.plan;
    struct replay_candidates found = {0};
    struct replay_accesses accesses;
    char where[HAL_LOCATOR_BYTES], place[HAL_LOCATOR_BYTES + 4];
    bool *alive = hal_alloc(plan->object_count, sizeof *alive);
    if (!alive)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu objects", plan->object_count);
    enum hal_status status = replay_step_accesses(&l->serialized, &l->reflection, step,
                                                  REPLAY_READS | REPLAY_WRITES, &accesses);
    for (size_t i = 0; i < step->end_op && i < plan->op_count; i++) {
        if (plan->ops[i].action == REPLAY_CREATE_BUFFER ||
            plan->ops[i].action == REPLAY_DESTROY_BUFFER)
            alive[plan->ops[i].object] = plan->ops[i].action == REPLAY_CREATE_BUFFER;
    }
    for (uint32_t i = 1; i < plan->object_count && status == HAL_OK; i++) {
        if (!alive[i] || !replay_buffer_is_called(plan, i, dump->buffer))
            continue;
        *out_buffer = i;
        replay_candidates_add(&found, plan, i,
                              is_bound(&accesses, i) ? "bound there" : "not bound");
    }
    free(alive);
    replay_accesses_finish(&accesses);
    HAL_TRY(status);
    hal_locator_print(&dump->where, where);
    snprintf(place, sizeof place, " at %s", where);
    if (found.count > 1)
        return hal_add_context(replay_candidates_refuse(&found, dump->buffer, place), "--dump");
    return found.count
               ? HAL_OK
               : hal_fail(HAL_NOT_FOUND, "no buffer '%s' is alive at %s", dump->buffer, where);
}

static enum hal_status check_places(struct looking *l)
{
    const struct replay_inspect *look = l->look;
    char where[HAL_LOCATOR_BYTES];
    for (size_t i = 0; i < look->dump_count; i++) {
        const struct replay_step *step =
            replay_serialized_find(&l->serialized, &look->dumps[i].where);
        if (!step)
            return hal_fail(HAL_NOT_FOUND, "the replay does not reach %s",
                            hal_locator_print(&look->dumps[i].where, where));
        HAL_TRY(find_dumped(l, &look->dumps[i], step, &l->dumped[i]));
    }
    if (look->has_loop && !replay_serialized_find(&l->serialized, &look->loop))
        return hal_fail(HAL_NOT_FOUND, "the replay does not reach %s",
                        hal_locator_print(&look->loop, where));
    return HAL_OK;
}

static enum hal_status make_plan(struct looking *l)
{
    const struct replay_inspect *look = l->look;
    uint64_t split[REPLAY_MOST_DUMPS + 2];
    size_t count = 0;
    struct replay_serialized_options options = {.split = REPLAY_SPLIT_SOME,
                                                .has_stop = look->has_stop,
                                                .stop = look->stop,
                                                .is_range = look->is_range,
                                                .has_begin = look->has_begin,
                                                .begin = look->begin.submission};
    if (look->has_loop && !look->has_stop) {
        options.has_stop = true;
        options.stop = look->loop;
    }
    if (look->has_loop)
        split[count++] = look->loop.submission;
    if (options.has_stop && options.stop.has_dispatch)
        split[count++] = options.stop.submission;
    for (size_t i = 0; i < look->dump_count; i++) {
        if (look->dumps[i].where.has_dispatch)
            split[count++] = look->dumps[i].where.submission;
    }
    options.split_submissions = split;
    options.split_count = count;
    HAL_TRY(replay_serialized_make(look->plan, &options, &l->serialized));
    return check_places(l);
}

static enum hal_status run(struct looking *l)
{
    const struct replay_inspect *look = l->look;
    HAL_TRY(replay_reflect(look->plan, NULL, &l->reflection));
    HAL_TRY(make_plan(l));
    HAL_TRY(replay_player_create(l->serialized.plan, look->device, look->options, &l->player));
    if (look->prepared)
        HAL_TRY(look->prepared(look->user));
    l->player->mute = look->has_begin;
    replay_player_begin(l->player, &l->result->report);
    const enum hal_status status = run_steps(l);
    l->result->steps = l->serialized.step_count;
    const bool whole = !look->has_stop && !look->has_loop;
    return replay_player_end(l->player, status, whole);
}

enum hal_status replay_inspect_check(const struct replay_inspect *look)
{
    struct looking l = {.look = look};
    enum hal_status status = replay_reflect(look->plan, NULL, &l.reflection);
    if (status == HAL_OK)
        status = make_plan(&l);
    if (l.serialized.plan)
        replay_serialized_finish(&l.serialized);
    trace_reflection_finish(&l.reflection);
    return status;
}

enum hal_status replay_inspect_run(const struct replay_inspect *look,
                                   struct replay_inspect_result *out_result)
{
    struct looking l = {.look = look, .result = out_result};
    *out_result = (struct replay_inspect_result){0};
    const enum hal_status status = run(&l);
    if (out_result->report.abandoned)
        return status;
    replay_player_destroy(l.player);
    if (l.serialized.plan)
        replay_serialized_finish(&l.serialized);
    trace_reflection_finish(&l.reflection);
    return status;
}
