/* SPDX-License-Identifier: Apache-2.0 */
/* Command buffers are looked through once, submissions then only add up what those contain. */
#include "viewer/model/work.h"

#include "hal/base/idmap.h"
#include "viewer/model/build.h"

#include <stdio.h>

/* ---- Which kernel an operation dispatches ------------------------------------------------- */

static enum hal_status find_kernel(struct view_work *work, struct hal_idmap *ids,
                                   const struct view_op *op, uint32_t *out_kernel)
{
    const struct view_executable *executable = &work->model->executables[op->object];
    struct view_work_kernel kernel = {.executable = op->object, .entry = op->entry};
    if (op->entry < executable->kernel_count)
        kernel.name = work->model->kernels[executable->first_kernel + op->entry].name;
    if (!*view_model_string(work->model, kernel.name))
        kernel.name = 0;
    /* Names are numbers below 2^22, executables rows below 2^32: the sign bit tells them apart. */
    const uint64_t id = kernel.name
                            ? kernel.name
                            : UINT64_C(1) << 63 | (uint64_t)op->object << 16 | (op->entry & 0xffff);
    HAL_TRY(VIEW_ROOM(work, kernels, 1));
    if (!hal_idmap_add(ids, id, (uint32_t)work->kernels_count, out_kernel))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu kernels", work->kernels_count);
    if (*out_kernel == work->kernels_count)
        work->kernels[work->kernels_count++] = kernel;
    return HAL_OK;
}

/* By operation, VIEW_NO_REF: it dispatches nothing. */
static enum hal_status kernels_of_ops(struct view_work *work, uint32_t *out_kernels)
{
    struct hal_idmap ids = {0};
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < work->model->ops_count && status == HAL_OK; i++) {
        out_kernels[i] = VIEW_NO_REF;
        if (trace_is_dispatch(work->model->ops[i].kind))
            status = find_kernel(work, &ids, &work->model->ops[i], &out_kernels[i]);
    }
    hal_idmap_finish(&ids);
    return status;
}

/* ---- What command buffers contain --------------------------------------------------------- */

