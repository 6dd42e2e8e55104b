/* SPDX-License-Identifier: Apache-2.0 */
/* Host calls of submissions, on every driver that there is: calls that become ready at the same
 * moment run side by side, up to four, as hal.h says of files. */
#include "hal/core/core.h"
#include "tests/support/hal_fixture.h"

#include <pthread.h>

enum { MOST = 4, ROUNDS = 20 };

/* Calls that end when all of them have begun. */
struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t all_here;
    uint32_t here, wanted;
};

static enum hal_status meet(void *user, void *data, uint64_t bytes)
{
    static const int64_t timeout_ns = 20000000000;
    struct meeting *meeting = user;
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    bool in_time = true;
    (void)data;
    (void)bytes;
    pthread_mutex_lock(&meeting->lock);
    meeting->here++;
    pthread_cond_broadcast(&meeting->all_here);
    while (meeting->here < meeting->wanted && in_time)
        in_time = hal_condition_wait(&meeting->all_here, &meeting->lock, deadline_ns);
    pthread_mutex_unlock(&meeting->lock);
    return in_time ? HAL_OK
                   : hal_fail(HAL_FAILED, "%u of %u calls began", meeting->here, meeting->wanted);
}

/* All wait for one semaphore, and are ready in one go. */
static void meet_once(struct hal_device *device, struct hal_buffer *buffer, uint32_t count)
{
    struct meeting meeting = {.lock = PTHREAD_MUTEX_INITIALIZER, .wanted = count};
    struct hal_semaphore *begin = fixture_semaphore(device, "begin", 0);
    struct hal_semaphore *done[MOST];
    hal_condition_init(&meeting.all_here);
    for (uint32_t i = 0; i < count; i++) {
        done[i] = fixture_semaphore(device, "done", 0);
        const struct hal_semaphore_value wait = {begin, 1}, signal = {done[i], 1};
        const struct hal_submission what = {.operation = HAL_OPERATION_READ,
                                            .buffer = buffer,
                                            .bytes = 16,
                                            .host = {.run = meet, .user = &meeting}};
        struct hal_submission submission = what;
        submission.waits = &wait;
        submission.wait_count = 1;
        submission.signals = &signal;
        submission.signal_count = 1;
        assert_ok(device->driver->ops->queue_submit(device->driver, &submission));
    }
    assert_ok(hal_semaphore_signal(begin, 1));
    for (uint32_t i = 0; i < count; i++) {
        assert_ok(hal_semaphore_wait(done[i], 1, HAL_FOREVER));
        hal_semaphore_release(done[i]);
    }
    hal_semaphore_release(begin);
    pthread_cond_destroy(&meeting.all_here);
}

static bool meet_on(void *user, const struct hal_device_entry *entry)
{
    struct hal_device *device;
    (void)user;
    assert_ok(hal_device_open(entry->uri, &device));
    struct hal_buffer *buffer = fixture_buffer(device, "b", 64);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t count = 1; count <= MOST; count++)
            meet_once(device, buffer, count);
    }
    hal_buffer_release(buffer);
    hal_device_release(device);
    return true;
}

TEST(calls_at_once_run_side_by_side)
{
    assert_ok(hal_devices_list(NULL, meet_on, NULL));
}
