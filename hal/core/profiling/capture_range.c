/* SPDX-License-Identifier: Apache-2.0 */
/* Capture ranges: captures of a part of a run, which begin and end at a submission, with a scope,
 * or on a signal. A range opens the way that hal_device_profiling_begin does, in the thread that
 * reaches it, so that what follows is recorded; but a program must not hang because of it. Where
 * work in flight depends on what that thread does next, the device does not become idle: then the
 * range opens, or closes, at a later submission. */
#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/base/run.h"
#include "hal/base/text.h"
#include "hal/core/core.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t first_timeout_ns = 500000000, later_timeout_ns = 20000000;

enum { MOST_SEEN = 6, SEEN_BYTES = 512 };
enum range_state { WAITS, OPEN, CLOSES, OVER };

struct hal_capture_range {
    struct hal_capture_range_spec spec;
    char *scope, *text;                   /* what is captured; the same in words */
    struct hal_profiling_options options; /* file, the strings: the range's own */
    char *file;                           /* what the user asked for, or NULL */
    pthread_mutex_t lock;                 /* the rest; never taken inside the gate */
    _Atomic uint32_t state;               /* enum range_state */
    _Atomic uint64_t passed;              /* of the range's submissions: passed to the driver */
    bool late;                            /* it could not open when it should have */
    char *obstacle;                       /* why it has not opened since it should have, or NULL */
    uint32_t depth;                       /* of the scope: scopes inside */
    uint64_t thread;                      /* of the scope */
    _Atomic uint64_t signals;             /* taken notice of */
    bool opened;                          /* ever */
    char *seen[MOST_SEEN];                /* other scopes, until it opens: one of them may match */
    size_t seen_count;
    bool seen_more;
};

/* ---- The signal --------------------------------------------------------------------------- */

static _Atomic uint64_t signals_seen;
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a signal's handler may change it");

static void note_signal(int number)
{
    (void)number;
    atomic_fetch_add_explicit(&signals_seen, 1, memory_order_relaxed);
}

/* So that hal-capture can pass the signal on: to others than listeners it may be deadly. */
static void report_listener(void)
{
    static _Atomic pid_t reported;
    char number[24];
    const pid_t process = getpid();
    if (atomic_exchange(&reported, process) == process)
        return;
    snprintf(number, sizeof number, "%ld", (long)process);
    (void)hal_run_report(HAL_RUN_STEERED, number);
}

/* What the program does with the signal is not taken away from it. */
static enum hal_status listen_to_signal(void)
{
    struct sigaction known;
    const struct sigaction ours = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
    if (sigaction(SIGUSR1, NULL, &known) == 0 && !(known.sa_flags & SA_SIGINFO) &&
        (known.sa_handler == SIG_DFL || known.sa_handler == note_signal) &&
        sigaction(SIGUSR1, &ours, NULL) == 0) {
        report_listener();
        return HAL_OK;
    }
    return hal_fail(HAL_EXISTS,
                    "the program handles or ignores SIGUSR1 itself: it cannot switch a capture");
}

/* ---- Opening and closing ------------------------------------------------------------------ */

static bool is_forked(const struct hal_device *device)
{
    return atomic_load(&device->gate.state) == HAL_GATE_FORKED;
}

/* With the lock held. False: not yet, or never. */
static bool open_locked(struct hal_device *device, struct hal_capture_range *range)
{
    const enum hal_status status = hal_profiling_begin_now(
        device, &range->options, range->late ? later_timeout_ns : first_timeout_ns);
    free(range->obstacle);
    range->obstacle = status == HAL_TIMEOUT ? hal_copy_string(hal_message()) : NULL;
    if (status == HAL_TIMEOUT) {
        if (!range->late)
            hal_log(HAL_LOG_WARN, "the capture's window begins later than requested: %s",
                    hal_message());
        range->late = true;
        return false;
    }
    if (status != HAL_OK) {
        hal_profiling_tell_failure(device);
        atomic_store(&range->state, OVER);
        return false;
    }
    range->late = false;
    range->opened = true;
    atomic_store(&range->state, OPEN);
    return true;
}

static void close_locked(struct hal_device *device, struct hal_capture_range *range)
{
    const enum range_state then = range->spec.kind == HAL_RANGE_SUBMISSIONS ? OVER : WAITS;
    const bool again = atomic_load(&range->state) == CLOSES;
    const enum hal_status status =
        hal_profiling_end_now(device, again ? later_timeout_ns : first_timeout_ns);
    if (status == HAL_TIMEOUT) {
        atomic_store(&range->state, CLOSES);
        return;
    }
    if (status != HAL_OK)
        hal_log(HAL_LOG_ERROR, "ending the capture of '%s': %s", device->info.uri, hal_message());
    atomic_store(&range->state, then);
}

/* ---- What happens ------------------------------------------------------------------------- */

