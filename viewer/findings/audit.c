/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about what was recorded: races, barriers that order nothing, state that was there
 * already, contents that were written again, memory. Needs another pass over the file, since the
 * model does not keep what commands are bound to. */
#include "viewer/findings/findings.h"

#include "format/analysis/races.h"
#include "hal/base/hash.h"
#include "hal/base/idmap.h"
#include "viewer/model/build.h"
#include "viewer/text/text.h"

#include <inttypes.h>
#include <stdio.h>

enum { AUDIT_SETS = 4 }; /* HAL_MAX_SETS */

/* Things of one sort in the command buffers, counted as often as they were submitted. */
struct counted {
    uint64_t count, of;
    uint32_t example; /* row of the command buffer in the model, VIEW_NO_REF: none */
    uint32_t segment;
};

/* The contents that a range of a buffer got last. */
struct written {
    uint64_t buffer, offset, size, content;
};

struct audit {
    const struct view_model *model;
    struct view_findings *findings;
    uint32_t *submit_counts; /* by command buffer */
    struct hal_idmap command_buffers, written_ids;
    struct counted redundant, unknown, state;
    struct trace_races races;
    VIEW_TABLE(written, written);
    uint64_t repeated, repeated_bytes, upload_bytes;
    int64_t repeated_ns;
    uint64_t repeated_buffer;
    int64_t repeated_at_ns;
    enum hal_status status;
};

/* ---- Command buffers ---------------------------------------------------------------------- */

static void count_in(struct counted *counted, uint64_t times, uint32_t row, uint32_t segment)
{
    counted->count += times;
    if (counted->example == VIEW_NO_REF) {
        counted->example = row;
        counted->segment = segment;
    }
}

static enum hal_status note_verdict(struct view_findings *findings, uint32_t row,
                                    const struct trace_barrier_verdict *barrier)
{
    enum { MOST_VERDICTS = 1 << 22 }; /* the others count as needed on the tracks */
    if (findings->verdicts_count >= MOST_VERDICTS)
        return HAL_OK;
    HAL_TRY(VIEW_ROOM(findings, verdicts, 1));
    findings->verdicts[findings->verdicts_count++] = (struct view_verdict){
        .commands = row, .segment = barrier->command, .need = (uint32_t)barrier->need};
    return HAL_OK;
}

/* For trace_races: the barriers of a command buffer that is submitted. */
static enum hal_status take_hazards(void *user, const struct trace_command_buffer_seal *seal,
                                    const struct trace_hazards *hazards)
{
    struct audit *a = user;
    enum hal_status status = HAL_OK;
    uint32_t row;
    if (!hal_idmap_find(&a->command_buffers, seal->command_buffer, &row))
        return HAL_OK;
    const uint64_t times = a->submit_counts[row];
    for (size_t i = 0; times && i < hazards->barrier_count && status == HAL_OK; i++) {
        const struct trace_barrier_verdict *barrier = &hazards->barriers[i];
        a->redundant.of += times;
        if (barrier->need != TRACE_BARRIER_NEEDED)
            status = note_verdict(a->findings, row, barrier);
        if (barrier->need == TRACE_BARRIER_REDUNDANT)
            count_in(&a->redundant, times, row, barrier->command);
        else if (barrier->need == TRACE_BARRIER_UNKNOWN)
            count_in(&a->unknown, times, row, barrier->command);
    }
    return status;
}

/* The state set by pushes, as far as pushes of this command buffer define it. */
struct state {
    const struct trace_push_descriptor_set *sets[AUDIT_SETS];
    uint8_t constants[TRACE_MAX_CONSTANT_BYTES];
    uint8_t known[TRACE_MAX_CONSTANT_BYTES];
};

static bool constants_again(struct state *state, const struct trace_push_constants *push)
{
    if (!hal_range_fits(push->offset, push->size, TRACE_MAX_CONSTANT_BYTES) || !push->size)
        return false;
    bool again = memcmp(state->constants + push->offset, push->data, push->size) == 0;
    for (uint32_t i = 0; i < push->size && again; i++)
        again = state->known[push->offset + i];
    memcpy(state->constants + push->offset, push->data, push->size);
    memset(state->known + push->offset, 1, push->size);
    return again;
}

static bool bindings_again(struct state *state, const struct trace_push_descriptor_set *push)
{
    if (push->set >= AUDIT_SETS)
        return false;
    const struct trace_push_descriptor_set *before = state->sets[push->set];
    state->sets[push->set] = push;
    return before && before->head.bytes == push->head.bytes &&
           memcmp(before, push, push->head.bytes) == 0;
}

