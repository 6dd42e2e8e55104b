/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a trace as a model. */
#include "viewer/model/build.h"

#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

void view_model_close(struct view_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->tracks_count; i++) {
        if (model->tracks[i].borrowed)
            continue;
        view_series_finish(&model->tracks[i].series);
        free(model->tracks[i].event_codes);
        free(model->tracks[i].painted_codes);
    }
    void *const tables[] = {
        model->calls,       model->values,    model->submissions, model->ops,
        model->whats,       model->pieces,    model->dispatches,  model->bodies,
        model->steps,       model->kernels,   model->executables, model->command_buffers,
        model->buffers,     model->scopes,    model->semaphores,  model->transfers,
        model->others,      model->hosts,     model->gaps,        model->families,
        model->tracks,      model->segments,  model->submitted,   model->levels,
        model->highest,     model->failures,  model->gap_parts,   model->devices,
        model->collectives, model->rendezvous};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        free(tables[i]);
    trace_reflection_finish(&model->reflection);
    trace_reader_close(model->reader);
    if (model->reading)
        pthread_mutex_destroy(model->reading);
    free(model->reading);
    free(model->path);
    free(model);
}

enum hal_status view_model_open(const char *path, struct view_model **out_model)
{
    return view_model_open_slowly(path, NULL, out_model);
}

/* All is read, and must be arranged. */
static enum hal_status go_on(const struct view_model *m, const struct view_progress *progress)
{
    const struct trace_counts *counts = trace_reader_counts(m->reader);
    const uint64_t all = counts->events + counts->segments;
    return !progress || progress->tell(progress->user, m->reader, all, all)
               ? HAL_OK
               : hal_fail(HAL_TIMEOUT, "cancelled");
}

enum hal_status view_model_open_slowly(const char *path, const struct view_progress *progress,
                                       struct view_model **out_model)
{
    struct view_model *model = hal_alloc(1, sizeof *model);
    *out_model = NULL;
    if (!model || !(model->path = hal_copy_string(path))) {
        view_model_close(model);
        return hal_fail(HAL_NO_MEMORY, "no memory to open '%s'", path);
    }
    model->reading = hal_alloc(1, sizeof *model->reading);
    if (!model->reading) {
        view_model_close(model);
        return hal_fail(HAL_NO_MEMORY, "no memory to open '%s'", path);
    }
    pthread_mutex_init(model->reading, NULL);
    enum hal_status status = trace_reader_open(path, &model->reader);
    if (status == HAL_OK) {
        model->header = trace_reader_header(model->reader);
        model->health = trace_reader_health(model->reader);
        model->truncated = trace_reader_truncated(model->reader);
        status = view_build_tables(model, progress);
    }
    if (status == HAL_OK)
        status = go_on(model, progress);
    if (status == HAL_OK)
        status = view_build_tracks(model);
    if (status == HAL_OK)
        status = go_on(model, progress);
    if (status == HAL_OK)
        status = view_build_numbers(model);
    if (status == HAL_OK)
        status = view_build_order(model);
    if (status != HAL_OK) {
        view_model_close(model);
        return status;
    }
#ifdef __GLIBC__
    malloc_trim(0); /* a seventh is needed only for reading, between what is kept */
#endif
    *out_model = model;
    return HAL_OK;
}

static bool advance(void *user, struct trace_reader *reader, uint64_t read, uint64_t total)
{
    (void)reader;
    view_task_advance(user, (size_t)read, (size_t)total);
    return !view_task_stopped(user);
}

struct view_progress view_task_progress(struct view_task *task)
{
    return (struct view_progress){.tell = advance, .user = task};
}
