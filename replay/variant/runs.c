/* SPDX-License-Identifier: Apache-2.0 */
/* The host goes on while it can. When it waits, submissions start, in an order for long runs. */
#include "replay/variant/runs.h"

#include "hal/base/mem.h"
#include "hal/base/order.h"

/* A value that a submission waits for. */
struct awaited {
    uint64_t value;
    uint32_t semaphore, submission;
};

/* First in, first out: each submission comes at most once. */
struct ready {
    uint32_t *submissions;
    size_t begin, end;
};

struct search {
    const struct replay_plan *plan;
    const struct trace_submit **submits;
    uint32_t submit_count;
    uint64_t *values;        /* of semaphores, by object; UINT64_MAX: failed */
    struct awaited *awaited; /* by semaphore and value */
    size_t *next_awaited;    /* by object: the first that is not reached yet */
    size_t awaited_count;
    uint32_t *missing; /* by submission: values not reached; and one until the host submits it */
    bool *started;
    /* Ready to start: those that continue no run, or can do so at once; and those that would
     * follow a neighbour which has not started. */
    struct ready heads, followers;
    uint32_t submitted, started_count;
    uint64_t cuts; /* that the host has made */
    uint32_t last; /* that started; valid if started_count > 0 */
    uint64_t last_cuts;
    uint32_t *runs, run_count;
};

bool replay_runs_are_cut_by(const struct replay_op *op)
{
    const struct trace_semaphore_wait *wait = (const void *)op->event;
    switch (op->action) {
    case REPLAY_CREATE_BUFFER:
    case REPLAY_DESTROY_BUFFER: /* work in flight keeps what it uses */
    case REPLAY_CREATE_EXECUTABLE:
    case REPLAY_DESTROY_EXECUTABLE:
    case REPLAY_RECORD_COMMANDS:
    case REPLAY_DESTROY_COMMANDS:
    case REPLAY_CREATE_SEMAPHORE:
    case REPLAY_CREATE_EVENT:
    case REPLAY_DESTROY_EVENT:
    case REPLAY_SUBMIT:
    case REPLAY_FLUSH: return false;
    case REPLAY_WAIT:
        return wait->head.status != HAL_OK ||
               (wait->mode != HAL_WAIT_ALL && wait->value_count != 1);
    case REPLAY_WRITE:
    case REPLAY_READ:
    case REPLAY_DESTROY_SEMAPHORE:
    case REPLAY_SIGNAL:
    case REPLAY_FAIL:
    case REPLAY_STEP:
    case REPLAY_WAIT_IDLE: break;
    }
    return true;
}

/* ---- Submissions --------------------------------------------------------------------------- */

static bool is_follower(const struct search *s, uint32_t submission)
{
    return submission && !s->started[submission - 1] &&
           s->submits[submission - 1]->queue == s->submits[submission]->queue;
}

static void miss_one_less(struct search *s, uint32_t submission)
{
    if (--s->missing[submission])
        return;
    struct ready *ready = is_follower(s, submission) ? &s->followers : &s->heads;
    ready->submissions[ready->end++] = submission;
}

static void raise_to(struct search *s, uint64_t semaphore, uint64_t value)
{
    if (value <= s->values[semaphore])
        return;
    s->values[semaphore] = value;
    size_t *next = &s->next_awaited[semaphore];
    for (; *next < s->awaited_count && s->awaited[*next].semaphore == semaphore &&
           s->awaited[*next].value <= value;
         ++*next)
        miss_one_less(s, s->awaited[*next].submission);
}

static bool fails(const struct search *s, const struct trace_submit *submit)
{
    for (uint32_t i = 0; i < submit->wait_count; i++) {
        if (s->values[submit->values[i].semaphore] == UINT64_MAX)
            return true;
    }
    return false;
}

static void start(struct search *s, uint32_t submission)
{
    const struct trace_submit *submit = s->submits[submission];
    const struct trace_semaphore_value *signals = submit->values + submit->wait_count;
    const bool failed = fails(s, submit);
    const bool goes_on = s->started_count && submission && submission - 1 == s->last &&
                         s->last_cuts == s->cuts && s->runs[s->last];
    if (!failed)
        s->runs[submission] = goes_on ? s->runs[s->last] : ++s->run_count;
    s->started[submission] = true;
    s->started_count++;
    s->last = submission;
    s->last_cuts = s->cuts;
    for (uint32_t i = 0; i < submit->signal_count; i++)
        raise_to(s, signals[i].semaphore, failed ? UINT64_MAX : signals[i].value);
}

static bool take_ready(const struct search *s, struct ready *ready, uint32_t *out_submission)
{
    while (ready->begin < ready->end) {
        *out_submission = ready->submissions[ready->begin++];
        if (!s->started[*out_submission])
            return true;
    }
    return false;
}

static bool can_start(const struct search *s, uint32_t submission)
{
    return submission < s->submit_count && !s->missing[submission] && !s->started[submission];
}

/* Starts one submission, the neighbour of the last if possible, and those that follow it. False:
 * none can start. */
static bool start_some(struct search *s)
{
    uint32_t next = s->started_count ? s->last + 1 : 0;
    if (!can_start(s, next) && !take_ready(s, &s->heads, &next) &&
        !take_ready(s, &s->followers, &next))
        return false;
    do
        start(s, next);
    while (can_start(s, ++next));
    return true;
}

/* ---- The host ------------------------------------------------------------------------------ */

