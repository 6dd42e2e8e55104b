/* SPDX-License-Identifier: Apache-2.0 */
/* The submission engine: handles submissions from the application's call to their end, for all
 * drivers. Part of hal/driver.h.
 *
 * A driver's device begins with a struct hal_engine, its table has the engine's entries for
 * queue_submit, device_wait_idle, waits_interrupt and the semaphores, and its submissions begin
 * with a struct hal_work. The engine owns semaphores, waits, submissions in flight, threads for
 * host calls, waiting threads, and the handling of device loss. The driver defines how a submission
 * starts, and reports when it has ended:
 *
 *     queue_submit -> prepare -> (waits) -> start -> hal_work_commit_locked -> hal_work_end
 *                                                       (optional)                 |
 *                             signals <- release <- retired is called <- (waits) <-'
 *
 * A submission starts when each of its waits is reached or, if it waits on the device, *promised*:
 * committed work of the same device will signal it. It retires when it has ended, the host has seen
 * its waits end, and, if it was committed, everything committed before on its queue has retired: so
 * no observed value was reached too early.
 *
 * Threads: any. One lock serves all devices, since several devices may use a semaphore. It is never
 * held while the driver is called, except where a comment says so. */
#ifndef HAL_ENGINE_H
#define HAL_ENGINE_H

#include "hal/base/fifo.h"
#include "hal/driver.h"

struct hal_engine;
struct hal_work;
struct hal_waiter;

/* Protects what is marked "locked" below; drivers may use it for their own lists. */
extern HAL_API pthread_mutex_t hal_engine_lock;

/* Work that a change under the lock leaves to hal_engine_drain_ready, which runs without it. */
enum { HAL_MAX_WAKES = 16 };
struct hal_changes {
    struct hal_fifo ready, ended;
    _Atomic uint32_t *words[HAL_MAX_WAKES];
    size_t word_count;
};

/* Starts and retires submissions, and those that become ready or end as a result, in a loop. */
HAL_API void hal_engine_drain_ready(struct hal_changes *changes);

/* ---- Submissions -------------------------------------------------------------------------- */

struct hal_wait {
    struct hal_semaphore *semaphore; /* retained if a submission waits */
    uint64_t value;
    struct hal_work *work;            /* NULL: a thread waits */
    struct hal_waiter *thread;        /* NULL: a submission waits */
    bool is_linked;                   /* locked: the host has not seen the value yet */
    bool is_promised;                 /* locked */
    struct hal_wait *next, *previous; /* list of the semaphore, by increasing value */
};

struct hal_signal {
    struct hal_semaphore *semaphore; /* retained */
    uint64_t value;
    struct hal_work *work;
    bool is_linked; /* locked: the value is promised */
    struct hal_signal *next, *previous;
};

/* A call on a thread that may block; the caller owns the memory until it runs. */
struct hal_thread_call {
    struct hal_link link;
    void (*run)(struct hal_thread_call *self);
};

/* A submission in flight. */
struct hal_work {
    struct hal_engine *engine;
    uint64_t id;
    uint32_t queue;
    struct hal_link link; /* the driver's from `start` until hal_work_end */
    size_t wait_count, signal_count, command_count;
    struct hal_wait *waits;
    struct hal_signal *signals;
    struct hal_command_buffer **commands; /* retained, like the buffer */
    void *extra;                          /* ops->command_bytes for each of them, zeroed */
    struct hal_host_call host;            /* instead of commands */
    struct hal_buffer *buffer;
    uint64_t offset, bytes;

    /* Set by the driver: */
    bool waits_on_device;                         /* by prepare: promised values suffice */
    const struct hal_collective_work *collective; /* by prepare; messages describe it */
    int64_t begin_ns, end_ns, busy_ns;            /* before its end; 0: it did not run */
    struct hal_dispatch_time *times;              /* likewise; freed by the engine */
    size_t time_count;
    bool is_isolated;
    bool is_abandoned; /* likewise: the device may still use its resources, which are never freed */

