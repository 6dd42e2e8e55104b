/* SPDX-License-Identifier: Apache-2.0 */
/* Per buffer, pieces of bytes with the latest accesses that a new one may race with. Of an access
 * that has happened only its place in a chain is kept: whether it comes before a new one is in the
 * new one's clock. */
#include "format/analysis/races.h"

#include "format/analysis/race_commands.h"
#include "hal/base/locator.h"
#include "hal/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAP_PERSISTENT = 8, WAIT_ALL = 0 }; /* enum hal_map_mode, hal_wait_mode */

struct earlier {
    struct trace_race_side side;
    uint32_t chain, position;
};

/* Without gaps between members: pieces are compared byte by byte. */
struct piece {
    struct trace_piece range;
    uint64_t count;
    struct earlier list[TRACE_RACE_EARLIER]; /* zero after `count` */
};

struct trace_race_work {
    struct trace_race_work *previous, *next;
    uint64_t submission;
    struct trace_race_access operation; /* buffer 0: none */
    uint32_t count;
    struct trace_race_commands *commands[];
};

/* One access while it is compared. */
struct comparison {
    struct trace_races *races;
    const struct trace_race_side *side;
    const struct trace_moment *moment;
    uint64_t buffer;
    struct trace_race_side reported[4]; /* the other sides, of the pieces so far */
    size_t reported_count;
    enum hal_status status;
};

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory for the races of a trace");
}

/* ---- Races -------------------------------------------------------------------------------- */

static enum hal_status keep_race(struct trace_races *races, const struct trace_race *race)
{
    const uint64_t possible = races->kept_possible, all = races->list_count;
    if (races->has_suspect &&
        !trace_race_side_is(&race->before, races->suspect, TRACE_NO_COMMAND) &&
        !trace_race_side_is(&race->after, races->suspect, TRACE_NO_COMMAND))
        return HAL_OK;
    if ((race->declared ? all - possible : possible) >= TRACE_RACES_KEPT)
        return HAL_OK;
    if (!HAL_GROW(races->list, &races->list_capacity, races->list_count + 1))
        return no_memory();
    races->list[races->list_count++] = *race;
    races->kept_possible += !race->declared;
    return HAL_OK;
}

static bool is_reported(const struct comparison *c, const struct trace_race_side *side)
{
    for (size_t i = 0; i < c->reported_count; i++) {
        if (memcmp(&c->reported[i], side, sizeof *side) == 0)
            return true;
    }
    return false;
}

static enum hal_status report(struct comparison *c, const struct trace_race_side *before,
                              const struct trace_piece *range)
{
    const size_t most = sizeof c->reported / sizeof *c->reported;
    const bool declared = before->declared && c->side->declared;
    if (is_reported(c, before))
        return HAL_OK;
    c->reported[c->reported_count < most ? c->reported_count++ : most - 1] = *before;
    c->races->count++;
    c->races->declared_count += declared;
    return keep_race(c->races, &(struct trace_race){.before = *before,
                                                    .after = *c->side,
                                                    .buffer = c->buffer,
                                                    .begin = range->begin,
                                                    .end = range->end,
                                                    .declared = declared});
}

/* ---- Pieces ------------------------------------------------------------------------------- */

static void compare(void *user, struct trace_piece *visited)
{
    struct comparison *c = user;
    struct piece *piece = (void *)visited;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < piece->count; i++) {
        const struct earlier *e = &piece->list[i];
        const struct trace_moment before = {.chain = e->chain, .position = e->position};
        const bool same = e->side.place == c->side->place && e->side.host == c->side->host;
        const bool ordered = same || trace_moment_precedes(&before, c->moment);
        if (!ordered && (e->side.writes || c->side->writes) && c->status == HAL_OK)
            c->status = report(c, &e->side, visited);
        if (!ordered || !trace_race_stands_for(c->side, &e->side))
            piece->list[kept++] = *e;
    }
    if (kept == TRACE_RACE_EARLIER) {
        memmove(piece->list, piece->list + 1, (--kept) * sizeof *piece->list);
        c->races->undecided++;
    }
    piece->list[kept++] = (struct earlier){*c->side, c->moment->chain, c->moment->position};
    memset(piece->list + kept, 0, (TRACE_RACE_EARLIER - kept) * sizeof *piece->list);
    piece->count = kept;
}

/* Nothing that starts from now on can race with work that the host knows to be over. */
static bool is_over(void *user, const struct trace_piece *visited)
{
    const struct trace_happens_before *order = user;
    const struct piece *piece = (const void *)visited;
    for (uint64_t i = 0; i < piece->count; i++) {
        const struct earlier *e = &piece->list[i];
        if (!trace_moment_is_over(order, &(struct trace_moment){NULL, e->chain, e->position}))
            return false;
    }
    return true;
}

