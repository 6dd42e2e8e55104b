/* SPDX-License-Identifier: Apache-2.0 */
/* capture/track/inflight.c and changes.c: what the device wrote into mapped memory is in the trace
 * when the host may look, and not before. Tests run twice: with the system's account of written
 * pages, and by comparison. */
#include "tests/support/contents.h"

#include "hal/base/mem.h"
#include "hal/driver.h"

/* ---- What the device wrote ---- */

/* Pages that another mapping of the buffer covers stay watched when the first one goes. */
TEST_EACH(a_mapping_that_goes_leaves_the_other_exact, contents_by_pages, contents_by_comparison)
{
    struct captured captured;
    struct hal_mapping first, second;
    struct hal_device *device = fixture_device("cpu");
    struct hal_buffer *buffer = contents_buffer(device, 0, BYTES);
    const uint32_t mode = HAL_MAP_WRITE | HAL_MAP_PERSISTENT;
    captured_begin(device, contents_path);
    assert_ok(hal_buffer_map(buffer, mode, 0, BYTES, &first));
    assert_ok(hal_buffer_map(buffer, mode, 0, BYTES, &second));
    memset(first.data, 3, BYTES);
    assert_ok(hal_buffer_unmap(&first));
    ((uint8_t *)second.data)[40 * KIB + 1] = 9;
    contents_fill(device, buffer, 0, BYTES, 1); /* all of it is looked at, one page was written */
    assert_ok(hal_buffer_unmap(&second));
    assert_ok(hal_device_profiling_end(device));
    hal_buffer_release(buffer);
    hal_device_release(device);

    captured_open(&captured, contents_path);
    const uint64_t unmapped = contents_ticket(&captured, TRACE_BUFFER_UNMAP, 0);
    const uint64_t submitted = contents_ticket(&captured, TRACE_SUBMIT, 0);
    const struct trace_content_event *write;
    uint64_t bytes = 0;
    for (size_t i = 0; (write = captured_find(&captured, TRACE_HOST_WRITE, i)); i++) {
        if (write->head.ticket > unmapped && write->head.ticket < submitted)
            bytes += write->size;
    }
    assert_int_equal(bytes, 4096);
    captured_close(&captured);
}

TEST_EACH(finished_work_is_observed_in_mapped_memory, contents_by_pages, contents_by_comparison)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *buffer = contents_buffer(device, 0, BYTES);
    struct hal_mapping mapping = contents_map(buffer, HAL_MAP_READ | HAL_MAP_WRITE, 0, BYTES);
    memset(mapping.data, 9, 100);
    contents_fill(device, buffer, 40000, 5000, 6);
    assert_int_equal(((uint8_t *)mapping.data)[40000], 6);
    /* The device's bytes are not taken for the host's. */
    assert_ok(fixture_submit(device, NULL, NULL, 0, NULL, 0));
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    assert_ok(hal_buffer_unmap(&mapping));
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, contents_path);
    assert_int_equal(captured_count(&captured, TRACE_HOST_READ), 1);
    const struct trace_content_event *read = contents_observed(&captured, 0);
    assert_int_equal(read->offset, 40000);
    assert_int_equal(read->size, 5000);
    assert_true(read->head.ticket > contents_ticket(&captured, TRACE_SEMAPHORE_WAIT, 0));
    uint8_t *bytes = captured_bytes(&captured, read);
    for (unsigned i = 0; i < 5000; i++)
        assert_int_equal(bytes[i], 6);
    free(bytes);
    for (size_t i = 0; i < captured_count(&captured, TRACE_HOST_WRITE); i++) {
        const struct trace_content_event *write = captured_find(&captured, TRACE_HOST_WRITE, i);
        assert_true(write->offset + write->size <= 4096);
    }
    captured_close(&captured);
}

/* Work has ended, and nobody has looked, when the next submission uses what it wrote: that is no
 * write of the host. What the host stored beside it, into the same page, is. */