    /* Set by the engine; locked once it waits on the device. */
    enum hal_status status;
    char *message;
    int64_t ready_ns;
    uint64_t sequence;
    size_t missing; /* waits that are neither reached nor promised */
    size_t pending; /* unreached waits, plus one for the driver */
    bool is_ready, is_ending, is_committed;
    struct hal_link on_queue;
    struct hal_work *next, *previous; /* in flight */
    struct hal_thread_call call;
    void (*retired)(void *user, const struct hal_submission_result *result);
    void *user;
};

struct hal_engine_ops {
    const char *name;        /* of its threads */
    size_t submission_bytes; /* size of the driver's struct around struct hal_work, zeroed */
    size_t command_bytes;

    /* Fills in the driver's part. `release` and `free` follow if it fails, or is refused later. */
    enum hal_status (*prepare)(struct hal_work *work, const struct hal_submission *source);

    /* The waits are over, or the submission has failed. True: it has already ended; false:
     * hal_work_end is or was called, on any thread. Host calls come here only if they have
     * failed. */
    bool (*start)(struct hal_work *work, struct hal_changes *changes);

    /* Performs a host call, on a thread that may block. */
    enum hal_status (*call)(struct hal_work *work);

    /* Optional, locked. The device is lost while this submission runs: it should end soon. */
    void (*cancel)(struct hal_work *work);

    /* It is over: releases the driver's resources, before its signals can be observed. */
    void (*release)(struct hal_work *work, struct hal_changes *changes);

    /* The last use. The device may already be gone. */
    void (*free)(struct hal_work *work);
};

/* Whether it has failed and need not run. */
HAL_API bool hal_work_has_failed(struct hal_work *work);

/* Makes it end with this failure, unless it has failed already. Copies the message. */
HAL_API void hal_work_fail(struct hal_work *work, enum hal_status status, const char *message);

/* Locked, from `start` on: it was passed to the device, after all others of its queue. If it
 * `promises`, others may rely on its signals. */
HAL_API void hal_work_commit_locked(struct hal_work *work, bool promises,
                                    struct hal_changes *changes);

/* Locked: the submission whose end the device must wait for; NULL: the wait is over. */
HAL_API struct hal_work *hal_wait_promiser_locked(const struct hal_wait *wait);

/* Whether the host has not yet seen the end of one of its waits. */
HAL_API bool hal_work_is_waiting(struct hal_work *work);

/* Locked: causes `start` to be called again. */
HAL_API void hal_work_restart_locked(struct hal_work *work, struct hal_changes *changes);

/* The driver is finished with it. */
HAL_API void hal_work_end(struct hal_work *work);

/* ---- Devices ------------------------------------------------------------------------------ */

/* Which calls of a kind fail, counted from 1; 0: none. */
struct hal_failures {
    uint32_t first, last;
    _Atomic uint32_t count; /* calls so far */
};

/* Fault injection, for tests. */
struct hal_injection {
    struct hal_failures buffers;     /* creations that fail with no memory */
    struct hal_failures submissions; /* at whose begin the device is lost */
};

enum { HAL_MOST_CALLERS = 4 };

/* Threads that may block, started on demand. */
struct hal_callers {
    pthread_mutex_t lock;
    pthread_cond_t wanted;
    struct hal_fifo calls;
    uint32_t queued;         /* of these */
    uint32_t waiting, count; /* threads waiting for a call, and all threads */
    bool is_stopping;
    pthread_t threads[HAL_MOST_CALLERS];
};

struct hal_engine {
    struct hal_driver_device base;
    const struct hal_engine_ops *ops;
    struct hal_injection injection; /* set by the driver with hal_injection_read */
    struct hal_callers callers;
    _Atomic bool is_lost; /* set under the lock, never cleared */
    char why_lost[512];   /* constant after that */

    /* Locked. */
    pthread_cond_t retired;
    bool is_interrupted;
    uint32_t idle_waiters;
    struct hal_waiter *first_thread; /* waiting for semaphores */
    struct hal_work *first, *last;   /* in flight */
    uint64_t next_sequence;
    struct {
        struct hal_fifo committed; /* by on_queue */
        bool is_retiring;          /* the first one is being retired */
    } queues[HAL_MAX_QUEUES];
};

