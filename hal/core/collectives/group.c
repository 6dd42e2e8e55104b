/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of ranks, and the thread that warns about ranks that do not arrive. The thread exists as
 * long as there are groups. */
#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/base/moment.h"
#include "hal/core/collectives/rendezvous_parts.h"
#include "hal/core/core.h"

#include <stdio.h>

#define DEFAULT_WARN_AFTER_NS INT64_C(10000000000)

pthread_mutex_t hal_rendezvous_lock = PTHREAD_MUTEX_INITIALIZER;
struct hal_group *hal_groups;
int64_t hal_rendezvous_warn_after_ns;

/* ---- Watch --------------------------------------------------------------------------------- */

struct watch {
    pthread_t thread;
    pthread_cond_t changed;
    bool stopping;
};

static struct watch *watch; /* hal_rendezvous_lock, as all of it */

void hal_watch_look_locked(void)
{
    if (watch)
        pthread_cond_signal(&watch->changed);
}

/* The next time waits as long as this one did. */
static void warn_locked(struct hal_rendezvous *rendezvous, int64_t now_ns)
{
    char name[2 * NAME_BYTES], ranks[2 * NAME_BYTES];
    const int64_t waited_ns = now_ns - rendezvous->since_ns;
    hal_rendezvous_name_missing(rendezvous, ranks, sizeof ranks);
    hal_log(HAL_LOG_WARN, "%s has waited %s for %s",
            hal_rendezvous_name(rendezvous, rendezvous->first->work, name),
            hal_duration_text(waited_ns).text, ranks);
    rendezvous->warn_ns = now_ns + waited_ns;
}

/* Warns of stalls that are due; returns when to look again. */
static int64_t look_locked(void)
{
    const int64_t now_ns = hal_clock_ns();
    int64_t next_ns = HAL_FOREVER;
    for (struct hal_group *group = hal_groups; group; group = group->next) {
        for (struct hal_rendezvous *rendezvous = group->pending; rendezvous;
             rendezvous = rendezvous->next) {
            if (!rendezvous->warn_ns)
                continue;
            if (rendezvous->warn_ns <= now_ns)
                warn_locked(rendezvous, now_ns);
            if (rendezvous->warn_ns < next_ns)
                next_ns = rendezvous->warn_ns;
        }
    }
    return next_ns;
}

static void *run_watch(void *argument)
{
    struct watch *self = argument;
    pthread_mutex_lock(&hal_rendezvous_lock);
    while (!self->stopping)
        (void)hal_condition_wait(&self->changed, &hal_rendezvous_lock, look_locked());
    pthread_mutex_unlock(&hal_rendezvous_lock);
    return NULL;
}

static enum hal_status start_watch_locked(void)
{
    if (watch || !hal_rendezvous_warn_after_ns)
        return HAL_OK;
    struct watch *made = hal_alloc(1, sizeof *made);
    if (!made)
        return hal_fail(HAL_NO_MEMORY, "no memory for the watchdog of channels");
    hal_condition_init(&made->changed);
    const enum hal_status status = hal_thread_start("hal-channels", run_watch, made, &made->thread);
    if (status != HAL_OK) {
        pthread_cond_destroy(&made->changed);
        free(made);
        return status;
    }
    watch = made;
    return HAL_OK;
}

/* When the last group has gone: the caller ends it without the lock. */
static struct watch *take_watch_locked(void)
{
    struct watch *idle = hal_groups ? NULL : watch;
    if (!idle)
        return NULL;
    watch = NULL;
    idle->stopping = true;
    pthread_cond_signal(&idle->changed);
    return idle;
}

static void end_watch(struct watch *idle)
{
    if (!idle)
        return;
    hal_thread_join(idle->thread);
    pthread_cond_destroy(&idle->changed);
    free(idle);
}

/* Nanoseconds after which the log warns about ranks that do not arrive; 0: never. HAL_INVALID: the
 * environment has an invalid value. */