TEST_EACH(finished_work_is_not_taken_for_the_host, contents_by_pages, contents_by_comparison)
{
    enum { FROM = 40000, TO = 45000 };
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *buffer = contents_buffer(device, 0, 64 * KIB);
    struct hal_buffer *other = contents_buffer(device, 0, 64 * KIB);
    struct hal_mapping mapping = contents_map(buffer, HAL_MAP_READ | HAL_MAP_WRITE, 0, 64 * KIB);
    const uint64_t id = buffer->object.id;
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_command_buffer *fill = fixture_commands(device, "fill", HAL_ONE_SHOT);
    volatile uint8_t *memory = mapping.data;
    assert_ok(hal_command_fill(fill, buffer, FROM, TO - FROM, 6, 1));
    assert_ok(hal_command_buffer_end(fill));
    assert_ok(fixture_submit(device, fill, NULL, 0, done, 1));
    memory[FROM - 1] = 9;
    for (unsigned at = FROM; at < TO; at++) {
        while (memory[at] != 6) /* no call that the capture sees */
            continue;
    }
    contents_copy(device, buffer, 0, other, 64 * KIB);
    assert_ok(hal_semaphore_wait(done, 1, HAL_FOREVER));
    assert_ok(hal_buffer_unmap(&mapping));
    hal_command_buffer_release(fill);
    hal_semaphore_release(done);
    hal_buffer_release(buffer);
    hal_buffer_release(other);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, contents_path);
    const uint64_t copied = contents_ticket(&captured, TRACE_SUBMIT, 1);
    const struct trace_content_event *write;
    bool found = false;
    for (size_t i = 0; (write = captured_find(&captured, TRACE_HOST_WRITE, i)); i++) {
        if (write->buffer != id)
            continue;
        assert_true(write->offset + write->size <= FROM || write->offset >= TO);
        found |= write->offset < FROM && write->offset + write->size == FROM &&
                 write->head.ticket < copied;
    }
    assert_true(found);
    captured_close(&captured);
}

/* Two buffers that are far smaller than a page: the host writes one, the device the other. */
TEST_EACH(small_buffers_are_exact, contents_by_pages)
{
    enum { SMALL = 64 };
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *by_host = contents_buffer(device, 0, SMALL);
    struct hal_buffer *by_device = contents_buffer(device, 0, SMALL);
    struct hal_buffer *other = contents_buffer(device, 0, SMALL);
    struct hal_mapping first = contents_map(by_host, HAL_MAP_READ | HAL_MAP_WRITE, 0, SMALL);
    struct hal_mapping second = contents_map(by_device, HAL_MAP_READ | HAL_MAP_WRITE, 0, SMALL);
    const uint64_t host_id = by_host->object.id, device_id = by_device->object.id;
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_command_buffer *fill = fixture_commands(device, "fill", HAL_ONE_SHOT);
    const volatile uint8_t *memory = second.data;
    assert_ok(hal_command_fill(fill, by_device, 0, SMALL, 6, 1));
    assert_ok(hal_command_buffer_end(fill));
    assert_ok(fixture_submit(device, fill, NULL, 0, done, 1));
    memset(first.data, 9, SMALL);
    for (unsigned at = 0; at < SMALL; at++) {
        while (memory[at] != 6)
            continue;
    }
    contents_copy(device, by_device, 0, other, SMALL);
    contents_copy(device, by_host, 0, other, SMALL);
    assert_ok(hal_semaphore_wait(done, 1, HAL_FOREVER));
    assert_ok(hal_buffer_unmap(&first));
    assert_ok(hal_buffer_unmap(&second));
    hal_command_buffer_release(fill);
    hal_semaphore_release(done);
    hal_buffer_release(by_host);
    hal_buffer_release(by_device);
    hal_buffer_release(other);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, contents_path);
    uint64_t written = 0;
    const struct trace_content_event *write;
    for (size_t i = 0; (write = captured_find(&captured, TRACE_HOST_WRITE, i)); i++) {
        assert_int_not_equal(write->buffer, device_id);
        written += write->buffer == host_id ? write->size : 0;
    }
    assert_int_equal(written, SMALL);
    assert_int_equal(captured_count(&captured, TRACE_MAPPED_CHANGE), 0);
    captured_close(&captured);
}