static void audit_state(struct audit *a, uint32_t row, const struct trace_command_buffer_seal *seal,
                        const struct trace_segment *segment)
{
    const uint64_t times = a->submit_counts[row];
    struct state state = {{NULL}, {0}, {0}};
    for (uint32_t i = 0; i < seal->segment_count; i++, segment = trace_next_segment(segment)) {
        const void *typed = segment;
        bool again = false;
        if (segment->kind == TRACE_PUSH_CONSTANTS)
            again = constants_again(&state, typed);
        else if (segment->kind == TRACE_PUSH_DESCRIPTOR_SET)
            again = bindings_again(&state, typed);
        else
            continue;
        a->state.of += times;
        if (again)
            count_in(&a->state, times, row, i);
    }
}

static void take_seal(struct audit *a, const struct trace_command_buffer_seal *seal,
                      const struct trace_segment *segments)
{
    uint32_t row;
    if (hal_idmap_find(&a->command_buffers, seal->command_buffer, &row) && a->submit_counts[row])
        audit_state(a, row, seal, segments);
}

/* The clock's time as the model's. Unsigned, since a damaged file holds any. */
static int64_t moment(const struct audit *a, int64_t clock_ns)
{
    return (int64_t)((uint64_t)clock_ns - (uint64_t)a->model->origin_ns);
}

/* ---- Contents ----------------------------------------------------------------------------- */

static bool is_same_range(const void *user, uint32_t index)
{
    const struct audit *a = user;
    const struct written *known = &a->written[index], *wanted = &a->written[a->written_count];
    return known->buffer == wanted->buffer && known->offset == wanted->offset &&
           known->size == wanted->size;
}

static enum hal_status find_range(struct audit *a, const struct trace_content_event *event,
                                  struct written **out)
{
    const uint64_t hash = hal_hash_add(hal_hash_add(event->buffer, event->offset), event->size);
    uint32_t index;
    HAL_TRY(VIEW_ROOM(a, written, 1));
    a->written[a->written_count] =
        (struct written){.buffer = event->buffer, .offset = event->offset, .size = event->size};
    if (!hal_idmap_intern(&a->written_ids, hash, is_same_range, a, (uint32_t)a->written_count,
                          &index))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu uploads", a->written_count);
    a->written_count += index == a->written_count;
    *out = &a->written[index];
    return HAL_OK;
}

static enum hal_status take_write(struct audit *a, const struct trace_content_event *event)
{
    struct written *written = NULL;
    if ((event->flags & TRACE_FLAG_SNAPSHOT) || !event->content)
        return HAL_OK;
    HAL_TRY(find_range(a, event, &written));
    a->upload_bytes += event->size;
    if (written->content == event->content) {
        if (!a->repeated++) {
            a->repeated_buffer = event->buffer;
            a->repeated_at_ns = moment(a, event->head.begin_ns);
        }
        a->repeated_bytes += event->size;
        a->repeated_ns += event->head.end_ns - event->head.begin_ns;
    }
    written->content = event->content;
    return HAL_OK;
}

static const char *buffer_label(const struct view_model *m, uint64_t id, char *out, size_t bytes)
{
    for (size_t i = 0; i < m->buffers_count; i++) {
        if (m->buffers[i].id == id && m->buffers[i].label) {
            snprintf(out, bytes, "'%s'", view_model_string(m, m->buffers[i].label));
            return out;
        }
    }
    snprintf(out, bytes, "buffer %" PRIu64, id);
    return out;
}

/* ---- Records ------------------------------------------------------------------------------ */

static enum hal_status take(void *user, const struct trace_event *event,
                            const struct trace_segment *segments)
{
    struct audit *a = user;
    const void *record = event;
    HAL_TRY(trace_races_take(&a->races, event, segments));
    if (event->kind == TRACE_COMMAND_BUFFER_SEAL)
        take_seal(a, record, segments);
    if (event->kind == TRACE_HOST_WRITE)
        return take_write(a, record);
    return HAL_OK;
}

