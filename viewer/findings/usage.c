/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about unused bytes: commands whose results never reach the host, and bytes that the host
 * wrote too late or that nothing reads. Whole buffers are examined, and unknown accesses count as
 * reads and writes, so that nothing is reported which may be needed. */
#include "viewer/findings/findings.h"

#include "format/analysis/reflection.h"
#include "hal/base/hash.h"
#include "hal/base/idmap.h"
#include "viewer/describe/describe.h"
#include "viewer/model/build.h"
#include "viewer/text/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Who reads a buffer. */
struct use {
    uint64_t id;
    int64_t last_read_ns; /* of a host thread; VIEW_NO_TIME: none does */
    uint32_t last_reader; /* submission that may read it, VIEW_NO_REF: none */
    bool unlimited;       /* a host thread may read it at any time */
    bool needed;          /* what is in it may reach the host */
};

enum { MAY_READ = 1, MAY_WRITE = 2 };

/* A buffer that a command touches. */
struct touched {
    uint32_t use; /* row */
    uint32_t how;
};

/* What commands touch: the same buffers in the same way are stored once. */
struct command {
    uint32_t first, count; /* in `touched` */
    bool needed;
};

struct usage {
    const struct view_model *model;
    uint32_t *last_submission; /* by command buffer, VIEW_NO_REF: never submitted */
    uint32_t *dead;            /* by command buffer: commands without a reader */
    struct hal_idmap command_buffers, ids, command_ids;
    VIEW_TABLE(use, uses);
    VIEW_TABLE(touched, touched);
    VIEW_TABLE(command, commands);
    VIEW_TABLE(touched, list); /* of the command that is visited */
    uint32_t row, number;      /* its command buffer, and its number there */
    bool second_pass;          /* commands are known */
    enum hal_status status;
};

static struct use *use_of(struct usage *u, uint64_t id)
{
    uint32_t row;
    if (u->status == HAL_OK)
        u->status = VIEW_ROOM(u, uses, 1);
    if (u->status != HAL_OK)
        return NULL;
    if (!hal_idmap_add(&u->ids, id, (uint32_t)u->uses_count, &row)) {
        u->status = hal_fail(HAL_NO_MEMORY, "no memory for the uses of %zu buffers", u->uses_count);
        return NULL;
    }
    if (row == u->uses_count)
        u->uses[u->uses_count++] =
            (struct use){.id = id, .last_read_ns = VIEW_NO_TIME, .last_reader = VIEW_NO_REF};
    return &u->uses[row];
}

static void read_by(struct use *use, uint32_t submission)
{
    if (submission != VIEW_NO_REF &&
        (use->last_reader == VIEW_NO_REF || submission > use->last_reader))
        use->last_reader = submission;
}

/* ---- Commands ----------------------------------------------------------------------------- */

static bool is_same(const void *user, uint32_t index)
{
    const struct usage *u = user;
    const struct command *command = &u->commands[index];
    return command->count == u->list_count &&
           memcmp(u->touched + command->first, u->list, u->list_count * sizeof *u->list) == 0;
}

/* The command with the list's accesses, created if new; NULL: out of memory. */
static struct command *command_of(struct usage *u)
{
    uint64_t hash = u->list_count;
    uint32_t index;
    for (size_t i = 0; i < u->list_count; i++)
        hash = hal_hash_add(hash, (uint64_t)u->list[i].use << 2 | u->list[i].how);
    if ((u->status = VIEW_ROOM(u, commands, 1)) != HAL_OK ||
        (u->status = VIEW_ROOM(u, touched, u->list_count)) != HAL_OK)
        return NULL;
    if (!hal_idmap_intern(&u->command_ids, hash, is_same, u, (uint32_t)u->commands_count, &index)) {
        u->status = hal_fail(HAL_NO_MEMORY, "no memory for %zu commands", u->commands_count);
        return NULL;
    }
    if (index == u->commands_count) {
        u->commands[u->commands_count++] =
            (struct command){.first = (uint32_t)u->touched_count, .count = (uint32_t)u->list_count};
        memcpy(u->touched + u->touched_count, u->list, u->list_count * sizeof *u->list);
        u->touched_count += u->list_count;
    }
    return &u->commands[index];
}

