/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that host calls run on: a few that may block, started when they are first needed. */
#include "hal/core/engine/parts.h"

#include <stdio.h>

static void *work(void *argument)
{
    struct hal_callers *callers = argument;
    pthread_mutex_lock(&callers->lock);
    for (;;) {
        while (!callers->calls.first && !callers->is_stopping) {
            callers->waiting++;
            pthread_cond_wait(&callers->wanted, &callers->lock);
            callers->waiting--;
        }
        struct hal_thread_call *call =
            hal_fifo_pop(&callers->calls, offsetof(struct hal_thread_call, link));
        if (!call)
            break;
        callers->queued--;
        pthread_mutex_unlock(&callers->lock);
        call->run(call);
        pthread_mutex_lock(&callers->lock);
    }
    pthread_mutex_unlock(&callers->lock);
    return NULL;
}

/* One more when all are busy or have a call coming: one that blocks must not delay the others. */
static enum hal_status start_thread_locked(struct hal_callers *callers, const char *driver)
{
    char name[32];
    if (callers->waiting > callers->queued || callers->count == HAL_MOST_CALLERS)
        return HAL_OK;
    snprintf(name, sizeof name, "hal-%s-host-%u", driver, callers->count);
    const enum hal_status status =
        hal_thread_start(name, work, callers, &callers->threads[callers->count]);
    if (status == HAL_OK)
        callers->count++;
    return callers->count > 0 ? HAL_OK : status;
}

enum hal_status hal_engine_call(struct hal_engine *engine, struct hal_thread_call *call)
{
    struct hal_callers *callers = &engine->callers;
    pthread_mutex_lock(&callers->lock);
    const enum hal_status status = start_thread_locked(callers, engine->ops->name);
    if (status == HAL_OK) {
        hal_fifo_push(&callers->calls, &call->link);
        callers->queued++;
        pthread_cond_signal(&callers->wanted);
    }
    pthread_mutex_unlock(&callers->lock);
    return status;
}

void hal_callers_init(struct hal_callers *callers)
{
    pthread_mutex_init(&callers->lock, NULL);
    pthread_cond_init(&callers->wanted, NULL);
}

void hal_callers_finish(struct hal_callers *callers)
{
    pthread_mutex_lock(&callers->lock);
    callers->is_stopping = true;
    pthread_cond_broadcast(&callers->wanted);
    pthread_mutex_unlock(&callers->lock);
    for (uint32_t i = 0; i < callers->count; i++)
        hal_thread_join(callers->threads[i]);
    pthread_cond_destroy(&callers->wanted);
    pthread_mutex_destroy(&callers->lock);
}