static enum hal_status prepare(struct audit *a)
{
    const struct view_model *m = a->model;
    uint32_t row;
    a->submit_counts = hal_alloc(m->command_buffers_count, sizeof *a->submit_counts);
    if (!a->submit_counts)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu command buffers",
                        m->command_buffers_count);
    for (size_t i = 0; i < m->submitted_count; i++)
        a->submit_counts[m->submitted[i]]++;
    for (uint32_t i = 0; i < m->command_buffers_count; i++) {
        if (!hal_idmap_add(&a->command_buffers, m->command_buffers[i].id, i, &row))
            return hal_fail(HAL_NO_MEMORY, "no memory for %zu command buffers",
                            m->command_buffers_count);
    }
    return HAL_OK;
}

/* ---- Findings ----------------------------------------------------------------------------- */

static struct view_finding *add(struct audit *a, struct view_findings *findings,
                                enum view_finding_kind kind)
{
    struct view_finding *finding = view_findings_add(findings, kind);
    if (!finding)
        a->status = hal_fail(HAL_NO_MEMORY, "no memory for the findings");
    return finding;
}

/* Points at the first submission of the example's command buffer. */
static void point(const struct audit *a, const struct counted *counted,
                  struct view_finding *finding)
{
    const struct view_model *m = a->model;
    for (uint32_t i = 0; i < m->submissions_count; i++) {
        const struct view_submission *s = &m->submissions[i];
        for (uint32_t k = 0; k < s->commands_count; k++) {
            if (m->submitted[s->first_commands + k] == counted->example) {
                view_finding_at_submission(m, i, finding);
                return;
            }
        }
    }
}

/* At the later side: at its submission, else at the moment of the host's call. */
static void point_at_race(const struct view_model *m, const struct trace_race *race,
                          struct view_finding *finding)
{
    const struct trace_race_side *side = race->after.host ? &race->before : &race->after;
    const uint32_t submission = side->host ? VIEW_NO_REF : view_model_submission(m, side->place);
    if (submission != VIEW_NO_REF)
        view_finding_at_submission(m, submission, finding);
}

static void report_races(struct audit *a, struct view_findings *findings, bool declared)
{
    const struct trace_races *races = &a->races;
    const uint64_t count = declared ? races->declared_count : races->count - races->declared_count;
    struct view_finding *finding =
        count ? add(a, findings, declared ? VIEW_FINDING_RACES : VIEW_FINDING_POSSIBLE_RACES)
              : NULL;
    char name[96], before[TRACE_RACE_NAME_BYTES], after[TRACE_RACE_NAME_BYTES];
    size_t i = 0;
    if (!finding)
        return;
    while (i < races->list_count && races->list[i].declared != declared)
        i++;
    finding->count = count;
    snprintf(finding->title, sizeof finding->title, "%s %saccesses that nothing orders",
             view_count(count).text, declared ? "conflicting " : "possibly conflicting ");
    if (i == races->list_count)
        return; /* only counted */
    const struct trace_race *race = &races->list[i];
    point_at_race(a->model, race, finding);
    snprintf(finding->evidence, sizeof finding->evidence,
             "%s and %s access %s of %s at %" PRIu64 ", %s, and no %s between them.",
             trace_race_side_name(&race->before, a->model->reader, before),
             trace_race_side_name(&race->after, a->model->reader, after),
             view_bytes(race->end - race->begin).text,
             buffer_label(a->model, race->buffer, name, sizeof name), race->begin,
             declared ? "at least one writes" : "at least one may write there",
             race->inside ? "barrier stands" : "semaphore or wait of the host stands");
    snprintf(finding->proof, sizeof finding->proof, "hal-trace races");
}

static void report_barriers(struct audit *a, struct view_findings *findings)
{
    struct view_finding *finding =
        a->redundant.count ? add(a, findings, VIEW_FINDING_BARRIERS) : NULL;
    if (!finding)
        return;
    finding->count = a->redundant.count;
    point(a, &a->redundant, finding);
    snprintf(finding->title, sizeof finding->title, "%s of %s order nothing",
             view_count(a->redundant.count).text, view_things(a->redundant.of, "barrier").text);
    snprintf(finding->evidence, sizeof finding->evidence,
             "The commands around them share no bytes that one of them writes, or another barrier "
             "orders them; the first is command %u of its command buffer. %s more depend on "
             "whether kernels write their bindings.",
             a->redundant.segment, view_count(a->unknown.count).text);
    snprintf(finding->proof, sizeof finding->proof, "hal-replay --what-if=drop-barriers");
}