/* Submissions that wait since before may still race with what is over now. */
static void forget(struct trace_races *races, struct trace_race_buffer *buffer)
{
    if (races->order.held_count == 0)
        trace_pieces_remove(&buffer->pieces, is_over, &races->order);
    if (buffer->pieces.count + 3 > TRACE_RACE_PIECES) {
        buffer->pieces.count = 0;
        races->undecided++;
    }
}

static struct trace_race_buffer *buffer_of(struct trace_races *races, uint64_t id)
{
    uint32_t index;
    if (!HAL_GROW(races->buffers, &races->buffer_capacity, races->buffer_count + 1))
        return NULL;
    if (!hal_idmap_add(&races->buffer_ids, id, (uint32_t)races->buffer_count, &index))
        return NULL;
    if (index == races->buffer_count)
        races->buffers[races->buffer_count++] =
            (struct trace_race_buffer){.pieces.piece_bytes = sizeof(struct piece)};
    return &races->buffers[index];
}

static enum hal_status touch(struct trace_races *races, const struct trace_race_access *access,
                             const struct trace_race_side *side, const struct trace_moment *moment)
{
    struct comparison c = {
        .races = races, .side = side, .moment = moment, .buffer = access->buffer};
    struct trace_race_buffer *buffer = buffer_of(races, access->buffer);
    size_t visited;
    if (!buffer)
        return no_memory();
    if (access->begin >= access->end || races->inside_only)
        return HAL_OK;
    if (races->visits > TRACE_RACE_VISITS) {
        races->undecided++;
        return HAL_OK;
    }
    if (buffer->pieces.count + 3 > TRACE_RACE_PIECES)
        forget(races, buffer);
    if (!trace_pieces_visit(&buffer->pieces, access->begin, access->end, compare, &c, &visited))
        return no_memory();
    races->visits += visited;
    return c.status;
}

/* ---- Command buffers ---------------------------------------------------------------------- */

static enum hal_status add_commands(struct trace_races *races, uint64_t id,
                                    struct trace_race_commands *commands)
{
    uint32_t index;
    if (!HAL_GROW(races->commands, &races->command_capacity, races->command_count + 1))
        return no_memory();
    if (!hal_idmap_add(&races->command_ids, id, (uint32_t)races->command_count, &index))
        return no_memory();
    if (index == races->command_count)
        races->commands[races->command_count++] = NULL;
    trace_race_commands_release(races->commands[index]);
    races->commands[index] = commands;
    return HAL_OK;
}

static enum hal_status take_seal(struct trace_races *races,
                                 const struct trace_command_buffer_seal *seal,
                                 const struct trace_segment *segments)
{
    struct trace_race_commands *commands;
    HAL_TRY(trace_race_commands_make(races, seal, segments, &commands));
    const enum hal_status status = add_commands(races, seal->command_buffer, commands);
    if (status != HAL_OK)
        trace_race_commands_release(commands);
    return status;
}

static void forget_commands(struct trace_races *races, uint64_t id)
{
    uint32_t index;
    if (!hal_idmap_find(&races->command_ids, id, &index))
        return;
    trace_race_commands_release(races->commands[index]);
    races->commands[index] = NULL;
}

/* ---- Submissions -------------------------------------------------------------------------- */

static void free_work(struct trace_races *races, struct trace_race_work *work)
{
    if (work->next)
        work->next->previous = work->previous;
    if (work->previous)
        work->previous->next = work->next;
    else
        races->work = work->next;
    for (uint32_t i = 0; i < work->count; i++)
        trace_race_commands_release(work->commands[i]);
    free(work);
}

static struct trace_race_side place(const struct trace_race_side *side, uint64_t submission,
                                    uint32_t command_buffer, uint32_t dispatches_before)
{
    struct trace_race_side placed = *side;
    placed.place = submission;
    placed.command_buffer = command_buffer;
    if (placed.dispatch != TRACE_NO_COMMAND)
        placed.dispatch += dispatches_before;
    return placed;
}

static enum hal_status add_inside(struct trace_races *races, const struct trace_race_work *work,
                                  uint32_t number, uint32_t dispatches_before)
{
    const struct trace_race_commands *commands = work->commands[number];
    races->count += commands->race_count;
    races->declared_count += commands->declared_count;
    if (races->visits > TRACE_RACE_VISITS)
        return HAL_OK;
    races->visits += commands->kept_count;
    for (size_t i = 0; i < commands->kept_count; i++) {
        struct trace_race race = commands->races[i];
        race.before = place(&race.before, work->submission, number, dispatches_before);
        race.after = place(&race.after, work->submission, number, dispatches_before);
        HAL_TRY(keep_race(races, &race));
    }
    return HAL_OK;
}