static uint64_t groups_of(const struct view_op *op)
{
    uint64_t groups = (uint64_t)op->groups[0] * op->groups[1];
    return __builtin_mul_overflow(groups, op->groups[2], &groups) ? UINT64_MAX : groups;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* `use_of` maps a kernel to its use in the command buffer, if that is `first` or later. */
static enum hal_status add_uses(struct view_work *work, const struct view_body *commands,
                                const uint32_t *kernels, uint32_t *use_of)
{
    const struct view_model *m = work->model;
    const size_t first = work->uses_count;
    for (uint32_t i = 0; i < commands->op_count; i++) {
        const uint32_t op = m->segments[commands->first_op + i], kernel = kernels[op];
        if (kernel == VIEW_NO_REF)
            continue;
        const bool known = use_of[kernel] >= first && use_of[kernel] < work->uses_count &&
                           work->uses[use_of[kernel]].kernel == kernel;
        if (!known) {
            HAL_TRY(VIEW_ROOM(work, uses, 1));
            use_of[kernel] = (uint32_t)work->uses_count;
            work->uses[work->uses_count++] = (struct view_use){.kernel = kernel};
        }
        struct view_use *use = &work->uses[use_of[kernel]];
        use->dispatches++;
        use->indirect += m->ops[op].kind == TRACE_DISPATCH_INDIRECT;
        if (m->ops[op].kind == TRACE_DISPATCH)
            use->groups = add_saturated(use->groups, groups_of(&m->ops[op]));
    }
    return HAL_OK;
}

enum hal_status view_work_init(const struct view_model *model, struct view_task *task,
                               struct view_work *out_work)
{
    struct view_work work = {.model = model};
    uint32_t *kernels = hal_alloc(model->ops_count, sizeof *kernels), *use_of = NULL;
    work.kernel_of_op = kernels;
    work.first_use = hal_alloc(model->command_buffers_count + 1, sizeof *work.first_use);
    *out_work = (struct view_work){0};
    enum hal_status status = kernels && work.first_use
                                 ? kernels_of_ops(&work, kernels)
                                 : hal_fail(HAL_NO_MEMORY, "no memory for %zu command buffers",
                                            model->command_buffers_count);
    if (status == HAL_OK && !(use_of = hal_alloc(work.kernels_count, sizeof *use_of)))
        status = hal_fail(HAL_NO_MEMORY, "no memory for %zu kernels", work.kernels_count);
    for (size_t i = 0; i < model->command_buffers_count && status == HAL_OK; i++) {
        work.first_use[i] = (uint32_t)work.uses_count;
        status = add_uses(&work, view_body(model, (uint32_t)i), kernels, use_of);
        work.first_use[i + 1] = (uint32_t)work.uses_count;
        view_task_advance(task, i, model->command_buffers_count);
        if (status == HAL_OK)
            status = view_task_check(task);
    }
    free(use_of);
    if (status == HAL_OK)
        *out_work = work;
    else
        view_work_finish(&work);
    return status;
}

void view_work_finish(struct view_work *work)
{
    free(work->kernels);
    free(work->kernel_of_op);
    free(work->uses);
    free(work->first_use);
    *work = (struct view_work){0};
}

/* ---- Questions ---------------------------------------------------------------------------- */

void view_work_name(const struct view_work *work, uint32_t kernel, char *out, size_t bytes)
{
    const struct view_work_kernel *k = &work->kernels[kernel];
    const struct view_executable *executable = &work->model->executables[k->executable];
    const char *label = view_model_string(work->model, executable->label);
    if (k->name)
        snprintf(out, bytes, "%.200s", view_model_string(work->model, k->name));
    else if (*label)
        snprintf(out, bytes, "%.200s entry %u", label, k->entry);
    else
        snprintf(out, bytes, "executable %llu entry %u", (unsigned long long)executable->id,
                 k->entry);
}

/* Calls `visit` for every use in the submission's command buffers. */
#define EACH_USE(work, s, use)                                                                     \
    for (uint32_t k_ = 0; k_ < (s)->commands_count; k_++)                                          \
        for (const struct view_use *                                                               \
                 use = (work)->uses + (work)->first_use[command_row(work, s, k_)],                 \
                *end_ = (work)->uses + (work)->first_use[command_row(work, s, k_) + 1];            \
             use < end_; use++)

static uint32_t command_row(const struct view_work *work, const struct view_submission *s,
                            uint32_t k)
{
    return work->model->submitted[s->first_commands + k];
}

uint32_t view_work_main(const struct view_work *work, uint32_t submission)
{
    const struct view_submission *s = &work->model->submissions[submission];
    uint32_t most = 0, kernel = VIEW_NO_REF;
    EACH_USE(work, s, use)
    {
        if (use->dispatches > most) {
            most = use->dispatches;
            kernel = use->kernel;
        }
    }
    return kernel;
}

bool view_work_has(const struct view_work *work, uint32_t submission, uint32_t kernel)
{
    const struct view_submission *s = &work->model->submissions[submission];
    EACH_USE(work, s, use)
    {
        if (use->kernel == kernel)
            return true;
    }
    return false;
}

/* ---- Times -------------------------------------------------------------------------------- */

/* The only kernel, if the submission does nothing else; else VIEW_NO_REF. */
static uint32_t only_kernel(const struct view_work *work, const struct view_submission *s)
{
    uint32_t kernel = VIEW_NO_REF;
    for (uint32_t k = 0; k < s->commands_count; k++) {
        if (view_body(work->model, command_row(work, s, k))->transfer_count)
            return VIEW_NO_REF;
    }
    EACH_USE(work, s, use)
    {
        if (kernel != VIEW_NO_REF && kernel != use->kernel)
            return VIEW_NO_REF;
        kernel = use->kernel;
    }
    return kernel;
}

/* How long single dispatches took, in order of time. */
struct sample {
    uint32_t kernel;
    int64_t ns;
};

struct samples {
    struct sample *list; /* with room for all */
    size_t count;
};

static void add_alone(const struct view_submission *s, uint32_t submission,
                      struct view_kernel_time *time, struct samples *samples)
{
    const int64_t ns = s->end_ns - s->begin_ns;
    time->alone++;
    time->alone_ns += ns;
    time->alone_dispatches += s->dispatch_count;
    if (s->dispatch_count)
        samples->list[samples->count++] =
            (struct sample){time->kernel, ns / (int64_t)s->dispatch_count};
    const struct view_submission *example = s - submission + time->example;
    if (time->alone == 1 || example->end_ns - example->begin_ns < ns)
        time->example = submission;
}

/* What is needed while times are added up. */
struct adding {
    const struct view_work *work;
    uint32_t *last_seen; /* by kernel */
    bool *is_timed;      /* by submission: its dispatches are */
    struct samples samples;
    struct view_kernel_time *times;
    struct view_work_total *total;
};

/* Submissions whose dispatches have their own times add no information. */
static void add_submission(struct adding *a, uint32_t index)
{
    const struct view_work *work = a->work;
    struct view_work_total *total = a->total;
    const struct view_submission *s = &work->model->submissions[index];
    const bool ran = s->begin_ns != VIEW_NO_TIME;
    const uint32_t only = only_kernel(work, s);
    const bool timed = a->is_timed[index];
    total->submissions++;
    total->dispatches += s->dispatch_count;
    total->executed_ns += ran ? s->end_ns - s->begin_ns : 0;
    total->alone += ran && (only != VIEW_NO_REF || timed);
    EACH_USE(work, s, use)
    {
        struct view_kernel_time *time = &a->times[use->kernel];
        time->dispatches += use->dispatches;
        time->indirect += use->indirect;
        time->groups = add_saturated(time->groups, use->groups);
        if (a->last_seen[use->kernel] == index) /* in another of its command buffers */
            continue;
        a->last_seen[use->kernel] = index;
        time->submissions++;
        if (time->example == VIEW_NO_REF)
            time->example = index;
        if (timed)
            continue;
        if (only == VIEW_NO_REF && ran)
            time->mixed_ns += s->end_ns - s->begin_ns;
        else if (ran)
            add_alone(s, index, time, &a->samples);
    }
}

static void add_dispatch(struct adding *a, const struct view_dispatch *dispatch)
{
    struct view_kernel_time *time = &a->times[a->work->kernel_of_op[dispatch->op]];
    const int64_t ns = dispatch->end_ns - dispatch->begin_ns;
    a->samples.list[a->samples.count++] = (struct sample){time->kernel, ns};
    time->alone_dispatches++;
    time->alone_ns += ns;
    if (time->longest_ns == VIEW_NO_TIME || ns > time->longest_ns) {
        time->longest_ns = ns;
        time->example = dispatch->submission;
    }
}

/* Sorts them by kernel, which keeps their order otherwise. */
static enum hal_status add_typical_times(const struct samples *samples, size_t kernels,
                                         struct view_kernel_time *times)
{
    size_t *ends = hal_alloc(kernels + 1, sizeof *ends);
    int64_t *values = hal_alloc(samples->count, sizeof *values);
    enum hal_status status = HAL_OK;
    if (!ends || !values)
        status =
            hal_fail(HAL_NO_MEMORY, "no memory for the times of %zu dispatches", samples->count);
    for (size_t i = 0; i < samples->count && status == HAL_OK; i++)
        ends[samples->list[i].kernel + 1]++;
    for (size_t k = 0; k < kernels && status == HAL_OK; k++)
        ends[k + 1] += ends[k]; /* where the kernel's values begin, once moved on by one */
    for (size_t i = 0; i < samples->count && status == HAL_OK; i++)
        values[ends[samples->list[i].kernel]++] = samples->list[i].ns;
    for (size_t k = 0; k < kernels && status == HAL_OK; k++) {
        const size_t begin = k ? ends[k - 1] : 0;
        status = trace_typical_of(values + begin, ends[k] - begin, &times[k].each);
    }
    free(ends);
    free(values);
    return status;
}

static enum hal_status add_times(struct adding *a, struct view_task *task, int64_t begin_ns,
                                 int64_t end_ns)
{
    const struct view_model *m = a->work->model;
    const bool everything = begin_ns <= m->first_ns && end_ns >= m->last_ns;
    for (uint32_t i = 0; i < m->submissions_count && !view_task_stopped(task); i++) {
        const struct view_submission *s = &m->submissions[i];
        view_task_advance(task, i, m->submissions_count);
        const int64_t ns = s->begin_ns != VIEW_NO_TIME ? s->begin_ns : view_submit_ns(m, s);
        if (everything || (ns != VIEW_NO_TIME && ns >= begin_ns && ns < end_ns))
            add_submission(a, i);
    }
    for (size_t i = 0; i < m->dispatches_count && !view_task_stopped(task); i++) {
        if (m->dispatches[i].begin_ns >= begin_ns && m->dispatches[i].begin_ns < end_ns)
            add_dispatch(a, &m->dispatches[i]);
    }
    HAL_TRY(view_task_check(task));
    return add_typical_times(&a->samples, a->work->kernels_count, a->times);
}

enum hal_status view_work_times(const struct view_work *work, struct view_task *task,
                                int64_t begin_ns, int64_t end_ns,
                                struct view_kernel_time *out_times,
                                struct view_work_total *out_total)
{
    const struct view_model *m = work->model;
    uint32_t *last_seen = hal_alloc(work->kernels_count, sizeof *last_seen);
    bool *is_timed = hal_alloc(m->submissions_count, sizeof *is_timed);
    struct sample *list = hal_alloc(m->submissions_count + m->dispatches_count, sizeof *list);
    enum hal_status status = HAL_OK;
    *out_total = (struct view_work_total){0};
    if (!last_seen || !is_timed || !list) {
        status = hal_fail(HAL_NO_MEMORY, "no memory for %zu kernels", work->kernels_count);
    } else {
        struct adding adding = {.work = work,
                                .last_seen = last_seen,
                                .is_timed = is_timed,
                                .samples = {list, 0},
                                .times = out_times,
                                .total = out_total};
        for (size_t i = 0; i < m->dispatches_count; i++)
            is_timed[m->dispatches[i].submission] = true;
        for (uint32_t i = 0; i < work->kernels_count; i++) {
            last_seen[i] = VIEW_NO_REF;
            out_times[i] = (struct view_kernel_time){
                .kernel = i, .longest_ns = VIEW_NO_TIME, .example = VIEW_NO_REF};
        }
        status = add_times(&adding, task, begin_ns, end_ns);
    }
    free(last_seen);
    free(is_timed);
    free(list);
    return status;
}