static bool has_group(const char *name, const struct hal_submit_desc *desc)
{
    for (size_t i = 0; i < desc->command_count; i++) {
        hal_each_command (desc->commands[i], command) {
            const struct hal_command_debug *debug = (const void *)command;
            if (command->kind == HAL_COMMAND_DEBUG_BEGIN && strcmp(debug->label, name) == 0)
                return true;
        }
    }
    return false;
}

static bool is_due(struct hal_capture_range *range, uint64_t submission,
                   const struct hal_submit_desc *desc)
{
    const uint32_t state = atomic_load(&range->state);
    if (state == CLOSES)
        return true;
    switch (range->spec.kind) {
    case HAL_RANGE_SUBMISSIONS:
        return state == WAITS && submission >= range->spec.first && submission <= range->spec.last;
    case HAL_RANGE_GROUP:
        return (state == WAITS || state == OPEN) &&
               has_group(range->scope, desc) == (state == WAITS);
    case HAL_RANGE_SIGNAL:
    case HAL_RANGE_FLIGHT_RECORDER:
        return atomic_load_explicit(&signals_seen, memory_order_relaxed) !=
               atomic_load_explicit(&range->signals, memory_order_relaxed);
    case HAL_RANGE_SCOPE:
    case HAL_RANGE_NONE: return false;
    }
    return false;
}

static void follow_signals_locked(struct hal_device *device, struct hal_capture_range *range)
{
    const uint64_t seen = atomic_load_explicit(&signals_seen, memory_order_relaxed);
    const bool toggles = (seen - atomic_load(&range->signals)) % 2;
    if (toggles && atomic_load(&range->state) == WAITS) {
        if (!open_locked(device, range) && range->late)
            return; /* the signals are still to be followed */
    } else if (toggles && atomic_load(&range->state) == OPEN) {
        close_locked(device, range);
    }
    atomic_store(&range->signals, seen);
}

/* When the work in flight is not done in time, it comes at a later submission. */
static void write_out_locked(struct hal_device *device, struct hal_capture_range *range)
{
    const uint64_t seen = atomic_load_explicit(&signals_seen, memory_order_relaxed);
    const enum hal_status status =
        hal_profiling_write_out_now(device, range->late ? later_timeout_ns : first_timeout_ns);
    range->late = status == HAL_TIMEOUT;
    if (range->late)
        return;
    if (status != HAL_OK)
        hal_log(HAL_LOG_ERROR, "writing the capture of '%s' to its file: %s", device->info.uri,
                hal_message());
    atomic_store(&range->signals, seen);
}

static void act_locked(struct hal_device *device, struct hal_capture_range *range)
{
    const uint32_t state = atomic_load(&range->state);
    if (state == CLOSES || (state == OPEN && range->spec.kind == HAL_RANGE_GROUP))
        close_locked(device, range);
    else if (range->spec.kind == HAL_RANGE_SIGNAL)
        follow_signals_locked(device, range);
    else if (range->spec.kind == HAL_RANGE_FLIGHT_RECORDER)
        write_out_locked(device, range);
    else
        open_locked(device, range);
}

void hal_capture_range_before(struct hal_device *device, uint64_t submission,
                              const struct hal_submit_desc *desc)
{
    struct hal_capture_range *range = device->range;
    if (!is_due(range, submission, desc) || is_forked(device))
        return;
    pthread_mutex_lock(&range->lock);
    if (is_due(range, submission, desc))
        act_locked(device, range);
    pthread_mutex_unlock(&range->lock);
}

void hal_capture_range_after(struct hal_device *device, uint64_t submission)
{
    struct hal_capture_range *range = device->range;
    const struct hal_capture_range_spec *spec = &range->spec;
    if (spec->kind != HAL_RANGE_SUBMISSIONS || submission < spec->first || submission > spec->last)
        return;
    /* Numbers are drawn before submissions are made: the last one may well overtake others. */
    if (atomic_fetch_add(&range->passed, 1) < spec->last - spec->first ||
        atomic_load(&range->state) != OPEN || is_forked(device))
        return;
    pthread_mutex_lock(&range->lock);
    if (atomic_load(&range->state) == OPEN)
        close_locked(device, range);
    pthread_mutex_unlock(&range->lock);
}

static void note_scope_locked(struct hal_capture_range *range, const char *name)
{
    for (size_t i = 0; i < range->seen_count; i++) {
        if (strcmp(range->seen[i], name) == 0)
            return;
    }
    char *copy = range->seen_count < MOST_SEEN ? hal_copy_string(name) : NULL;
    if (copy)
        range->seen[range->seen_count++] = copy;
    else
        range->seen_more = true;
}