TEST_EACH(work_that_nobody_looked_at_is_not_observed, contents_by_pages, contents_by_comparison)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *a = contents_buffer(device, 0, BYTES),
                      *b = contents_buffer(device, 0, BYTES);
    struct hal_semaphore *done_a = fixture_semaphore(device, "a", 0);
    struct hal_semaphore *done_b = fixture_semaphore(device, "b", 0);
    struct hal_mapping map_a = contents_map(a, HAL_MAP_READ, 0, BYTES);
    struct hal_mapping map_b = contents_map(b, HAL_MAP_READ, 8192, 4096);
    struct hal_command_buffer *fill_a = fixture_commands(device, "a", HAL_ONE_SHOT);
    struct hal_command_buffer *fill_b = fixture_commands(device, "b", HAL_ONE_SHOT);
    assert_ok(hal_command_fill(fill_a, a, 0, 100, 1, 1));
    assert_ok(hal_command_fill(fill_b, b, 0, BYTES, 2, 1));
    assert_ok(hal_command_buffer_end(fill_a));
    assert_ok(hal_command_buffer_end(fill_b));
    assert_ok(fixture_submit(device, fill_a, NULL, 0, done_a, 1));
    assert_ok(fixture_submit(device, fill_b, NULL, 0, done_b, 1));
    uint64_t value = 0;
    while (value == 0)
        assert_ok(hal_semaphore_query(done_b, &value));
    const uint64_t b_id = b->object.id, a_id = a->object.id;
    assert_ok(hal_semaphore_wait(done_a, 1, HAL_FOREVER));
    assert_ok(hal_buffer_unmap(&map_a));
    assert_ok(hal_buffer_unmap(&map_b));
    hal_command_buffer_release(fill_a);
    hal_command_buffer_release(fill_b);
    hal_semaphore_release(done_a);
    hal_semaphore_release(done_b);
    hal_buffer_release(a);
    hal_buffer_release(b);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, contents_path);
    const struct trace_content_event *first = contents_observed(&captured, 0);
    const struct trace_content_event *second = contents_observed(&captured, 1);
    assert_int_equal(first->buffer, b_id);
    assert_int_equal(first->offset, 8192);
    assert_int_equal(first->size, 4096);
    assert_int_equal(second->buffer, a_id);
    assert_int_equal(second->size, 100);
    assert_true(first->head.ticket < contents_ticket(&captured, TRACE_SEMAPHORE_WAIT, 0));
    assert_true(second->head.ticket > contents_ticket(&captured, TRACE_SEMAPHORE_WAIT, 0));
    assert_null(contents_observed(&captured, 2));
    captured_close(&captured);
}