static void report_state(struct audit *a, struct view_findings *findings)
{
    struct view_finding *finding = a->state.count ? add(a, findings, VIEW_FINDING_STATE) : NULL;
    if (!finding)
        return;
    finding->count = a->state.count;
    point(a, &a->state, finding);
    snprintf(finding->title, sizeof finding->title, "%s of %s change nothing",
             view_count(a->state.count).text, view_things(a->state.of, "push").text);
    snprintf(finding->evidence, sizeof finding->evidence,
             "The same constants or bindings had been pushed before; the first is command %u of "
             "its command buffer.",
             a->state.segment);
    snprintf(finding->proof, sizeof finding->proof,
             "hal-trace dump --kind=command_buffer_seal --object=%" PRIu64,
             a->model->command_buffers[a->state.example].id);
}

static void report_uploads(struct audit *a, struct view_findings *findings)
{
    struct view_finding *finding = a->repeated ? add(a, findings, VIEW_FINDING_UPLOADS) : NULL;
    char name[96];
    if (!finding)
        return;
    finding->count = a->repeated;
    finding->bytes = a->repeated_bytes;
    view_finding_cost(a->model, a->repeated_ns, a->repeated_ns, finding);
    finding->at_ns = a->repeated_at_ns;
    snprintf(finding->title, sizeof finding->title, "%s uploaded again by the host",
             view_things(a->repeated, "upload").text);
    snprintf(finding->evidence, sizeof finding->evidence,
             "%s of %s uploaded: the same bytes to the same place, first in %s. Necessary only if "
             "the device changed them in between.",
             view_bytes(a->repeated_bytes).text, view_bytes(a->upload_bytes).text,
             buffer_label(a->model, a->repeated_buffer, name, sizeof name));
    snprintf(finding->proof, sizeof finding->proof, "hal-trace dump --kind=host_write");
}

static void report_memory(struct audit *a, struct view_findings *findings)
{
    const struct view_model *m = a->model;
    const bool any = m->peak_level != VIEW_NO_REF && m->levels[m->peak_level].bytes;
    struct view_finding *finding = any ? add(a, findings, VIEW_FINDING_MEMORY) : NULL;
    char name[96];
    if (!finding)
        return;
    const struct view_level *peak = &m->levels[m->peak_level];
    uint32_t largest = VIEW_NO_REF;
    for (uint32_t i = 0; i < m->buffers_count; i++) {
        const struct view_buffer *b = &m->buffers[i];
        const bool alive = (b->create_ns == VIEW_NO_TIME || b->create_ns <= peak->time_ns) &&
                           (b->destroy_ns == VIEW_NO_TIME || b->destroy_ns > peak->time_ns);
        if (alive && (largest == VIEW_NO_REF || b->bytes > m->buffers[largest].bytes))
            largest = i;
    }
    finding->count = peak->buffers;
    finding->bytes = peak->bytes;
    finding->at_ns = peak->time_ns;
    finding->track = m->memory_track;
    finding->event = m->peak_level;
    snprintf(finding->proof, sizeof finding->proof, "hal-view --print=memory");
    snprintf(finding->title, sizeof finding->title, "peak memory of buffers: %s",
             view_bytes(peak->bytes).text);
    if (largest == VIEW_NO_REF) /* one number was used for several buffers */
        return;
    snprintf(finding->evidence, sizeof finding->evidence,
             "%s alive at %s; the largest is %s with %s.",
             view_things(peak->buffers, "buffer").text, hal_moment_text(peak->time_ns).text,
             buffer_label(m, m->buffers[largest].id, name, sizeof name),
             view_bytes(m->buffers[largest].bytes).text);
}

enum hal_status view_findings_audit(const struct view_model *model, struct view_findings *findings)
{
    struct audit a = {.model = model,
                      .findings = findings,
                      .redundant.example = VIEW_NO_REF,
                      .unknown.example = VIEW_NO_REF,
                      .state.example = VIEW_NO_REF};
    trace_races_begin(&a.races);
    a.races.ended = take_hazards;
    a.races.user = &a;
    a.races.inside_only = !view_model_is_whole(model);
    a.status = prepare(&a);
    if (a.status == HAL_OK)
        a.status = view_model_each_in_order(model, findings->task, take, &a);
    if (a.status == HAL_OK) {
        report_races(&a, findings, true);
        report_races(&a, findings, false);
        report_barriers(&a, findings);
        report_state(&a, findings);
        report_uploads(&a, findings);
        report_memory(&a, findings);
    }
    trace_races_finish(&a.races);
    hal_idmap_finish(&a.command_buffers);
    hal_idmap_finish(&a.written_ids);
    free(a.submit_counts);
    free(a.written);
    return a.status;
}
