/* SPDX-License-Identifier: Apache-2.0 */
/* Host calls of submissions: a few threads that may block, started when they are first needed. */
#include "hal/base/mem.h"
#include "hal/drivers/cpu/cpu.h"

#include <stdio.h>

enum { MOST_THREADS = 4 };

struct cpu_host {
    pthread_mutex_t lock;
    pthread_cond_t wanted;
    struct hal_line calls;
    uint32_t queued;                /* of these */
    uint32_t waiting, thread_count; /* threads that wait for a call, and all */
    bool stopping;
    pthread_t threads[MOST_THREADS];
};

static struct cpu_host_call *take_locked(struct cpu_host *host)
{
    struct cpu_host_call *call =
        hal_line_take(&host->calls, offsetof(struct cpu_host_call, coming));
    host->queued -= call != NULL;
    return call;
}

static void run(struct cpu_host_call *call)
{
    if (call->take) {
        call->take(call);
        return;
    }
    call->begin_ns = hal_clock_ns();
    const enum hal_status status = call->host.run(call->host.user, call->data, call->bytes);
    call->end_ns = hal_clock_ns();
    call->done(call, status);
}

static void *work(void *argument)
{
    struct cpu_host *host = argument;
    pthread_mutex_lock(&host->lock);
    for (;;) {
        while (!host->calls.first && !host->stopping) {
            host->waiting++;
            pthread_cond_wait(&host->wanted, &host->lock);
            host->waiting--;
        }
        struct cpu_host_call *call = take_locked(host);
        if (!call)
            break;
        pthread_mutex_unlock(&host->lock);
        run(call);
        pthread_mutex_lock(&host->lock);
    }
    pthread_mutex_unlock(&host->lock);
    return NULL;
}

/* One more when all are busy or have a call coming: one that blocks should not keep the others
 * waiting. */
static enum hal_status start_thread_locked(struct cpu_host *host)
{
    char name[32];
    if (host->waiting > host->queued || host->thread_count == MOST_THREADS)
        return HAL_OK;
    snprintf(name, sizeof name, "hal-cpu-host-%u", host->thread_count);
    const enum hal_status status =
        hal_thread_start(name, work, host, &host->threads[host->thread_count]);
    if (status == HAL_OK)
        host->thread_count++;
    return host->thread_count > 0 ? HAL_OK : status;
}

void cpu_host_start(struct cpu_host *host, struct cpu_host_call *call)
{
    pthread_mutex_lock(&host->lock);
    const enum hal_status status = start_thread_locked(host);
    if (status == HAL_OK) {
        hal_line_join(&host->calls, &call->coming);
        host->queued++;
        pthread_cond_signal(&host->wanted);
    }
    pthread_mutex_unlock(&host->lock);
    if (status != HAL_OK)
        call->done(call, status);
}

enum hal_status cpu_host_create(struct cpu_host **out_host)
{
    struct cpu_host *host = hal_alloc(1, sizeof *host);
    if (!host)
        return hal_fail(HAL_NO_MEMORY, "no memory for host calls");
    pthread_mutex_init(&host->lock, NULL);
    pthread_cond_init(&host->wanted, NULL);
    *out_host = host;
    return HAL_OK;
}

void cpu_host_destroy(struct cpu_host *host)
{
    pthread_mutex_lock(&host->lock);
    host->stopping = true;
    pthread_cond_broadcast(&host->wanted);
    pthread_mutex_unlock(&host->lock);
    for (uint32_t i = 0; i < host->thread_count; i++)
        hal_thread_join(host->threads[i]);
    pthread_cond_destroy(&host->wanted);
    pthread_mutex_destroy(&host->lock);
    free(host);
}