static enum hal_status start(struct trace_races *races, const struct trace_race_work *work,
                             const struct trace_moment *moment, bool placed)
{
    uint32_t dispatches = 0;
    for (uint32_t i = 0; i < work->count; i++) {
        const struct trace_race_commands *commands = work->commands[i];
        if (!commands)
            continue;
        HAL_TRY(add_inside(races, work, i, dispatches));
        const bool looks = placed && races->visits <= TRACE_RACE_VISITS;
        races->undecided += looks ? 0 : commands->count;
        for (size_t k = 0; looks && k < commands->count; k++) {
            const struct trace_race_access *access = &commands->list[k];
            const struct trace_race_side side =
                place(&access->side, work->submission, i, dispatches);
            HAL_TRY(touch(races, access, &side, moment));
        }
        dispatches += commands->dispatch_count;
    }
    return placed && work->operation.buffer
               ? touch(races, &work->operation, &work->operation.side, moment)
               : HAL_OK;
}

static enum hal_status started(void *user, void *tag, const struct trace_moment *moment,
                               bool placed)
{
    const enum hal_status status = start(user, tag, moment, placed);
    free_work(user, tag);
    return status;
}

/* For queues that access a buffer themselves. */
static struct trace_race_access operation_of(const struct trace_submit *submit)
{
    struct trace_race_access access = {.begin = submit->offset,
                                       .side = {.place = submit->submission,
                                                .command = TRACE_NO_COMMAND,
                                                .dispatch = TRACE_NO_COMMAND,
                                                .declared = true}};
    if (!hal_add_u64(submit->offset, submit->size, &access.end))
        access.end = UINT64_MAX;
    if (submit->operation >= TRACE_OPERATION_READ)
        access.buffer = submit->buffer;
    access.side.writes = submit->operation != TRACE_OPERATION_WRITE;
    /* It receives or sends. */
    access.side.declared = submit->operation != TRACE_OPERATION_COLLECTIVE;
    return access;
}

static enum hal_status take_submit(struct trace_races *races, const struct trace_submit *submit)
{
    const uint64_t *ids = trace_submit_command_buffers(submit);
    struct trace_race_work *work =
        hal_alloc(1, sizeof *work + submit->command_buffer_count * sizeof(work->commands[0]));
    if (!work)
        return no_memory();
    work->submission = submit->submission;
    work->operation = operation_of(submit);
    work->count = submit->command_buffer_count;
    for (uint32_t i = 0; i < work->count; i++) {
        uint32_t index;
        if (!hal_idmap_find(&races->command_ids, ids[i], &index) || !races->commands[index])
            continue;
        work->commands[i] = races->commands[index];
        work->commands[i]->references++;
    }
    work->next = races->work;
    if (work->next)
        work->next->previous = work;
    races->work = work;
    return trace_happens_before_submit(&races->order, submit, work);
}

/* ---- The host ----------------------------------------------------------------------------- */

/* What a queue moves is in its submission, not the host's own. */
static bool is_for_queue(const struct trace_races *races, const struct trace_event *event)
{
    uint32_t index;
    return hal_idmap_find(&races->call_threads, event->thread, &index) && races->calls[index];
}

static enum hal_status take_call(struct trace_races *races, const struct trace_event *event)
{
    uint32_t index;
    if (!HAL_GROW(races->calls, &races->call_capacity, races->call_count + 1))
        return no_memory();
    if (!hal_idmap_add(&races->call_threads, event->thread, (uint32_t)races->call_count, &index))
        return no_memory();
    if (index == races->call_count)
        races->calls[races->call_count++] = 0;
    if (event->kind == TRACE_HOST_CALL_BEGIN)
        races->calls[index]++;
    else if (races->calls[index])
        races->calls[index]--;
    return HAL_OK;
}