static bool ends(const struct search *s, const struct trace_semaphore_wait *wait)
{
    uint32_t met = 0;
    for (uint32_t i = 0; i < wait->value_count; i++) {
        const uint64_t value = s->values[wait->values[i].semaphore];
        if (value == UINT64_MAX)
            return true;
        met += value >= wait->values[i].value;
    }
    return wait->mode == HAL_WAIT_ALL ? met == wait->value_count : met || !wait->value_count;
}

/* Whether the call returns by now. */
static bool returns(const struct search *s, const struct replay_op *op)
{
    const void *event = op->event;
    const struct trace_semaphore_event *fail = event;
    const struct replay_object *object = &s->plan->objects[op->object];
    if (op->action == REPLAY_WAIT)
        return op->event->status == HAL_TIMEOUT || ends(s, event);
    if (op->action == REPLAY_WAIT_IDLE)
        return s->started_count == s->submitted;
    if (op->action == REPLAY_FAIL)
        return s->values[op->object] >= fail->value;
    if (op->action == REPLAY_DESTROY_SEMAPHORE)
        return object->semaphore.outcome != REPLAY_FAILS ||
               s->values[op->object] >= object->semaphore.signaled;
    return true;
}

static void call(struct search *s, const struct replay_op *op)
{
    const void *event = op->event;
    const struct trace_semaphore_event *signal = event;
    const struct trace_semaphore_create *created = event;
    s->cuts += replay_runs_are_cut_by(op);
    if (op->action == REPLAY_SUBMIT)
        miss_one_less(s, s->submitted++);
    else if (op->action == REPLAY_CREATE_SEMAPHORE)
        raise_to(s, op->object, created->initial_value);
    else if (op->action == REPLAY_SIGNAL)
        raise_to(s, signal->semaphore, signal->value);
    else if (op->action == REPLAY_FAIL)
        raise_to(s, op->object, UINT64_MAX);
}

/* Up to a call that never returns, or the end. */
static void run(struct search *s)
{
    bool stuck = false;
    for (size_t i = 0; i < s->plan->op_count && !stuck; i++) {
        while (!returns(s, &s->plan->ops[i]) && !stuck)
            stuck = !start_some(s);
        if (!stuck)
            call(s, &s->plan->ops[i]);
    }
    while (start_some(s))
        ;
}

/* ---- All ----------------------------------------------------------------------------------- */

HAL_COMPARE_3(compare_awaited, struct awaited, semaphore, value, submission)

/* A value of 0 is always reached. */
static void fill_in(struct search *s)
{
    uint32_t submission = 0;
    for (size_t i = 0; i < s->plan->op_count; i++) {
        const struct trace_submit *submit = (const void *)s->plan->ops[i].event;
        if (s->plan->ops[i].action != REPLAY_SUBMIT)
            continue;
        s->missing[submission] = 1;
        for (uint32_t k = 0; k < submit->wait_count; k++) {
            const struct trace_semaphore_value *wait = &submit->values[k];
            if (!wait->value)
                continue;
            s->awaited[s->awaited_count++] =
                (struct awaited){wait->value, (uint32_t)wait->semaphore, submission};
            s->missing[submission]++;
        }
        s->submits[submission++] = submit;
    }
    if (s->awaited_count)
        qsort(s->awaited, s->awaited_count, sizeof *s->awaited, compare_awaited);
    for (size_t i = s->awaited_count; i--;)
        s->next_awaited[s->awaited[i].semaphore] = i;
}

static enum hal_status make_room(struct search *s)
{
    const size_t objects = s->plan->object_count;
    size_t waits = 0;
    for (size_t i = 0; i < s->plan->op_count; i++) {
        if (s->plan->ops[i].action != REPLAY_SUBMIT)
            continue;
        s->submit_count++;
        waits += TRACE_AS(trace_submit, s->plan->ops[i].event)->wait_count;
    }
    const size_t submits = (size_t)s->submit_count + 1;
    s->submits = hal_alloc(submits, sizeof *s->submits);
    s->values = hal_alloc(objects, sizeof *s->values);
    s->awaited = hal_alloc(waits + 1, sizeof *s->awaited);
    s->next_awaited = hal_alloc(objects, sizeof *s->next_awaited);
    s->missing = hal_alloc(submits, sizeof *s->missing);
    s->started = hal_alloc(submits, sizeof *s->started);
    s->heads.submissions = hal_alloc(submits, sizeof *s->heads.submissions);
    s->followers.submissions = hal_alloc(submits, sizeof *s->followers.submissions);
    s->runs = hal_alloc(submits, sizeof *s->runs);
    if (!s->submits || !s->values || !s->awaited || !s->next_awaited || !s->missing ||
        !s->started || !s->heads.submissions || !s->followers.submissions || !s->runs)
        return hal_fail(HAL_NO_MEMORY, "no memory for the order of %u submissions",
                        s->submit_count);
    return HAL_OK;
}

enum hal_status replay_runs_find(const struct replay_plan *plan, uint32_t **out_runs)
{
    struct search s = {.plan = plan};
    const enum hal_status status = make_room(&s);
    if (status == HAL_OK) {
        fill_in(&s);
        run(&s);
        *out_runs = s.runs;
        s.runs = NULL;
    }
    free(s.submits);
    free(s.values);
    free(s.awaited);
    free(s.next_awaited);
    free(s.missing);
    free(s.started);
    free(s.heads.submissions);
    free(s.followers.submissions);
    free(s.runs);
    return status;
}