static void end_command(struct usage *u)
{
    const struct command *command = u->list_count && u->status == HAL_OK ? command_of(u) : NULL;
    if (command && u->second_pass)
        u->dead[u->row] += !command->needed;
    u->list_count = 0;
}

static void take_access(void *user, const struct trace_access *access)
{
    struct usage *u = user;
    struct use *use = access->mode ? use_of(u, access->buffer) : NULL;
    uint32_t how = 0;
    if (access->command != u->number)
        end_command(u);
    u->number = access->command;
    if (!use || u->status != HAL_OK || (u->status = VIEW_ROOM(u, list, 1)) != HAL_OK)
        return;
    if (trace_access_reads(access->mode))
        how |= MAY_READ;
    if (trace_access_writes(access->mode))
        how |= MAY_WRITE;
    if (how & MAY_READ)
        read_by(use, u->last_submission[u->row]);
    u->list[u->list_count++] = (struct touched){.use = (uint32_t)(use - u->uses), .how = how};
}

static enum hal_status take_seal(struct usage *u, const struct trace_command_buffer_seal *seal,
                                 const struct trace_segment *segments)
{
    struct trace_reflection reflection = u->model->reflection; /* only read */
    if (!hal_idmap_find(&u->command_buffers, seal->command_buffer, &u->row) ||
        u->last_submission[u->row] == VIEW_NO_REF)
        return HAL_OK;
    u->number = TRACE_NO_COMMAND;
    trace_each_access(seal, segments, trace_reflection_mode, &reflection, take_access, u);
    end_command(u);
    return u->status;
}

/* ---- Who reads what ----------------------------------------------------------------------- */

static enum hal_status take_read(void *user, const struct trace_event *event,
                                 const struct trace_segment *segments)
{
    struct usage *u = user;
    const void *record = event;
    const struct trace_content_event *content = record;
    const struct trace_mapping_event *mapping = record;
    const struct trace_submit *submit = record;
    struct use *use;
    if (event->kind == TRACE_COMMAND_BUFFER_SEAL)
        return take_seal(u, record, segments);
    if (event->kind == TRACE_HOST_READ && (use = use_of(u, content->buffer))) {
        const int64_t at_ns = (int64_t)((uint64_t)event->end_ns - (uint64_t)u->model->origin_ns);
        use->last_read_ns = at_ns > use->last_read_ns ? at_ns : use->last_read_ns;
        use->needed = true;
    } else if (event->kind == TRACE_BUFFER_MAP && (mapping->mode & 1u) &&
               (use = use_of(u, mapping->buffer))) {
        use->unlimited = use->needed = true; /* what is read through it need not be recorded */
    } else if (event->kind == TRACE_SUBMIT && submit->operation == TRACE_OPERATION_WRITE &&
               (use = use_of(u, submit->buffer))) {
        read_by(use, view_model_submission(u->model, submit->submission));
        use->needed = true;
    }
    return u->status;
}

static enum hal_status take_again(void *user, const struct trace_event *event,
                                  const struct trace_segment *segments)
{
    const void *record = event;
    return event->kind == TRACE_COMMAND_BUFFER_SEAL ? take_seal(user, record, segments) : HAL_OK;
}

/* ---- Dead work ---------------------------------------------------------------------------- */

/* A command is needed if it may write something needed, or if its writes are unknown. */
static bool is_needed(const struct usage *u, const struct command *command)
{
    bool writes = false;
    for (uint32_t i = 0; i < command->count; i++) {
        const struct touched *touched = &u->touched[command->first + i];
        if (!(touched->how & MAY_WRITE))
            continue;
        writes = true;
        if (u->uses[touched->use].needed)
            return true;
    }
    return !writes;
}

/* From what the host reads back to what that was made of, until nothing is added; whatever the
 * order in time. Returns whether any command is left over. */