/* Initialises a zeroed struct; and stops the threads, with nothing in flight. */
HAL_API void hal_engine_init(struct hal_engine *engine, const struct hal_driver_ops *table,
                             const struct hal_engine_ops *ops);
HAL_API void hal_engine_finish(struct hal_engine *engine);

/* Entries of a driver's table: HAL_ENGINE_ENTRIES. */
HAL_API enum hal_status hal_engine_submit(struct hal_driver_device *self,
                                          const struct hal_submission *source);
HAL_API enum hal_status hal_engine_wait_idle(struct hal_driver_device *self, int64_t timeout_ns);
HAL_API void hal_engine_interrupt(struct hal_driver_device *self, bool on);
HAL_API enum hal_status hal_engine_semaphore_create(struct hal_driver_device *self,
                                                    const char *label, uint64_t initial_value,
                                                    struct hal_semaphore **out);
HAL_API enum hal_status hal_engine_semaphore_query(struct hal_driver_device *self,
                                                   struct hal_semaphore *semaphore,
                                                   uint64_t *out_value);
HAL_API enum hal_status hal_engine_semaphore_signal(struct hal_driver_device *self,
                                                    struct hal_semaphore *semaphore,
                                                    uint64_t value);
HAL_API void hal_engine_semaphore_fail(struct hal_driver_device *self,
                                       struct hal_semaphore *semaphore, enum hal_status status,
                                       const char *message);
HAL_API enum hal_status hal_engine_semaphores_wait(struct hal_driver_device *self,
                                                   enum hal_wait_mode mode,
                                                   const struct hal_semaphore_value *values,
                                                   size_t count, int64_t timeout_ns);

#define HAL_ENGINE_ENTRIES                                                                         \
    .device_wait_idle = hal_engine_wait_idle, .shares_semaphores = true,                           \
    .semaphore_create = hal_engine_semaphore_create,                                               \
    .semaphore_query = hal_engine_semaphore_query,                                                 \
    .semaphore_signal = hal_engine_semaphore_signal, .semaphore_fail = hal_engine_semaphore_fail,  \
    .semaphores_wait = hal_engine_semaphores_wait, .queue_submit = hal_engine_submit,              \
    .waits_interrupt = hal_engine_interrupt

/* For object_destroy. */
HAL_API void hal_engine_semaphore_destroy(struct hal_semaphore *semaphore);

/* Runs the call on a thread of the engine. Fails if there is no thread. */
HAL_API enum hal_status hal_engine_call(struct hal_engine *engine,
                                        struct hal_thread_call *call) HAL_CHECKED;

/* ---- Loss --------------------------------------------------------------------------------- */

/* Nothing starts on the device any more, and work in flight fails. The first message counts. */
HAL_API void hal_engine_lose(struct hal_engine *engine, const char *message);

/* The same with hal_message() if the status is HAL_DEVICE_LOST. Returns the status. */
HAL_API enum hal_status hal_engine_note_loss(struct hal_engine *engine,
                                             enum hal_status status) HAL_CHECKED;

/* HAL_DEVICE_LOST with the cause. */
HAL_API enum hal_status hal_engine_check(const struct hal_engine *engine) HAL_CHECKED;

static inline bool hal_engine_is_lost(const struct hal_engine *engine)
{
    return atomic_load_explicit(&engine->is_lost, memory_order_acquire);
}

/* Parses a device's parameter `fail`: "memory:N", "memory:N-M", "lost:N", or a list of these. */
HAL_API enum hal_status hal_injection_read(const char *value,
                                           struct hal_injection *out_injection) HAL_CHECKED;

/* Call before creating a buffer. HAL_DEVICE_LOST; HAL_NO_MEMORY: injected for this creation. */
HAL_API enum hal_status hal_engine_check_buffer(struct hal_engine *engine) HAL_CHECKED;

#endif