static enum hal_status take_content(struct trace_races *races,
                                    const struct trace_content_event *event)
{
    const bool writes = event->head.kind == TRACE_HOST_WRITE;
    const struct trace_race_buffer *buffer = buffer_of(races, event->buffer);
    struct trace_moment moment;
    struct trace_race_access access = {.buffer = event->buffer, .begin = event->offset};
    if (!buffer)
        return no_memory();
    if ((event->flags & (TRACE_FLAG_SNAPSHOT | TRACE_FLAG_FILE)) ||
        (!writes && (event->flags & TRACE_FLAG_OBSERVED)) || is_for_queue(races, &event->head))
        return HAL_OK;
    if (!hal_add_u64(event->offset, event->size, &access.end))
        access.end = UINT64_MAX;
    const struct trace_race_side side = {.place = event->head.ticket,
                                         .command = TRACE_NO_COMMAND,
                                         .dispatch = TRACE_NO_COMMAND,
                                         .host = true,
                                         .writes = writes,
                                         .declared = !writes || !buffer->mapped};
    HAL_TRY(trace_happens_before_host(&races->order, &moment));
    return touch(races, &access, &side, &moment);
}

/* Observing that a semaphore has failed, or that a device was lost, implies that its work ended. */
static void take_observation(struct trace_races *races, const struct trace_event *event)
{
    const void *record = event;
    const struct trace_semaphore_wait *wait = record;
    const struct trace_semaphore_event *query = record;
    if (event->status == HAL_TIMEOUT)
        return;
    if (event->kind == TRACE_WAIT_IDLE)
        trace_happens_before_observe_all(&races->order);
    else if (event->kind == TRACE_SEMAPHORE_QUERY)
        trace_happens_before_observe(&races->order, query->semaphore,
                                     event->status == HAL_OK ? query->value : UINT64_MAX);
    for (uint32_t i = 0; event->kind == TRACE_SEMAPHORE_WAIT && i < wait->value_count; i++)
        trace_happens_before_observe(&races->order, wait->values[i].semaphore,
                                     wait->values[i].value);
}

static enum hal_status take_mapping(struct trace_races *races,
                                    const struct trace_mapping_event *event)
{
    struct trace_race_buffer *buffer = buffer_of(races, event->buffer);
    if (!buffer)
        return no_memory();
    if (!(event->mode & MAP_PERSISTENT))
        return HAL_OK;
    if (event->head.kind == TRACE_BUFFER_MAP)
        buffer->mapped++;
    else if (buffer->mapped)
        buffer->mapped--;
    return HAL_OK;
}

/* ---- Objects ------------------------------------------------------------------------------ */

static enum hal_status take_executable(struct trace_races *races,
                                       const struct trace_executable_create *create)
{
    uint32_t index;
    HAL_TRY(trace_reflection_add(&races->reflection, create->executable, create));
    if (!HAL_GROW(races->kernels, &races->kernel_capacity, races->kernel_count + 1))
        return no_memory();
    if (!hal_idmap_add(&races->kernel_ids, create->executable, (uint32_t)races->kernel_count,
                       &index))
        return no_memory();
    if (index != races->kernel_count)
        return HAL_OK;
    struct trace_race_kernels *added = &races->kernels[races->kernel_count++];
    *added = (struct trace_race_kernels){
        .list = hal_alloc(create->entry_point_count, sizeof *added->list)};
    if (!added->list)
        return no_memory();
    added->count = create->entry_point_count;
    for (uint32_t i = 0; i < added->count; i++) {
        const struct trace_entry_point *entry = &create->entry_points[i];
        added->list[i] = (struct trace_race_kernel){
            .name = entry->name, .group_threads = trace_race_product(entry->group_size)};
    }
    return HAL_OK;
}

static enum hal_status take_buffer(struct trace_races *races,
                                   const struct trace_buffer_create *create)
{
    struct trace_race_buffer *buffer = buffer_of(races, create->buffer);
    if (!buffer)
        return no_memory();
    buffer->bytes = create->size;
    return HAL_OK;
}

/* Who else waits for a semaphore that other devices move is in their traces. */
static enum hal_status take_semaphore(struct trace_races *races,
                                      const struct trace_semaphore_create *create)
{
    HAL_TRY(trace_happens_before_create(&races->order, create->semaphore, create->initial_value));
    return create->flags & TRACE_FLAG_EXTERNAL
               ? trace_happens_before_share(&races->order, create->semaphore)
               : HAL_OK;
}

static void forget_buffer(struct trace_races *races, uint64_t id)
{
    uint32_t index;
    if (hal_idmap_find(&races->buffer_ids, id, &index))
        trace_pieces_finish(&races->buffers[index].pieces);
}

/* ---- All ---------------------------------------------------------------------------------- */