static bool spread_needs(struct usage *u, const struct view_task *task)
{
    bool changed = false, left = false;
    for (size_t i = 0; i < u->uses_count; i++)
        changed = changed || u->uses[i].needed;
    if (!changed)
        return false; /* the host reads nothing at all: this trace cannot decide */
    while (changed && !view_task_stopped(task)) {
        changed = left = false;
        for (size_t i = 0; i < u->commands_count; i++) {
            struct command *command = &u->commands[i];
            if (command->needed || !is_needed(u, command)) {
                left = left || !command->needed;
                continue;
            }
            command->needed = changed = true;
            for (uint32_t k = 0; k < command->count; k++) {
                const struct touched *touched = &u->touched[command->first + k];
                if (touched->how & MAY_READ)
                    u->uses[touched->use].needed = true;
            }
        }
    }
    return left;
}

/* A buffer that a command writes and nothing reads. */
static const struct use *example_of(const struct usage *u)
{
    for (size_t i = 0; i < u->commands_count; i++) {
        for (uint32_t k = 0; k < u->commands[i].count && !u->commands[i].needed; k++) {
            if (u->touched[u->commands[i].first + k].how & MAY_WRITE)
                return &u->uses[u->touched[u->commands[i].first + k].use];
        }
    }
    return NULL;
}

static const char *name_of(const struct view_model *m, uint64_t id, char *out, size_t bytes)
{
    for (uint32_t i = 0; i < m->buffers_count; i++) {
        if (m->buffers[i].id == id) {
            view_buffer_name(m, i, out, bytes);
            return out;
        }
    }
    snprintf(out, bytes, "buffer %" PRIu64, id);
    return out;
}

/* The share of their submissions' execution that dead commands are, each weighed alike. */
static enum hal_status report_dead(struct usage *u, struct view_findings *findings)
{
    const struct view_model *m = u->model;
    uint32_t example = VIEW_NO_REF, commands = VIEW_NO_REF;
    uint64_t count = 0;
    int64_t cost_ns = 0, executed_ns = 0;
    char name[96];
    for (uint32_t i = 0; i < m->submissions_count; i++) {
        const struct view_submission *s = &m->submissions[i];
        uint64_t dead = 0, work = 0;
        for (uint32_t k = 0; k < s->commands_count; k++) {
            const uint32_t row = m->submitted[s->first_commands + k];
            const struct view_body *body = view_body(m, row);
            dead += u->dead[row];
            commands = u->dead[row] && commands == VIEW_NO_REF ? row : commands;
            work += (uint64_t)body->dispatch_count + body->transfer_count;
        }
        count += dead;
        if (dead && work && s->begin_ns != VIEW_NO_TIME) {
            executed_ns += s->end_ns - s->begin_ns;
            cost_ns += (int64_t)((double)(s->end_ns - s->begin_ns) * (double)dead / (double)work);
        }
        example = dead && example == VIEW_NO_REF ? i : example;
    }
    if (!count)
        return HAL_OK;
    struct view_finding *finding = view_findings_add(findings, VIEW_FINDING_DEAD);
    if (!finding)
        return hal_fail(HAL_NO_MEMORY, "no memory for the findings");
    const struct use *use = example_of(u);
    finding->count = count;
    view_finding_cost(m, cost_ns, executed_ns, finding);
    view_finding_at_submission(m, example, finding);
    snprintf(finding->title, sizeof finding->title, "%s write bytes that nothing reads",
             view_things(count, "command").text);
    snprintf(
        finding->evidence, sizeof finding->evidence,
        "They write only buffers such as %s, from which nothing reaches the host in this trace, "
        "directly or through other commands. The cost is their share of their submissions' "
        "time.",
        use ? name_of(m, use->id, name, sizeof name) : "");
    snprintf(finding->proof, sizeof finding->proof,
             "hal-trace dump --kind=command_buffer_seal --object=%" PRIu64,
             m->command_buffers[commands].id);
    return HAL_OK;
}

/* ---- Uploads ------------------------------------------------------------------------------ */

/* Whether the bytes came after every reader of the buffer had ended. */
static bool came_too_late(const struct usage *u, const struct use *use, int64_t begin_ns)
{
    if (use->unlimited || (use->last_read_ns != VIEW_NO_TIME && use->last_read_ns >= begin_ns))
        return false;
    if (use->last_reader == VIEW_NO_REF)
        return true;
    const struct view_submission *s = &u->model->submissions[use->last_reader];
    return s->end_ns != VIEW_NO_TIME && s->end_ns < begin_ns;
}

