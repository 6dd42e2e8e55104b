/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: captures of a part of a run, which begin and end at a submission, with a scope, or when
 * a signal comes. A window opens the way that hal_device_profiling_begin does, in the thread that
 * reaches it, so that what follows is recorded; but a program must not hang because of it. Where
 * work in flight depends on what that thread does next, the device does not become idle: then the
 * window opens, or closes, at a later submission. */
#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/base/run.h"
#include "hal/core/core.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t first_timeout_ns = 500000000, later_timeout_ns = 20000000;

enum { MOST_SEEN = 6, SEEN_BYTES = 512 };
enum window_state { WAITS, OPEN, CLOSES, OVER };

struct hal_window {
    struct hal_window_place place;
    char *scope, *text;                   /* what is captured; the same in words */
    struct hal_profiling_options options; /* file, the strings: the window's own */
    char *file;                           /* what the user asked for, or NULL */
    char claimed[PATH_MAX];               /* the next capture's */
    pthread_mutex_t lock;                 /* the rest; never taken inside the gate */
    _Atomic uint32_t state;               /* enum window_state */
    _Atomic uint64_t passed;              /* of the window's submissions: handed to the driver */
    bool late;                            /* it could not open when it should have */
    uint32_t depth;                       /* of the scope: scopes inside */
    uint64_t thread;                      /* of the scope */
    _Atomic uint64_t signals;             /* taken notice of */
    bool opened;                          /* ever */
    char *seen[MOST_SEEN];                /* other scopes, until it opens: they may be meant */
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

/* What the program does with the signal is not taken away from it. */
static enum hal_status listen_to_signal(void)
{
    struct sigaction known;
    const struct sigaction ours = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
    if (sigaction(SIGUSR1, NULL, &known) == 0 && !(known.sa_flags & SA_SIGINFO) &&
        (known.sa_handler == SIG_DFL || known.sa_handler == note_signal) &&
        sigaction(SIGUSR1, &ours, NULL) == 0)
        return HAL_OK;
    return hal_fail(HAL_EXISTS, "the program handles or ignores SIGUSR1 itself: a capture cannot "
                                "be switched by it");
}

/* ---- Opening and closing ------------------------------------------------------------------ */

static bool is_forked(const struct hal_device *device)
{
    return atomic_load(&device->gate.state) == HAL_GATE_FORKED;
}

/* With the lock held. False: not yet, or never. */
static bool open_locked(struct hal_device *device, struct hal_window *window)
{
    struct hal_profiling_options options = window->options;
    enum hal_status status = HAL_OK;
    if (!window->claimed[0])
        status = hal_name_claim(&window->options, window->claimed, sizeof window->claimed);
    options.file = window->claimed;
    if (status == HAL_OK)
        status = hal_profiling_begin_now(device, &options,
                                         window->late ? later_timeout_ns : first_timeout_ns);
    if (status == HAL_TIMEOUT) {
        if (!window->late)
            hal_log(HAL_LOG_WARN, "the capture's window opens later than asked for: %s",
                    hal_message());
        window->late = true;
        return false;
    }
    if (status != HAL_OK) {
        hal_profiling_tell_failure(device);
        if (window->claimed[0])
            hal_name_unused(window->claimed);
        atomic_store(&window->state, OVER);
        return false;
    }
    window->claimed[0] = '\0';
    window->late = false;
    window->opened = true;
    atomic_store(&window->state, OPEN);
    return true;
}

static void close_locked(struct hal_device *device, struct hal_window *window)
{
    const enum window_state then = window->place.kind == HAL_WINDOW_SUBMISSIONS ? OVER : WAITS;
    const bool again = atomic_load(&window->state) == CLOSES;
    const enum hal_status status =
        hal_profiling_end_now(device, again ? later_timeout_ns : first_timeout_ns);
    if (status == HAL_TIMEOUT) {
        atomic_store(&window->state, CLOSES);
        return;
    }
    if (status != HAL_OK)
        hal_log(HAL_LOG_ERROR, "ending the capture of '%s': %s", device->info.uri, hal_message());
    atomic_store(&window->state, then);
}

/* ---- What happens ------------------------------------------------------------------------- */

static bool has_group(const char *name, const struct hal_submit_desc *desc)
{
    for (size_t i = 0; i < desc->command_count; i++) {
        hal_each_segment (desc->commands[i], segment) {
            const struct hal_segment_debug *debug = (const void *)segment;
            if (segment->kind == HAL_SEGMENT_DEBUG_BEGIN && strcmp(debug->label, name) == 0)
                return true;
        }
    }
    return false;
}

static bool is_due(struct hal_window *window, uint64_t submission,
                   const struct hal_submit_desc *desc)
{
    const uint32_t state = atomic_load(&window->state);
    if (state == CLOSES)
        return true;
    switch (window->place.kind) {
    case HAL_WINDOW_SUBMISSIONS:
        return state == WAITS && submission >= window->place.first &&
               submission <= window->place.last;
    case HAL_WINDOW_GROUP:
        return (state == WAITS || state == OPEN) &&
               has_group(window->scope, desc) == (state == WAITS);
    case HAL_WINDOW_SIGNAL:
    case HAL_WINDOW_RECORDER:
        return atomic_load_explicit(&signals_seen, memory_order_relaxed) !=
               atomic_load_explicit(&window->signals, memory_order_relaxed);
    case HAL_WINDOW_SCOPE:
    case HAL_WINDOW_NONE: return false;
    }
    return false;
}

static void follow_signals_locked(struct hal_device *device, struct hal_window *window)
{
    const uint64_t seen = atomic_load_explicit(&signals_seen, memory_order_relaxed);
    const bool toggles = (seen - atomic_load(&window->signals)) % 2;
    if (toggles && atomic_load(&window->state) == WAITS) {
        if (!open_locked(device, window) && window->late)
            return; /* the signals are still to be followed */
    } else if (toggles && atomic_load(&window->state) == OPEN) {
        close_locked(device, window);
    }
    atomic_store(&window->signals, seen);
}

/* When the work in flight is not done in time, it comes at a later submission. */
static void write_out_locked(struct hal_device *device, struct hal_window *window)
{
    const uint64_t seen = atomic_load_explicit(&signals_seen, memory_order_relaxed);
    const enum hal_status status =
        hal_profiling_write_out_now(device, window->late ? later_timeout_ns : first_timeout_ns);
    window->late = status == HAL_TIMEOUT;
    if (window->late)
        return;
    if (status != HAL_OK)
        hal_log(HAL_LOG_ERROR, "writing the capture of '%s' out: %s", device->info.uri,
                hal_message());
    atomic_store(&window->signals, seen);
}

static void act_locked(struct hal_device *device, struct hal_window *window)
{
    const uint32_t state = atomic_load(&window->state);
    if (state == CLOSES || (state == OPEN && window->place.kind == HAL_WINDOW_GROUP))
        close_locked(device, window);
    else if (window->place.kind == HAL_WINDOW_SIGNAL)
        follow_signals_locked(device, window);
    else if (window->place.kind == HAL_WINDOW_RECORDER)
        write_out_locked(device, window);
    else
        open_locked(device, window);
}

void hal_window_before(struct hal_device *device, uint64_t submission,
                       const struct hal_submit_desc *desc)
{
    struct hal_window *window = device->window;
    if (!is_due(window, submission, desc) || is_forked(device))
        return;
    pthread_mutex_lock(&window->lock);
    if (is_due(window, submission, desc))
        act_locked(device, window);
    pthread_mutex_unlock(&window->lock);
}

void hal_window_after(struct hal_device *device, uint64_t submission)
{
    struct hal_window *window = device->window;
    const struct hal_window_place *place = &window->place;
    if (place->kind != HAL_WINDOW_SUBMISSIONS || submission < place->first ||
        submission > place->last)
        return;
    /* Numbers are drawn before submissions are made: the last one may well overtake others. */
    if (atomic_fetch_add(&window->passed, 1) < place->last - place->first ||
        atomic_load(&window->state) != OPEN || is_forked(device))
        return;
    pthread_mutex_lock(&window->lock);
    if (atomic_load(&window->state) == OPEN)
        close_locked(device, window);
    pthread_mutex_unlock(&window->lock);
}

static void note_scope_locked(struct hal_window *window, const char *name)
{
    for (size_t i = 0; i < window->seen_count; i++) {
        if (strcmp(window->seen[i], name) == 0)
            return;
    }
    char *copy = window->seen_count < MOST_SEEN ? hal_copy_string(name) : NULL;
    if (copy)
        window->seen[window->seen_count++] = copy;
    else
        window->seen_more = true;
}

void hal_window_scope_begin(struct hal_device *device, const char *name)
{
    struct hal_window *window = device->window;
    if (window->place.kind != HAL_WINDOW_SCOPE || is_forked(device))
        return;
    const uint64_t thread = hal_thread_id();
    pthread_mutex_lock(&window->lock);
    if (atomic_load(&window->state) == CLOSES)
        close_locked(device, window);
    if (atomic_load(&window->state) == OPEN && window->thread == thread) {
        window->depth++;
    } else if (atomic_load(&window->state) == WAITS && strcmp(name, window->scope) == 0) {
        window->late = false;
        if (open_locked(device, window)) {
            window->thread = thread;
            window->depth = 1;
        }
    } else if (!window->opened) {
        note_scope_locked(window, name);
    }
    pthread_mutex_unlock(&window->lock);
}

void hal_window_scope_end(struct hal_device *device)
{
    struct hal_window *window = device->window;
    if (window->place.kind != HAL_WINDOW_SCOPE || is_forked(device))
        return;
    pthread_mutex_lock(&window->lock);
    if (atomic_load(&window->state) == OPEN && window->thread == hal_thread_id() &&
        --window->depth == 0)
        close_locked(device, window);
    pthread_mutex_unlock(&window->lock);
}

/* ---- With the device ---------------------------------------------------------------------- */

/* The settings' strings live until the next hal_flags_parse. */
static bool copy_settings(struct hal_window *window, const struct hal_settings *settings)
{
    window->place = settings->window;
    window->options = settings->options;
    window->scope = hal_copy_string(settings->window.scope);
    window->file = hal_copy_string(settings->options.file);
    window->place.scope = window->scope;
    window->options.file = window->file;
    window->text = hal_copy_string(settings->options.window);
    window->options.window = window->text;
    return (window->scope || !settings->window.scope) &&
           (window->text || !settings->options.window) && (window->file || !settings->options.file);
}

enum hal_status hal_window_create(struct hal_device *device, const struct hal_settings *settings)
{
    struct hal_window *window = hal_alloc(1, sizeof *window);
    if (!window)
        return hal_fail(HAL_NO_MEMORY, "no memory for a capture's window");
    pthread_mutex_init(&window->lock, NULL);
    device->window = window;
    if (!copy_settings(window, settings)) {
        atomic_store(&window->state, OVER);
        return hal_fail(HAL_NO_MEMORY, "no memory for a capture's window");
    }
    atomic_init(&window->signals, atomic_load(&signals_seen));
    if (window->place.kind == HAL_WINDOW_RECORDER && listen_to_signal() != HAL_OK)
        hal_log(HAL_LOG_INFO, "the flight recorder cannot be asked by a signal: %s", hal_message());
    const enum hal_status status =
        window->place.kind == HAL_WINDOW_SIGNAL ? listen_to_signal() : HAL_OK;
    if (status != HAL_OK)
        atomic_store(&window->state, OVER);
    return status;
}

static void describe_seen(const struct hal_window *window, char out[SEEN_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    if (window->place.kind != HAL_WINDOW_SCOPE)
        return;
    used = (size_t)snprintf(out, SEEN_BYTES, window->seen_count ? "; its scopes:" : ", no scope");
    for (size_t i = 0; i < window->seen_count; i++)
        used += (size_t)snprintf(out + used, SEEN_BYTES - used, "%s '%.48s'", i ? "," : "",
                                 window->seen[i]);
    snprintf(out + used, SEEN_BYTES - used, "%s", window->seen_more ? ", and others" : "");
}

/* hal-capture says it, where it listens. */
static void warn_missed(const struct hal_device *device)
{
    char seen[SEEN_BYTES], text[HAL_MESSAGE_BYTES];
    describe_seen(device->window, seen);
    const uint64_t submissions = atomic_load(&device->submissions);
    snprintf(text, sizeof text,
             "device '%s' was not captured: its %" PRIu64
             " submission%s did not reach the window%s",
             device->info.uri, submissions, submissions == 1 ? "" : "s", seen);
    if (!hal_run_report(HAL_RUN_MISSED, text))
        hal_log(HAL_LOG_WARN, "%s", text);
}

void hal_window_destroy(struct hal_device *device)
{
    struct hal_window *window = device->window;
    if (!window)
        return;
    if (!window->opened && atomic_load(&window->state) == WAITS &&
        window->place.kind != HAL_WINDOW_RECORDER)
        warn_missed(device);
    pthread_mutex_destroy(&window->lock);
    for (size_t i = 0; i < window->seen_count; i++)
        free(window->seen[i]);
    free(window->scope);
    free(window->text);
    free(window->file);
    free(window);
    device->window = NULL;
}
