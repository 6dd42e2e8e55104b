/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives in words: which ranks took part, when each arrived, and what each device of a trace
 * of several did. */
#include "viewer/describe/describe.h"
#include "viewer/text/text.h"

#include <inttypes.h>

/* ---- Names -------------------------------------------------------------------------------- */

struct view_collective_names view_collective_names(const struct view_collective *collective)
{
    struct view_collective_names names;
    trace_column_text("collective", "collective", collective->kind, names.kind, sizeof names.kind);
    trace_column_text("collective", "type", collective->type, names.type, sizeof names.type);
    trace_column_text("collective", "reduction", collective->reduction, names.reduction,
                      sizeof names.reduction);
    return names;
}

/* Whether the ranks' values are combined. */
static bool reduces(const struct view_collective *collective)
{
    return collective->kind == TRACE_ALL_REDUCE || collective->kind == TRACE_REDUCE_SCATTER;
}

static void channel_name(const struct view_model *model, uint32_t channel, char *out, size_t bytes)
{
    const struct view_other *o = &model->others[channel];
    const char *label = view_model_string(model, o->label);
    if (*label)
        snprintf(out, bytes, "%s", label);
    else
        snprintf(out, bytes, "channel %" PRIu64, o->id);
}

void view_rank_name(const struct view_model *model, uint32_t device, char *out, size_t bytes)
{
    const struct view_device *d = &model->devices[device];
    if (!d->rank_count)
        snprintf(out, bytes, "device %u", device);
    else if (d->first_rank == d->last_rank)
        snprintf(out, bytes, "rank %u of %u", d->first_rank, d->rank_count);
    else
        snprintf(out, bytes, "ranks %u to %u of %u", d->first_rank, d->last_rank, d->rank_count);
}

void view_collective_label(const struct view_model *model, const struct view_collective *collective,
                           char *out, size_t bytes)
{
    char channel[96];
    channel_name(model, collective->channel, channel, sizeof channel);
    snprintf(out, bytes, "%s %s %s", view_collective_names(collective).kind,
             view_count(collective->count).text, channel);
}

/* ---- One ---------------------------------------------------------------------------------- */

static void describe_bytes(const struct view_model *m, const char *key, uint32_t buffer,
                           uint64_t bytes, struct view_lines *lines)
{
    char name[96];
    if (buffer == VIEW_NO_REF)
        return;
    view_buffer_name(m, buffer, name, sizeof name);
    view_lines_add(lines, key, "%s of %s", view_bytes(bytes).text, name);
}

static void describe_peer(const struct view_collective *c, struct view_lines *lines)
{
    if (c->kind == TRACE_SEND)
        view_lines_add(lines, "to", "rank %u", c->peer);
    else if (c->kind == TRACE_RECEIVE)
        view_lines_add(lines, "from", "rank %u", c->peer);
    else if (c->kind == TRACE_BROADCAST)
        view_lines_add(lines, "from", "rank %u, to all", c->peer);
}

static void describe_others(const struct view_model *m, const struct view_collective *c,
                            struct view_lines *lines)
{
    size_t count;
    const uint32_t *met = view_model_rendezvous(m, c, &count);
    const struct view_submission *own = view_collective_submission(m, c);
    const char *key = "met";
    for (size_t i = 0; i < count; i++) {
        const struct view_collective *other = &m->collectives[met[i]];
        const struct view_submission *s = view_collective_submission(m, other);
        if (other == c)
            continue;
        const uint32_t rank = m->others[other->channel].rank;
        if (!s || !own)
            view_lines_add(lines, key, "rank %u, #s%" PRIu64, rank, other->submission);
        else
            view_lines_add(
                lines, key, "rank %u, #s%" PRIu64 ", which arrived %s %s", rank, other->submission,
                hal_duration_text(s->begin_ns < own->begin_ns ? own->begin_ns - s->begin_ns
                                                              : s->begin_ns - own->begin_ns)
                    .text,
                s->begin_ns < own->begin_ns ? "before" : "later");
        key = "";
    }
    const struct view_collective *last = own && count > 1 ? view_collective_last(m, c) : NULL;
    if (last == c)
        view_lines_add(lines, "waited", "for no other rank: it arrived last");
    else if (last)
        view_lines_add(lines, "waited", "%s of %s, until rank %u arrived",
                       hal_duration_text(view_collective_wait_ns(m, c)).text,
                       hal_duration_text(own->end_ns - own->begin_ns).text,
                       m->others[last->channel].rank);
}

void view_describe_collective(const struct view_model *model,
                              const struct view_submission *submission, struct view_lines *lines)
{
    char channel[96], rank[64];
    if (model->devices_count > 1 || model->devices[0].rank_count) {
        const uint32_t device = view_model_device(model, submission->queue);
        view_rank_name(model, device, rank, sizeof rank);
        view_lines_add(lines, "device", "%s: %s", rank, model->devices[device].about->uri);
    }
    const struct view_collective *c = view_model_collective(model, submission);
    if (!c)
        return;
    const struct view_other *end = &model->others[c->channel];
    const struct view_collective_names names = view_collective_names(c);
    channel_name(model, c->channel, channel, sizeof channel);
    view_lines_add(lines, "collective", "%s of %s %s%s%s%s", names.kind, view_count(c->count).text,
                   names.type, reduces(c) ? " (" : "", reduces(c) ? names.reduction : "",
                   reduces(c) ? ")" : "");
    view_lines_add(lines, "channel", "%s, as rank %u of %u; its number %" PRIu64, channel,
                   end->rank, end->rank_count, c->number);
    describe_peer(c, lines);
    describe_bytes(model, "sends", c->send, c->send_bytes, lines);
    describe_bytes(model, "receives", c->receive, c->receive_bytes, lines);
    describe_others(model, c, lines);
}

/* ---- All ---------------------------------------------------------------------------------- */

void view_describe_devices(const struct view_model *model, struct view_lines *lines)
{
    const int64_t span_ns = model->summary.device_end_ns - model->summary.device_begin_ns;
    char rank[64];
    if (model->devices_count == 1 && !model->devices[0].rank_count)
        return;
    for (uint32_t d = 0; d < model->devices_count; d++) {
        const struct view_device *device = &model->devices[d];
        view_rank_name(model, d, rank, sizeof rank);
        char waiting[96] = "";
        if (model->devices_count > 1)
            snprintf(waiting, sizeof waiting, " (%s of it waiting for others)",
                     hal_duration_text(device->waiting_ns).text);
        view_lines_add(lines, d ? "" : "devices", "%s: busy %s, %s in %s%s, %s", rank,
                       view_share(device->busy_ns, span_ns).text,
                       hal_duration_text(device->collective_ns).text,
                       view_things(device->collectives, "collective").text, waiting,
                       device->about->uri);
    }
}
