/* SPDX-License-Identifier: Apache-2.0 */
/* Short ways of cases: what they do again and again. */
#include "tests/conformance/suite.h"

void suite_write(struct suite *suite, struct hal_buffer *buffer, uint64_t offset, const void *data,
                 uint64_t bytes)
{
    check_ok(suite, hal_buffer_write(buffer, offset, data, bytes));
}

void suite_read(struct suite *suite, struct hal_buffer *buffer, uint64_t offset, void *out_data,
                uint64_t bytes)
{
    check_ok(suite, hal_buffer_read(buffer, offset, out_data, bytes));
}

void suite_clear(struct suite *suite, struct hal_buffer *buffer, uint8_t byte)
{
    struct hal_mapping mapping;
    check_ok(suite, hal_buffer_map(buffer, HAL_MAP_WRITE | HAL_MAP_DISCARD, 0, HAL_WHOLE_BUFFER,
                                   &mapping));
    memset(mapping.data, byte, mapping.bytes);
    check_ok(suite, hal_buffer_unmap(&mapping));
}

enum hal_status suite_submit(struct suite *suite, uint64_t queues,
                             struct hal_command_buffer *commands, struct hal_semaphore_value wait,
                             struct hal_semaphore_value signal)
{
    return hal_queue_submit(suite_device(suite), &(struct hal_submit_desc){
                                                     .queues = queues,
                                                     .waits = &wait,
                                                     .wait_count = wait.semaphore ? 1 : 0,
                                                     .signals = &signal,
                                                     .signal_count = signal.semaphore ? 1 : 0,
                                                     .commands = &commands,
                                                     .command_count = commands ? 1 : 0,
                                                 });
}

void suite_wait(struct suite *suite, struct hal_semaphore *semaphore, uint64_t value)
{
    check_ok(suite, hal_semaphore_wait(semaphore, value, SUITE_TIMEOUT_NS));
}

void suite_submit_and_wait(struct suite *suite, struct hal_command_buffer *commands)
{
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    check_ok(suite, suite_submit(suite, 0, commands, SUITE_NONE, suite_at(done, 1)));
    suite_wait(suite, done, 1);
}

void suite_run(struct suite *suite, struct hal_command_buffer *commands)
{
    check_ok(suite, hal_command_buffer_end(commands));
    suite_submit_and_wait(suite, commands);
}