/* A wait for any of several values tells of those that were reached, and of no others. */
TEST_EACH(a_wait_for_any_observes_what_was_reached, contents_by_pages, contents_by_comparison)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *buffer = contents_buffer(device, 0, BYTES);
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_semaphore *never = fixture_semaphore(device, "never", 0);
    struct hal_mapping mapping = contents_map(buffer, HAL_MAP_READ, 0, BYTES);
    struct hal_command_buffer *commands = fixture_commands(device, "fill", HAL_ONE_SHOT);
    const struct hal_semaphore_value values[] = {{never, 7}, {done, 1}};
    const uint64_t done_id = done->object.id;
    assert_ok(hal_command_fill(commands, buffer, 4096, 500, 6, 1));
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(fixture_submit(device, commands, NULL, 0, done, 1));
    assert_ok(hal_semaphores_wait(device, HAL_WAIT_ANY, values, 2, HAL_FOREVER));
    assert_int_equal(((uint8_t *)mapping.data)[4096], 6);
    assert_ok(hal_buffer_unmap(&mapping));
    hal_command_buffer_release(commands);
    hal_semaphore_release(done);
    hal_semaphore_release(never);
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, contents_path);
    const struct trace_content_event *read = contents_observed(&captured, 0);
    assert_non_null(read);
    assert_int_equal(read->offset, 4096);
    assert_int_equal(read->size, 500);
    assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_QUERY), 1);
    const struct trace_semaphore_event *query = captured_find(&captured, TRACE_SEMAPHORE_QUERY, 0);
    assert_int_equal(query->semaphore, done_id);
    assert_int_equal(query->value, 1);
    assert_true(query->head.ticket > contents_ticket(&captured, TRACE_SEMAPHORE_WAIT, 0));
    assert_true(query->head.ticket < read->head.ticket);
    captured_close(&captured);
}

/* A result is there until the host lets go the work that overwrites it. */
TEST_EACH(what_held_work_will_overwrite_is_observed, contents_by_pages, contents_by_comparison)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu?queues=2");
    captured_begin(device, contents_path);
    struct hal_buffer *buffer = contents_buffer(device, 0, BYTES);
    struct hal_semaphore *first = fixture_semaphore(device, "first", 0);
    struct hal_semaphore *gate = fixture_semaphore(device, "gate", 0);
    struct hal_semaphore *second = fixture_semaphore(device, "second", 0);
    struct hal_mapping mapping = contents_map(buffer, HAL_MAP_READ, 0, BYTES);
    const volatile uint8_t *memory = mapping.data;
    struct hal_command_buffer *early = fixture_commands(device, "early", HAL_ONE_SHOT);
    struct hal_command_buffer *late = fixture_commands(device, "late", HAL_ONE_SHOT);
    assert_ok(hal_command_fill(early, buffer, 0, 8192, 1, 1));
    assert_ok(hal_command_fill(late, buffer, 4096, 8192, 2, 1));
    assert_ok(hal_command_buffer_end(early));
    assert_ok(hal_command_buffer_end(late));
    assert_ok(fixture_submit(device, early, NULL, 0, first, 1));
    assert_ok(fixture_submit(device, late, gate, 1, second, 1));
    assert_ok(hal_semaphore_wait(first, 1, HAL_FOREVER));
    assert_int_equal(memory[4096], 1);
    assert_ok(hal_semaphore_signal(gate, 1));
    assert_ok(hal_semaphore_wait(second, 1, HAL_FOREVER));
    assert_int_equal(memory[4096], 2);
    assert_ok(hal_buffer_unmap(&mapping));
    hal_command_buffer_release(early);
    hal_command_buffer_release(late);
    hal_semaphore_release(first);
    hal_semaphore_release(gate);
    hal_semaphore_release(second);
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, contents_path);
    for (unsigned i = 0; i < 2; i++) {
        const struct trace_content_event *read = contents_observed(&captured, i);
        assert_int_equal(read->offset, i * 4096);
        assert_int_equal(read->size, 8192);
        uint8_t *bytes = captured_bytes(&captured, read);
        assert_int_equal(bytes[0], i + 1);
        assert_int_equal(bytes[8191], i + 1);
        free(bytes);
    }
    assert_true(contents_observed(&captured, 0)->head.ticket <
                contents_ticket(&captured, TRACE_SEMAPHORE_SIGNAL, 0));
    assert_null(contents_observed(&captured, 2));
    captured_close(&captured);
}

