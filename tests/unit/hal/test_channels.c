/* SPDX-License-Identifier: Apache-2.0 */
/* The log names ranks that do not come, again and again, and not those that came. */
#include "hal/base/log.h"
#include "hal/base/os.h"
#include "tests/support/hal_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned warnings;
static char warning[512];

static void sink(void *user, enum hal_log_level level, const char *text)
{
    (void)user;
    if (level != HAL_LOG_WARN || !strstr(text, "has waited"))
        return;
    pthread_mutex_lock(&lock);
    warnings++;
    snprintf(warning, sizeof warning, "%s", text);
    pthread_mutex_unlock(&lock);
}

static unsigned count(void)
{
    pthread_mutex_lock(&lock);
    const unsigned now = warnings;
    pthread_mutex_unlock(&lock);
    return now;
}

static void submit_reduction(struct hal_device *device, struct hal_channel *channel,
                             struct hal_buffer *buffer)
{
    assert_ok(
        hal_queue_collective(device, NULL,
                             &(struct hal_collective_desc){.channel = channel,
                                                           .operation = HAL_COLLECTIVE_ALL_REDUCE,
                                                           .type = HAL_ELEMENT_F32,
                                                           .reduction = HAL_REDUCTION_SUM,
                                                           .count = 1,
                                                           .send = buffer,
                                                           .receive = buffer}));
}

TEST(the_log_names_them)
{
    struct hal_device *devices[3];
    struct hal_channel *channels[3];
    struct hal_buffer *buffers[3];
    const struct hal_buffer_desc desc = {.bytes = 4};
    setenv("HAL_CHANNEL_STALL_WARNING", "10ms", 1);
    for (size_t i = 0; i < 3; i++) {
        assert_ok(hal_device_open("cpu?threads=1", &devices[i]));
        assert_ok(hal_buffer_create(devices[i], &desc, &buffers[i]));
        assert_ok(hal_buffer_write(buffers[i], 0, (uint8_t[4]){0}, 4));
    }
    assert_ok(
        hal_channel_create(devices, 3, &(struct hal_channel_desc){.label = "ring"}, channels));
    submit_reduction(devices[1], channels[1], buffers[1]);
    while (count() < 2)
        sched_yield();
    pthread_mutex_lock(&lock);
    assert_non_null(strstr(warning, "all-reduce, number 0 of channel 'ring' has waited"));
    assert_non_null(strstr(warning, "for ranks 0, 2"));
    pthread_mutex_unlock(&lock);
    submit_reduction(devices[0], channels[0], buffers[0]);
    submit_reduction(devices[2], channels[2], buffers[2]);
    for (size_t i = 0; i < 3; i++) {
        assert_ok(hal_device_wait_idle(devices[i], HAL_FOREVER));
        hal_channel_release(channels[i]);
        hal_buffer_release(buffers[i]);
        hal_device_release(devices[i]);
    }
}

TEST(the_stall_warning_s_values)
{
    static const char *const wrong[] = {"soon", "10x", "1ms", "25h", "-1s", "never "};
    struct hal_device *device;
    struct hal_channel *channel;
    assert_ok(hal_device_open("cpu?threads=1", &device));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("HAL_CHANNEL_STALL_WARNING", wrong[i], 1);
        assert_fails(hal_channel_create(&device, 1, NULL, &channel), HAL_INVALID,
                     "HAL_CHANNEL_STALL_WARNING must be never or a time");
    }
    unsetenv("HAL_CHANNEL_STALL_WARNING");
    setenv("HAL_CHANNEL_PATIENCE", "soon", 1); /* the former name */
    assert_fails(hal_channel_create(&device, 1, NULL, &channel), HAL_INVALID, "not 'soon'");
    setenv("HAL_CHANNEL_STALL_WARNING", "never", 1);
    assert_ok(hal_channel_create(&device, 1, NULL, &channel));
    hal_channel_release(channel);
    hal_device_release(device);
    unsetenv("HAL_CHANNEL_STALL_WARNING");
    unsetenv("HAL_CHANNEL_PATIENCE");
}

/* Groups come and go on several threads, and with them the thread that watches. */
static void *make_groups(void *device)
{
    struct hal_device *devices[2] = {device, device};
    struct hal_channel *channels[2];
    for (int i = 0; i < 100; i++) {
        if (hal_channel_create(devices, 2, NULL, channels) != HAL_OK)
            return device;
        hal_channel_release(channels[i % 2]);
        hal_channel_release(channels[(i + 1) % 2]);
    }
    return NULL;
}

TEST(groups_come_and_go)
{
    struct hal_device *device;
    pthread_t threads[4];
    void *failed;
    assert_ok(hal_device_open("cpu?threads=1", &device));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_groups, device), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    hal_device_release(device);
}

int main(void)
{
    hal_log_set_sink(sink, NULL);
    return test_run();
}