/* Calls that failed had no effect, except on what the caller knows. */
enum hal_status trace_races_take(struct trace_races *races, const struct trace_event *event,
                                 const struct trace_segment *segments)
{
    const void *record = event;
    const struct trace_object_event *object = record;
    const struct trace_semaphore_event *signal = record;
    if (event->kind == TRACE_HOST_CALL_BEGIN || event->kind == TRACE_HOST_CALL_END)
        return take_call(races, event);
    if (event->kind == TRACE_SEMAPHORE_WAIT || event->kind == TRACE_WAIT_IDLE ||
        event->kind == TRACE_SEMAPHORE_QUERY)
        take_observation(races, event);
    if (event->status != HAL_OK)
        return HAL_OK;
    switch (event->kind) {
    case TRACE_EXECUTABLE_CREATE: return take_executable(races, record);
    case TRACE_COMMAND_BUFFER_SEAL: return take_seal(races, record, segments);
    case TRACE_COMMAND_BUFFER_DESTROY: forget_commands(races, object->object); break;
    case TRACE_BUFFER_CREATE: return take_buffer(races, record);
    case TRACE_BUFFER_DESTROY: forget_buffer(races, object->object); break;
    case TRACE_BUFFER_MAP:
    case TRACE_BUFFER_UNMAP: return take_mapping(races, record);
    case TRACE_SUBMIT: return take_submit(races, record);
    case TRACE_HOST_WRITE:
    case TRACE_HOST_READ: return take_content(races, record);
    case TRACE_SEMAPHORE_CREATE: return take_semaphore(races, record);
    case TRACE_SEMAPHORE_DESTROY:
        trace_happens_before_destroy(&races->order, object->object);
        break;
    case TRACE_SEMAPHORE_SIGNAL:
        return trace_happens_before_signal(&races->order, signal->semaphore, signal->value);
    default: break; /* orders and touches nothing */
    }
    return HAL_OK;
}

void trace_races_begin(struct trace_races *races)
{
    *races = (struct trace_races){0};
    trace_happens_before_begin(&races->order, started, races);
}

void trace_races_finish(struct trace_races *races)
{
    for (struct trace_race_work *work = races->work, *next; work; work = next) {
        next = work->next;
        free_work(races, work);
    }
    for (size_t i = 0; i < races->buffer_count; i++)
        trace_pieces_finish(&races->buffers[i].pieces);
    for (size_t i = 0; i < races->command_count; i++)
        trace_race_commands_release(races->commands[i]);
    for (size_t i = 0; i < races->kernel_count; i++)
        free(races->kernels[i].list);
    free(races->buffers);
    free(races->commands);
    free(races->kernels);
    free(races->calls);
    free(races->list);
    hal_idmap_finish(&races->buffer_ids);
    hal_idmap_finish(&races->command_ids);
    hal_idmap_finish(&races->kernel_ids);
    hal_idmap_finish(&races->call_threads);
    trace_reflection_finish(&races->reflection);
    trace_happens_before_finish(&races->order);
    *races = (struct trace_races){0};
}

static enum hal_status take(void *user, const struct trace_event *event,
                            const struct trace_segment *segments)
{
    return trace_races_take(user, event, segments);
}

enum hal_status trace_races_find(struct trace_reader *reader, struct trace_races *races)
{
    return trace_reader_each_in_order(reader, &(struct trace_walk){.visit = take, .user = races});
}

/* ---- Names -------------------------------------------------------------------------------- */

const char *trace_race_side_name(const struct trace_race_side *side,
                                 const struct trace_reader *reader, char out[TRACE_RACE_NAME_BYTES])
{
    const struct hal_locator where = {.submission = side->place,
                                      .has_dispatch = side->dispatch != TRACE_NO_COMMAND,
                                      .dispatch = side->dispatch};
    const char *kernel = side->kernel ? trace_reader_string(reader, side->kernel) : NULL;
    char locator[HAL_LOCATOR_BYTES];
    hal_locator_print(&where, locator);
    if (side->host)
        snprintf(out, TRACE_RACE_NAME_BYTES, "the host's %s at ticket %" PRIu64,
                 side->writes ? "write" : "read", side->place);
    else if (where.has_dispatch)
        snprintf(out, TRACE_RACE_NAME_BYTES, "%s (dispatch of '%.100s')", locator,
                 kernel ? kernel : "?");
    else if (side->command != TRACE_NO_COMMAND)
        snprintf(out, TRACE_RACE_NAME_BYTES, "%s (%s, command %u of command buffer %u)", locator,
                 trace_segment_name(side->kind), side->command, side->command_buffer);
    else
        snprintf(out, TRACE_RACE_NAME_BYTES, "%s (%s of the queue)", locator,
                 side->writes ? "write" : "read");
    return out;
}

bool trace_race_side_is(const struct trace_race_side *side, uint64_t submission, uint32_t dispatch)
{
    return !side->host && side->place == submission &&
           (dispatch == TRACE_NO_COMMAND || side->dispatch == dispatch);
}