static enum hal_status report_unread(struct usage *u, struct view_findings *findings)
{
    const struct view_model *m = u->model;
    uint64_t count = 0, bytes = 0;
    int64_t cost_ns = 0;
    uint32_t example = VIEW_NO_REF;
    char name[96];
    for (uint32_t i = 0; i < m->transfers_count; i++) {
        const struct view_transfer *t = &m->transfers[i];
        if (t->class != VIEW_UPLOAD)
            continue;
        const struct use *use = use_of(u, m->buffers[t->buffer].id);
        if (!use)
            return u->status;
        if (!came_too_late(u, use, t->begin_ns))
            continue;
        count++;
        bytes += t->bytes;
        cost_ns += t->end_ns - t->begin_ns;
        example = example == VIEW_NO_REF ? i : example;
    }
    if (!count)
        return HAL_OK;
    struct view_finding *finding = view_findings_add(findings, VIEW_FINDING_UNREAD);
    if (!finding)
        return hal_fail(HAL_NO_MEMORY, "no memory for the findings");
    const struct view_transfer *t = &m->transfers[example];
    finding->count = count;
    finding->bytes = bytes;
    view_finding_cost(m, cost_ns, cost_ns, finding);
    finding->at_ns = t->begin_ns;
    snprintf(finding->locator, sizeof finding->locator, "%s", hal_moment_text(t->begin_ns).text);
    snprintf(finding->title, sizeof finding->title, "%s that nothing reads, %s",
             view_things(count, "upload").text, view_bytes(bytes).text);
    snprintf(finding->evidence, sizeof finding->evidence,
             "The first one is %s into %s: no later command and no host thread reads the buffer.",
             view_bytes(t->bytes).text, name_of(m, m->buffers[t->buffer].id, name, sizeof name));
    snprintf(finding->proof, sizeof finding->proof,
             "hal-trace dump --kind=host_write --object=%" PRIu64, m->buffers[t->buffer].id);
    return HAL_OK;
}

/* ---- All ---------------------------------------------------------------------------------- */

static enum hal_status prepare(struct usage *u)
{
    const struct view_model *m = u->model;
    uint32_t row;
    u->last_submission = hal_alloc(m->command_buffers_count, sizeof *u->last_submission);
    u->dead = hal_alloc(m->command_buffers_count, sizeof *u->dead);
    if (!u->last_submission || !u->dead)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu command buffers",
                        m->command_buffers_count);
    for (uint32_t i = 0; i < m->command_buffers_count; i++) {
        u->last_submission[i] = VIEW_NO_REF;
        if (!hal_idmap_add(&u->command_buffers, m->command_buffers[i].id, i, &row))
            return hal_fail(HAL_NO_MEMORY, "no memory for %zu command buffers",
                            m->command_buffers_count);
    }
    for (uint32_t i = 0; i < m->submissions_count; i++) {
        const struct view_submission *s = &m->submissions[i];
        for (uint32_t k = 0; k < s->commands_count; k++)
            u->last_submission[m->submitted[s->first_commands + k]] = i;
    }
    return HAL_OK;
}

enum hal_status view_findings_usage(const struct view_model *model, unsigned first,
                                    struct view_findings *findings)
{
    struct usage u = {.model = model};
    if (!view_model_is_whole(model))
        return HAL_OK; /* what is missing may have read it */
    const unsigned middle = (first + VIEW_TASK_WHOLE) / 2;
    u.status = prepare(&u);
    view_task_part(findings->task, first, middle);
    if (u.status == HAL_OK)
        u.status = view_model_each(model, findings->task, take_read, &u);
    if (u.status == HAL_OK && spread_needs(&u, findings->task)) {
        u.second_pass = true;
        view_task_part(findings->task, middle, VIEW_TASK_WHOLE);
        u.status = view_model_each(model, findings->task, take_again, &u);
    }
    if (u.status == HAL_OK)
        u.status = report_dead(&u, findings);
    if (u.status == HAL_OK)
        u.status = report_unread(&u, findings);
    hal_idmap_finish(&u.command_buffers);
    hal_idmap_finish(&u.ids);
    hal_idmap_finish(&u.command_ids);
    free(u.last_submission);
    free(u.dead);
    free(u.uses);
    free(u.touched);
    free(u.commands);
    free(u.list);
    return u.status;
}
