/* SPDX-License-Identifier: Apache-2.0 */
/* All open devices, for iteration, and their handling on fork and on process exit. */
#include "hal/core/core.h"

#include <stdlib.h>

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t devices_changed = PTHREAD_COND_INITIALIZER;
static struct hal_device *first_open;
static _Atomic bool had_several; /* open at once, at any time */
static uint32_t ending_count;    /* devices that threads of their own destroy */

static void lock_before_fork(void)
{
    pthread_mutex_lock(&devices_lock);
}

static void unlock_in_parent(void)
{
    pthread_mutex_unlock(&devices_lock);
}

/* The child has neither the workers nor the capture's writer: it must not touch either. */
static void leave_devices_to_parent(void)
{
    for (struct hal_device *device = first_open; device; device = device->next_open) {
        atomic_store(&device->gate.state, HAL_GATE_FORKED);
        atomic_store(&device->captured, false);
    }
    first_open = NULL;
    ending_count = 0;
    pthread_mutex_unlock(&devices_lock);
}

static void watch_forks(void)
{
    pthread_atfork(lock_before_fork, unlock_in_parent, leave_devices_to_parent);
}

void hal_devices_add(struct hal_device *device)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&devices_lock);
    if (first_open)
        atomic_store(&had_several, true);
    device->next_open = first_open;
    first_open = device;
    pthread_mutex_unlock(&devices_lock);
}

bool hal_had_several_devices(void)
{
    return atomic_load(&had_several);
}

void hal_devices_remove(struct hal_device *device)
{
    pthread_mutex_lock(&devices_lock);
    while (device->pins)
        pthread_cond_wait(&devices_changed, &devices_lock);
    struct hal_device **link = &first_open;
    while (*link && *link != device)
        link = &(*link)->next_open;
    if (*link)
        *link = device->next_open;
    pthread_mutex_unlock(&devices_lock);
}

void hal_each_device(void (*visit)(struct hal_device *device))
{
    pthread_mutex_lock(&devices_lock);
    for (struct hal_device *device = first_open; device; device = device->next_open) {
        device->pins++;
        pthread_mutex_unlock(&devices_lock);
        visit(device);
        pthread_mutex_lock(&devices_lock);
        device->pins--;
        pthread_cond_broadcast(&devices_changed);
    }
    pthread_mutex_unlock(&devices_lock);
}

/* ---- Threads that destroy one -------------------------------------------------------------- */

/* The process does not end in the middle of it. */
static void wait_for_endings(void)
{
    pthread_mutex_lock(&devices_lock);
    while (ending_count > 0)
        pthread_cond_wait(&devices_changed, &devices_lock);
    pthread_mutex_unlock(&devices_lock);
}

static void watch_exit(void)
{
    (void)atexit(wait_for_endings);
}

void hal_devices_hold_exit(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_exit);
    pthread_mutex_lock(&devices_lock);
    ending_count++;
    pthread_mutex_unlock(&devices_lock);
}

void hal_devices_let_exit(void)
{
    pthread_mutex_lock(&devices_lock);
    ending_count--;
    pthread_cond_broadcast(&devices_changed);
    pthread_mutex_unlock(&devices_lock);
}
