/* SPDX-License-Identifier: Apache-2.0 */
/* Several devices in one trace: which queues belong to which device, the rank of each, which
 * collectives of ranks form one operation, when each rank arrived, and what each device did. */
#include "hal/base/order.h"
#include "viewer/model/build.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 64 }; /* of a group */

/* ---- Devices ------------------------------------------------------------------------------- */

static void add_device(struct view_model *m, const struct trace_capture *capture)
{
    m->devices[m->devices_count++] = (struct view_device){.about = &capture->device,
                                                          .program = capture->program,
                                                          .host = capture->host,
                                                          .process_id = capture->process_id,
                                                          .queue_base = capture->queue_base,
                                                          .object_base = capture->object_base,
                                                          .track = VIEW_NO_TRACK};
}

/* Captures whose numbers do not increase are trusted no more than any other number of the file. */
static bool follows(const struct trace_capture *before, const struct trace_capture *after)
{
    return before->queue_base <= after->queue_base && before->object_base <= after->object_base;
}

static enum hal_status find_devices(struct view_model *m)
{
    const struct trace_header *header = m->header;
    HAL_TRY(VIEW_ROOM(m, devices, header->capture_count + 1));
    for (size_t i = 0; i < header->capture_count && m->devices_count < TRACE_MAX_QUEUES; i++) {
        if (i ? follows(&header->captures[i - 1], &header->captures[i])
              : !header->captures[i].queue_base)
            add_device(m, &header->captures[i]);
        else
            break;
    }
    if (m->devices_count)
        return HAL_OK;
    const struct trace_capture all = {
        .program = header->program, .host = header->host, .process_id = header->process_id};
    add_device(m, &all);
    m->devices[0].about = &header->device;
    return HAL_OK;
}

uint32_t view_model_device(const struct view_model *model, uint32_t queue)
{
    size_t device = model->devices_count - 1;
    while (device > 0 && model->devices[device].queue_base > queue)
        device--;
    return (uint32_t)device;
}

static uint32_t device_of_object(const struct view_model *m, uint64_t object)
{
    size_t device = m->devices_count - 1;
    while (device > 0 && m->devices[device].object_base >= object)
        device--;
    return (uint32_t)device;
}

uint32_t view_model_device_track(const struct view_model *model, uint32_t queue)
{
    const uint32_t track = model->devices[view_model_device(model, queue)].track;
    return track != VIEW_NO_TRACK ? track : model->device_track;
}

bool view_track_iterations(const struct view_model *model, const struct view_track *track)
{
    return track->kind == VIEW_TRACK_COMMANDS || track->kind == VIEW_TRACK_BARRIERS ||
           track->kind == VIEW_TRACK_SEMAPHORES ||
           (track->kind == VIEW_TRACK_DEVICE && model->devices_count > 1 &&
            track->object == VIEW_NO_REF);
}

/* The largest group of a device determines its rank. */
static void find_ranks(struct view_model *m)
{
    for (size_t i = 0; i < m->others_count; i++) {
        const struct view_other *channel = &m->others[i];
        struct view_device *d = &m->devices[device_of_object(m, channel->id)];
        if (!channel->rank_count || channel->rank_count < d->rank_count)
            continue;
        if (channel->rank_count > d->rank_count) {
            d->rank_count = channel->rank_count;
            d->first_rank = d->last_rank = channel->rank;
        }
        d->first_rank = channel->rank < d->first_rank ? channel->rank : d->first_rank;
        d->last_rank = channel->rank > d->last_rank ? channel->rank : d->last_rank;
    }
}

/* ---- Collectives --------------------------------------------------------------------------- */

HAL_COMPARE(compare_numbers, struct view_collective, submission)

const struct view_collective *view_model_collective(const struct view_model *model,
                                                    const struct view_submission *submission)
{
    const struct view_collective key = {.submission = submission->number};
    if (submission->operation != TRACE_OPERATION_COLLECTIVE || !model->collectives_count)
        return NULL;
    return bsearch(&key, model->collectives, model->collectives_count, sizeof key, compare_numbers);
}

/* Collectives with the same one are one. Groups are numbered by process; a send and its receive
 * are counted between two ranks. */
struct rendezvous {
    const char *host;
    uint64_t process, group, number;
    uint32_t between, from, to;
};

static struct rendezvous rendezvous_of(const struct view_model *m, const struct view_collective *c)
{
    const struct view_other *channel = &m->others[c->channel];
    const struct view_device *d = &m->devices[device_of_object(m, channel->id)];
    struct rendezvous rendezvous = {.host = d->host,
                                    .process = d->process_id,
                                    .group = channel->group,
                                    .number = c->number,
                                    .between = c->kind == TRACE_SEND || c->kind == TRACE_RECEIVE};
    if (rendezvous.between) {
        rendezvous.from = c->kind == TRACE_SEND ? channel->rank : c->peer;
        rendezvous.to = c->kind == TRACE_SEND ? c->peer : channel->rank;
    }
    return rendezvous;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_rendezvous(const struct rendezvous *a, const struct rendezvous *b)
{
    const int host = strcmp(a->host, b->host);
    const int orders[] = {host,
                          compare_u64(a->process, b->process),
                          compare_u64(a->group, b->group),
                          compare_u64(a->between, b->between),
                          compare_u64(a->from, b->from),
                          compare_u64(a->to, b->to),
                          compare_u64(a->number, b->number)};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (orders[i])
            return orders[i];
    }
    return 0;
}

