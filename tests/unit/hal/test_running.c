/* SPDX-License-Identifier: Apache-2.0 */
/* hal_device_running of the CPU device: which dispatch runs. Its kernels wait for stores of the
 * host that come while they run, which no replay can repeat: not for a run under capture. */
#include "tests/support/hal_fixture.h"

#include <sched.h>

/* Each dispatch ends when the host has written to the word that it is bound to. */
static struct hal_command_buffer *waiting(struct hal_device *device,
                                          struct hal_executable *executable,
                                          struct hal_buffer *const *words, size_t count)
{
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    for (size_t i = 0; i < count; i++) {
        const struct hal_binding binding = {words[i], 0, 4};
        assert_ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
        assert_ok(hal_command_dispatch(commands, executable, 0, (uint32_t[3]){1, 1, 1}));
        assert_ok(hal_command_barrier(commands, NULL));
    }
    assert_ok(hal_command_buffer_end(commands));
    return commands;
}

/* Also of command buffers whose last handle is gone, and behind work that waits. */
TEST(the_dispatch_that_runs_is_known)
{
    enum { WORDS = 2, BUFFERS = 2 };
    struct hal_device *device = fixture_device("cpu?threads=2");
    struct hal_executable *executable = fixture_executable(
        device, "kernel void f(device volatile uint *w [[buffer(0)]]) { while (w[0] == 0) ; }");
    struct hal_semaphore *gate = fixture_semaphore(device, "gate", 0);
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_buffer *words[WORDS];
    void *shut;
    struct hal_running at = {0};
    for (int i = 0; i < WORDS; i++)
        words[i] = fixture_buffer(device, "word", 4);
    assert_ok(hal_buffer_write(words[0], 0, &(uint32_t){1}, 4));
    assert_ok(hal_buffer_export(words[1], &shut));
    *(volatile uint32_t *)shut = 0;
    assert_fails(hal_device_running(device, &at), HAL_NOT_FOUND, "no dispatch runs");
    assert_fails(hal_device_running(device, NULL), HAL_INVALID, "running dispatch");
    assert_ok(fixture_submit(device, NULL, gate, 1, NULL, 0));
    struct hal_command_buffer *commands[BUFFERS] = {waiting(device, executable, words, 1),
                                                    waiting(device, executable, words, WORDS)};
    const struct hal_semaphore_value signal = {done, 7};
    assert_ok(hal_queue_submit(device, &(struct hal_submit_desc){.signals = &signal,
                                                                 .signal_count = 1,
                                                                 .commands = commands,
                                                                 .command_count = BUFFERS}));
    for (int i = 0; i < BUFFERS; i++)
        hal_command_buffer_release(commands[i]);
    while (hal_device_running(device, &at) != HAL_OK || at.command_buffer != 1 || at.dispatch != 1)
        sched_yield();
    assert_ptr_equal(at.signal.semaphore, done);
    assert_int_equal(at.signal.value, 7);
    *(volatile uint32_t *)shut = 1;
    assert_ok(hal_semaphore_wait(done, 7, HAL_FOREVER));
    while (hal_device_running(device, &at) == HAL_OK) /* until the worker has left */
        sched_yield();
    assert_ok(hal_semaphore_signal(gate, 1));
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    for (int i = 0; i < WORDS; i++)
        hal_buffer_release(words[i]);
    hal_semaphore_release(gate);
    hal_semaphore_release(done);
    hal_executable_release(executable);
    hal_device_release(device);
}