void hal_capture_range_scope_begin(struct hal_device *device, const char *name)
{
    struct hal_capture_range *range = device->range;
    if (range->spec.kind != HAL_RANGE_SCOPE || is_forked(device))
        return;
    const uint64_t thread = hal_thread_id();
    pthread_mutex_lock(&range->lock);
    if (atomic_load(&range->state) == CLOSES)
        close_locked(device, range);
    if (atomic_load(&range->state) == OPEN && range->thread == thread) {
        range->depth++;
    } else if (atomic_load(&range->state) == WAITS && strcmp(name, range->scope) == 0) {
        range->late = false;
        if (open_locked(device, range)) {
            range->thread = thread;
            range->depth = 1;
        }
    } else if (!range->opened) {
        note_scope_locked(range, name);
    }
    pthread_mutex_unlock(&range->lock);
}

void hal_capture_range_scope_end(struct hal_device *device)
{
    struct hal_capture_range *range = device->range;
    if (range->spec.kind != HAL_RANGE_SCOPE || is_forked(device))
        return;
    pthread_mutex_lock(&range->lock);
    if (atomic_load(&range->state) == OPEN && range->thread == hal_thread_id() &&
        --range->depth == 0)
        close_locked(device, range);
    pthread_mutex_unlock(&range->lock);
}

/* ---- With the device ---------------------------------------------------------------------- */

/* The settings' strings live until the next hal_flags_parse. */
static bool copy_settings(struct hal_capture_range *range, const struct hal_settings *settings)
{
    range->spec = settings->range;
    range->options = settings->options;
    range->scope = hal_copy_string(settings->range.scope);
    range->file = hal_copy_string(settings->options.file);
    range->spec.scope = range->scope;
    range->options.file = range->file;
    range->text = hal_copy_string(settings->options.window);
    range->options.window = range->text;
    return (range->scope || !settings->range.scope) && (range->text || !settings->options.window) &&
           (range->file || !settings->options.file);
}

enum hal_status hal_capture_range_create(struct hal_device *device,
                                         const struct hal_settings *settings)
{
    struct hal_capture_range *range = hal_alloc(1, sizeof *range);
    if (!range)
        return hal_fail(HAL_NO_MEMORY, "no memory for a capture's window");
    pthread_mutex_init(&range->lock, NULL);
    device->range = range;
    if (!copy_settings(range, settings)) {
        atomic_store(&range->state, OVER);
        return hal_fail(HAL_NO_MEMORY, "no memory for a capture's window");
    }
    atomic_init(&range->signals, atomic_load(&signals_seen));
    if (range->spec.kind == HAL_RANGE_FLIGHT_RECORDER && listen_to_signal() != HAL_OK)
        hal_log(HAL_LOG_INFO, "a signal cannot control the flight recorder: %s", hal_message());
    const enum hal_status status =
        range->spec.kind == HAL_RANGE_SIGNAL ? listen_to_signal() : HAL_OK;
    if (status != HAL_OK)
        atomic_store(&range->state, OVER);
    return status;
}

static void describe_seen(const struct hal_capture_range *range, char out[SEEN_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    if (range->spec.kind != HAL_RANGE_SCOPE)
        return;
    used = (size_t)snprintf(out, SEEN_BYTES, range->seen_count ? "; its scopes:" : ", no scope");
    for (size_t i = 0; i < range->seen_count; i++)
        used += (size_t)snprintf(out + used, SEEN_BYTES - used, "%s '%.48s'", i ? "," : "",
                                 range->seen[i]);
    snprintf(out + used, SEEN_BYTES - used, "%s", range->seen_more ? ", and others" : "");
}

/* hal-capture reports it, if it is listening. */
static void warn_missed(const struct hal_device *device)
{
    char seen[SEEN_BYTES], text[HAL_MESSAGE_BYTES];
    const struct hal_capture_range *range = device->range;
    describe_seen(range, seen);
    const uint64_t submissions = atomic_load(&device->submissions);
    if (range->obstacle)
        snprintf(text, sizeof text,
                 "device '%s': its window could not open when it was reached, and was not reached "
                 "again: %s",
                 device->info.uri, range->obstacle);
    else
        snprintf(text, sizeof text,
                 "device '%s' was not captured: its %s did not reach the window%s",
                 device->info.uri, hal_count(submissions, "submission", "submissions").text, seen);
    if (!hal_run_report(HAL_RUN_MISSED, text))
        hal_log(HAL_LOG_WARN, "%s", text);
}

void hal_capture_range_destroy(struct hal_device *device)
{
    struct hal_capture_range *range = device->range;
    if (!range)
        return;
    if ((!range->opened || range->obstacle) && atomic_load(&range->state) == WAITS &&
        range->spec.kind != HAL_RANGE_FLIGHT_RECORDER)
        warn_missed(device);
    pthread_mutex_destroy(&range->lock);
    for (size_t i = 0; i < range->seen_count; i++)
        free(range->seen[i]);
    free(range->obstacle);
    free(range->scope);
    free(range->text);
    free(range->file);
    free(range);
    device->range = NULL;
}