static enum hal_status read_warn_after(int64_t *out_ns)
{
    const char *value = getenv("HAL_CHANNEL_STALL_WARNING");
    if (!value)
        value = getenv("HAL_CHANNEL_PATIENCE"); /* its name before 1.0 */
    *out_ns = DEFAULT_WARN_AFTER_NS;
    if (!value || !value[0])
        return HAL_OK;
    if (strcmp(value, "never") == 0)
        *out_ns = 0;
    else if (!hal_duration_parse(value, HAL_LEAST_LAST_NS, HAL_MOST_LAST_NS, out_ns))
        return hal_fail(HAL_INVALID,
                        "HAL_CHANNEL_STALL_WARNING must be never or a time from 10ms to 24h, such "
                        "as 10s, not '%s'",
                        value);
    return HAL_OK;
}

/* ---- Groups -------------------------------------------------------------------------------- */

static enum hal_status add_group_locked(struct hal_group *group, int64_t warn_after_ns)
{
    static uint64_t next_id = 1;
    hal_rendezvous_warn_after_ns = warn_after_ns;
    HAL_TRY(start_watch_locked());
    group->id = next_id++;
    group->next = hal_groups;
    if (hal_groups)
        hal_groups->previous = group;
    hal_groups = group;
    return HAL_OK;
}

enum hal_status hal_group_create(const char *label, uint32_t count, struct hal_group **out_group)
{
    int64_t warn_after_ns;
    HAL_TRY(read_warn_after(&warn_after_ns));
    struct hal_group *group = hal_alloc(1, sizeof *group + count * sizeof group->ranks[0]);
    char *copy = hal_copy_string(label);
    if (!group || (label && !copy)) {
        free(group);
        free(copy);
        return hal_fail(HAL_NO_MEMORY, "no memory for a channel of %u ranks", count);
    }
    group->label = copy;
    group->count = count;
    pthread_mutex_lock(&hal_rendezvous_lock);
    const enum hal_status status = add_group_locked(group, warn_after_ns);
    pthread_mutex_unlock(&hal_rendezvous_lock);
    if (status != HAL_OK) {
        free(copy);
        free(group);
        return status;
    }
    *out_group = group;
    return HAL_OK;
}

uint64_t hal_group_id(const struct hal_group *group)
{
    return group->id;
}

static void free_group_locked(struct hal_group *group)
{
    while (group->pending)
        hal_rendezvous_free_locked(group->pending);
    if (group->previous)
        group->previous->next = group->next;
    else
        hal_groups = group->next;
    if (group->next)
        group->next->previous = group->previous;
    free(group->label);
    free(group);
}

/* One that the rank was to come to, and has not submitted. */
static struct hal_rendezvous *find_missed_locked(const struct hal_group *group, uint64_t bit)
{
    for (struct hal_rendezvous *rendezvous = group->pending; rendezvous;
         rendezvous = rendezvous->next) {
        if (rendezvous->members & ~rendezvous->joined & ~rendezvous->gone & bit)
            return rendezvous;
    }
    return NULL;
}

void hal_group_leave(struct hal_group *group, uint32_t rank)
{
    const uint64_t bit = UINT64_C(1) << rank;
    char name[2 * NAME_BYTES], text[3 * NAME_BYTES];
    pthread_mutex_lock(&hal_rendezvous_lock);
    group->ranks[rank].left = true;
    for (struct hal_rendezvous *missed; (missed = find_missed_locked(group, bit)) != NULL;) {
        const struct hal_participant *first = missed->first;
        snprintf(text, sizeof text, "%s: rank %u was released before it submitted it",
                 hal_rendezvous_name(missed, first ? first->work : NULL, name), rank);
        missed->gone |= bit;
        hal_rendezvous_fail_and_unlock(missed, HAL_FAILED, text);
        pthread_mutex_lock(&hal_rendezvous_lock);
    }
    if (++group->left_count == group->count)
        free_group_locked(group);
    struct watch *idle = take_watch_locked();
    pthread_mutex_unlock(&hal_rendezvous_lock);
    end_watch(idle);
}