/* A collective while all are ordered. */
struct met {
    struct rendezvous rendezvous;
    uint32_t rank, index;
};

static int compare_met(const void *left, const void *right)
{
    const struct met *a = left, *b = right;
    const int order = compare_rendezvous(&a->rendezvous, &b->rendezvous);
    if (order)
        return order;
    return a->rank != b->rank ? compare_u64(a->rank, b->rank) : compare_u64(a->index, b->index);
}

static enum hal_status find_rendezvous(struct view_model *m)
{
    const size_t count = m->collectives_count;
    struct met *met = hal_alloc(count, sizeof *met);
    m->rendezvous = hal_alloc(count, sizeof *m->rendezvous);
    if (!met || !m->rendezvous) {
        free(met);
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu collectives", count);
    }
    for (uint32_t i = 0; i < count; i++)
        met[i] = (struct met){.rendezvous = rendezvous_of(m, &m->collectives[i]),
                              .rank = m->others[m->collectives[i].channel].rank,
                              .index = i};
    qsort(met, count, sizeof *met, compare_met);
    for (size_t i = 0; i < count; i++)
        m->rendezvous[i] = met[i].index;
    free(met);
    return HAL_OK;
}

const uint32_t *view_model_rendezvous(const struct view_model *model,
                                      const struct view_collective *collective, size_t *out_count)
{
    const struct rendezvous wanted = rendezvous_of(model, collective);
    size_t low = 0, high = model->collectives_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct rendezvous other =
            rendezvous_of(model, &model->collectives[model->rendezvous[middle]]);
        if (compare_rendezvous(&other, &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low; high < model->collectives_count && high - low < MOST_RANKS; high++) {
        const struct rendezvous other =
            rendezvous_of(model, &model->collectives[model->rendezvous[high]]);
        if (compare_rendezvous(&other, &wanted) != 0)
            break;
    }
    *out_count = high - low;
    return model->rendezvous + low;
}

/* ---- Who came when ------------------------------------------------------------------------- */

const struct view_submission *view_collective_submission(const struct view_model *model,
                                                         const struct view_collective *collective)
{
    const uint32_t submission = view_model_submission(model, collective->submission);
    const bool came =
        submission != VIEW_NO_REF && model->submissions[submission].begin_ns != VIEW_NO_TIME;
    return came ? &model->submissions[submission] : NULL;
}

const struct view_collective *view_collective_last(const struct view_model *model,
                                                   const struct view_collective *collective)
{
    size_t count;
    const uint32_t *met = view_model_rendezvous(model, collective, &count);
    const struct view_collective *last = NULL;
    int64_t last_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const struct view_submission *s =
            view_collective_submission(model, &model->collectives[met[i]]);
        if (s && (!last || s->begin_ns > last_ns)) {
            last = &model->collectives[met[i]];
            last_ns = s->begin_ns;
        }
    }
    return last;
}

int64_t view_collective_wait_ns(const struct view_model *model,
                                const struct view_collective *collective)
{
    const struct view_submission *own = view_collective_submission(model, collective);
    const struct view_collective *last = own ? view_collective_last(model, collective) : NULL;
    if (!last)
        return 0;
    const int64_t ns = view_collective_submission(model, last)->begin_ns;
    return (ns < own->end_ns ? ns : own->end_ns) - own->begin_ns;
}

/* ---- All ----------------------------------------------------------------------------------- */

enum hal_status view_build_ranks(struct view_model *model)
{
    HAL_TRY(find_devices(model));
    find_ranks(model);
    if (!model->collectives_count)
        return HAL_OK;
    qsort(model->collectives, model->collectives_count, sizeof *model->collectives,
          compare_numbers);
    return find_rendezvous(model);
}

void view_build_devices(struct view_model *model)
{
    for (size_t d = 0; d < model->devices_count; d++) {
        const uint32_t track = model->devices[d].track;
        struct view_measure measure = {0};
        if (track != VIEW_NO_TRACK)
            view_series_measure(&model->tracks[track].series, model->first_ns, model->last_ns,
                                &measure);
        model->devices[d].busy_ns = measure.busy_ns[VIEW_EXECUTE];
    }
    for (size_t i = 0; i < model->collectives_count; i++) {
        const struct view_collective *c = &model->collectives[i];
        const struct view_submission *s = view_collective_submission(model, c);
        if (!s)
            continue;
        struct view_device *device = &model->devices[view_model_device(model, s->queue)];
        device->collectives++;
        device->collective_ns += s->end_ns - s->begin_ns;
        device->waiting_ns += view_collective_wait_ns(model, c);
    }
}