/* Small buffers lie side by side on a page. */
TEST_EACH(a_neighbours_writes_are_not_taken_for_ones_own, contents_by_pages, contents_by_comparison)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *small[2];
    struct hal_mapping mappings[2];
    for (unsigned i = 0; i < 2; i++) {
        small[i] = contents_buffer(device, 0, 256);
        mappings[i] = contents_map(small[i], HAL_MAP_READ | HAL_MAP_WRITE, 0, 256);
    }
    const uint64_t ids[2] = {small[0]->object.id, small[1]->object.id};
    contents_fill(device, small[0], 0, 256, 4);
    memset(mappings[1].data, 5, 256);
    assert_ok(fixture_submit(device, NULL, NULL, 0, NULL, 0));
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    for (unsigned i = 0; i < 2; i++) {
        assert_ok(hal_buffer_unmap(&mappings[i]));
        hal_buffer_release(small[i]);
    }
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, contents_path);
    uint8_t seen[256];
    assert_int_equal(captured_replay(&captured, TRACE_HOST_WRITE, ids[0], UINT64_MAX, seen, 256),
                     0);
    assert_int_equal(captured_replay(&captured, TRACE_HOST_WRITE, ids[1], UINT64_MAX, seen, 256),
                     1);
    assert_int_equal(seen[255], 5);
    captured_close(&captured);
}

/* Two slots of one buffer: while the device works on one, the host fills the other. With the
 * system's account of pages this is exact. */
TEST_EACH(host_and_device_share_a_buffer, contents_by_pages)
{
    enum { SLOT = 64 * KIB, STEPS = 10 };
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *buffer = contents_buffer(device, 0, 4 * SLOT);
    const uint64_t id = buffer->object.id;
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_mapping mapping = contents_map(buffer, HAL_MAP_READ | HAL_MAP_WRITE, 0, 4 * SLOT);
    uint8_t *memory = mapping.data;
    for (uint64_t step = 1; step <= STEPS; step++) {
        struct hal_command_buffer *commands = fixture_commands(device, "step", HAL_ONE_SHOT);
        const uint64_t slot = step % 2 * SLOT;
        memset(memory + slot, (int)step, SLOT);
        assert_ok(hal_command_copy(commands, buffer, slot, buffer, 2 * SLOT + slot, SLOT));
        assert_ok(hal_command_buffer_end(commands));
        assert_ok(fixture_submit(device, commands, done, step - 1, done, step));
        hal_command_buffer_release(commands);
        if (step > 1)
            assert_ok(hal_semaphore_wait(done, step - 1, HAL_FOREVER));
    }
    assert_ok(hal_semaphore_wait(done, STEPS, HAL_FOREVER));
    assert_ok(hal_buffer_unmap(&mapping));
    hal_semaphore_release(done);
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, contents_path);
    uint8_t *seen = hal_alloc(1, 4 * SLOT);
    for (uint64_t step = 1; step <= STEPS; step++) {
        captured_replay(&captured, TRACE_HOST_WRITE, id,
                        contents_ticket(&captured, TRACE_SUBMIT, step - 1), seen, 4 * SLOT);
        const uint64_t slot = step % 2 * SLOT;
        assert_int_equal(seen[slot], step);
        assert_int_equal(seen[slot + SLOT - 1], step);
        /* Nothing of what the device wrote was taken for the host's. */
        assert_int_equal(seen[2 * SLOT + slot], 0);
        assert_int_equal(seen[2 * SLOT + SLOT - slot], 0);
    }
    for (uint64_t step = 1; step <= STEPS; step++) {
        const struct trace_content_event *read = contents_observed(&captured, step - 1);
        assert_non_null(read);
        assert_int_equal(read->offset, 2 * SLOT + step % 2 * SLOT);
        assert_int_equal(read->size, SLOT);
        uint8_t *bytes = captured_bytes(&captured, read);
        assert_int_equal(bytes[0], step);
        assert_int_equal(bytes[SLOT - 1], step);
        free(bytes);
    }
    free(seen);
    captured_close(&captured);
}

TEST_SUITE_FIXTURE(contents_setup, contents_teardown);
