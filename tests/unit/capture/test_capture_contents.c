/* SPDX-License-Identifier: Apache-2.0 */
/* capture/encode/contents.c, buffers.c and snapshot.c: every byte that the host writes or reads
 * through the HAL is in the trace, and what was there when a capture began. */
#include "tests/support/contents.h"

#include "hal/base/mem.h"
#include "hal/driver.h"

#ifdef __linux__
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* ---- Scoped mappings ---- */

TEST_EACH(large_transfers_come_in_pieces_and_nothing_is_lost, contents_by_pages)
{
    enum { LARGE = 11 * MIB + 123 };
    struct captured captured;
    uint64_t random = fixture_seed();
    uint8_t *data = malloc(LARGE), *back = malloc(LARGE);
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *buffer = contents_buffer(device, 0, LARGE + 1000);
    const uint64_t id = buffer->object.id;
    contents_random(data, LARGE, &random);
    assert_ok(hal_buffer_write(buffer, 1000, data, LARGE));
    assert_ok(hal_buffer_read(buffer, 1000, back, LARGE));
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    assert_memory_equal(data, back, LARGE);

    captured_open(&captured, contents_path);
    uint8_t *seen = hal_alloc(1, LARGE + 1000);
    assert_int_equal(
        captured_replay(&captured, TRACE_HOST_WRITE, id, UINT64_MAX, seen, LARGE + 1000), 3);
    assert_memory_equal(seen + 1000, data, LARGE);
    memset(seen, 0, LARGE + 1000);
    captured_replay(&captured, TRACE_HOST_READ, id, UINT64_MAX, seen, LARGE + 1000);
    assert_memory_equal(seen + 1000, data, LARGE);
    /* Pieces of one write have one ticket, and bytes that are there are stored once. */
    assert_int_equal(contents_ticket(&captured, TRACE_HOST_WRITE, 0),
                     contents_ticket(&captured, TRACE_HOST_WRITE, 2));
    assert_int_equal(trace_reader_counts(captured.reader)->contents, 3);
    captured_close(&captured);
    free(seen);
    free(back);
    free(data);
}

TEST_EACH(a_scoped_mapping_is_read_at_map_and_written_at_unmap, contents_by_pages)
{
    struct captured captured;
    struct hal_mapping mapping, second;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *buffer = contents_buffer(device, 0, BYTES);
    contents_fill(device, buffer, 0, BYTES, 3);
    assert_ok(hal_buffer_map(buffer, HAL_MAP_READ | HAL_MAP_WRITE, 100, 200, &mapping));
    assert_ok(hal_buffer_map(buffer, HAL_MAP_WRITE, 1000, 50, &second));
    memset(mapping.data, 8, 10);
    memset(second.data, 9, 50);
    assert_ok(hal_buffer_unmap(&mapping));
    assert_ok(hal_buffer_unmap(&second));
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, contents_path);
    const struct trace_content_event *read = captured_find(&captured, TRACE_HOST_READ, 0);
    assert_int_equal(read->offset, 100);
    assert_int_equal(read->size, 200);
    uint8_t *bytes = captured_bytes(&captured, read);
    assert_int_equal(bytes[0], 3);
    free(bytes);
    const struct trace_content_event *write = captured_find(&captured, TRACE_HOST_WRITE, 0);
    bytes = captured_bytes(&captured, write);
    assert_int_equal(write->offset, 100);
    assert_int_equal(bytes[9], 8);
    assert_int_equal(bytes[10], 3);
    free(bytes);
    write = captured_find(&captured, TRACE_HOST_WRITE, 1);
    assert_int_equal(write->offset, 1000);
    assert_int_equal(write->size, 50);
    const struct trace_mapping_event *map = captured_find(&captured, TRACE_BUFFER_MAP, 1);
    const struct trace_mapping_event *unmap = captured_find(&captured, TRACE_BUFFER_UNMAP, 1);
    assert_int_equal(map->mapping, unmap->mapping);
    assert_true(write->head.ticket < unmap->head.ticket);
    captured_close(&captured);
}

/* ---- Persistent mappings that are not coherent ---- */

TEST_EACH(flush_writes_and_invalidate_reads, contents_by_pages)
{
    struct captured captured;
    struct hal_mapping mapping;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *buffer =
        contents_buffer(device, HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_CACHED, BYTES);
    assert_false(buffer->memory & HAL_MEMORY_HOST_COHERENT);
    assert_ok(hal_buffer_map(buffer, HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 4096,
                             100 * KIB, &mapping));
    memset(mapping.data, 7, 100 * KIB);
    assert_ok(hal_mapping_flush(&mapping, 50, 1000));
    contents_fill(device, buffer, 5000, 100, 1);
    assert_ok(hal_mapping_invalidate(&mapping, 900, 200));
    assert_ok(hal_buffer_unmap(&mapping));
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, contents_path);
    assert_int_equal(captured_count(&captured, TRACE_HOST_WRITE), 1);
    assert_int_equal(captured_count(&captured, TRACE_HOST_READ), 1);
    const struct trace_content_event *write = captured_find(&captured, TRACE_HOST_WRITE, 0);
    assert_int_equal(write->offset, 4096 + 50);
    assert_int_equal(write->size, 1000);
    const struct trace_content_event *read = captured_find(&captured, TRACE_HOST_READ, 0);
    assert_int_equal(read->offset, 4096 + 900);
    uint8_t *bytes = captured_bytes(&captured, read);
    assert_int_equal(bytes[0], 7);
    assert_int_equal(bytes[5000 - 4996], 1);
    assert_int_equal(bytes[104], 7);
    free(bytes);
    assert_true(write->head.ticket < contents_ticket(&captured, TRACE_MAPPING_FLUSH, 0));
    assert_true(write->head.ticket < contents_ticket(&captured, TRACE_SUBMIT, 0));
    assert_true(read->head.ticket > contents_ticket(&captured, TRACE_SEMAPHORE_WAIT, 0));
    captured_close(&captured);
}

/* ---- Late begin ---- */

struct scene {
    struct hal_device *device;
    struct hal_buffer *visible, *private_buffer;
    struct hal_semaphore *semaphore, *failed;
    struct hal_command_buffer *ended, *recording;
    struct hal_mapping mapping;
};

static struct scene make_scene(uint64_t private_bytes)
{
    struct scene scene = {.device = fixture_device("cpu")};
    struct hal_device *device = scene.device;
    scene.visible = contents_buffer(device, 0, BYTES);
    scene.private_buffer = contents_buffer(device, HAL_MEMORY_DEVICE_LOCAL, private_bytes);
    scene.semaphore = fixture_semaphore(device, "value", 5);
    scene.failed = fixture_semaphore(device, "failed", 0);
    assert_ok(hal_semaphore_signal(scene.semaphore, 41));
    hal_semaphore_fail(scene.failed, HAL_FAILED, "long ago");
    scene.ended = fixture_commands(device, "ended", HAL_REUSABLE);
    assert_ok(hal_command_fill(scene.ended, scene.visible, 1000, 24, 0x77, 1));
    assert_ok(hal_command_buffer_end(scene.ended));
    scene.recording = fixture_commands(device, "recording", HAL_ONE_SHOT);
    assert_ok(
        hal_command_copy(scene.recording, scene.visible, 19950, scene.private_buffer, 0, 100));
    contents_fill(device, scene.private_buffer, 0, private_bytes, 0x31);
    contents_fill(device, scene.visible, 0, BYTES, 0x32);
    scene.mapping = contents_map(scene.visible, HAL_MAP_READ | HAL_MAP_WRITE, 0, BYTES);
    ((uint8_t *)scene.mapping.data)[9000] = 0x33;
    return scene;
}

static void release_scene(struct scene *scene)
{
    assert_ok(hal_buffer_unmap(&scene->mapping));
    hal_command_buffer_release(scene->ended);
    hal_command_buffer_release(scene->recording);
    hal_semaphore_release(scene->semaphore);
    hal_semaphore_release(scene->failed);
    hal_buffer_release(scene->visible);
    hal_buffer_release(scene->private_buffer);
}

static void check_scene(const struct captured *captured, uint64_t visible, uint64_t private_buffer,
                        uint64_t private_bytes, uint64_t first_submit)
{
    uint8_t *seen = hal_alloc(1, private_bytes + BYTES);
    captured_replay(captured, TRACE_HOST_WRITE, visible, first_submit, seen, BYTES);
    assert_int_equal(seen[0], 0x32);
    assert_int_equal(seen[9000], 0x33);
    assert_int_equal(seen[20000], 0x34);
    assert_int_equal(seen[BYTES - 1], 0x32);
    captured_replay(captured, TRACE_HOST_WRITE, private_buffer, first_submit, seen, private_bytes);
    for (uint64_t i = 0; i < private_bytes; i++) {
        if (seen[i] != 0x31)
            fail_msg("byte %llu of the private buffer is %u", (unsigned long long)i, seen[i]);
    }
    free(seen);
    assert_int_equal(captured_count(captured, TRACE_BUFFER_CREATE), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct trace_buffer_create *create = captured_find(captured, TRACE_BUFFER_CREATE, i);
        assert_int_equal(create->flags, TRACE_FLAG_SNAPSHOT);
    }
    const struct trace_content_event *write = captured_find(captured, TRACE_HOST_WRITE, 0);
    assert_int_equal(write->flags, TRACE_FLAG_SNAPSHOT);
    const struct trace_semaphore_create *semaphore =
        captured_find(captured, TRACE_SEMAPHORE_CREATE, 0);
    assert_int_equal(semaphore->initial_value, 41);
    assert_int_equal(semaphore->flags, TRACE_FLAG_SNAPSHOT);
    const struct trace_semaphore_event *failed = captured_find(captured, TRACE_SEMAPHORE_FAIL, 0);
    assert_int_equal(failed->head.status, HAL_FAILED);
    assert_non_null(strstr(captured_string(captured, failed->message), "long ago"));
    const struct trace_command_buffer_seal *seal =
        captured_find(captured, TRACE_COMMAND_BUFFER_SEAL, 0);
    assert_int_equal(seal->flags, TRACE_FLAG_SNAPSHOT);
    assert_int_equal(seal->segment_count, 1);
    seal = captured_find(captured, TRACE_COMMAND_BUFFER_SEAL, 1);
    assert_int_equal(seal->flags, 0);
    assert_int_equal(captured_segments(captured, 1)->kind, TRACE_COPY);
    assert_int_equal(captured_count(captured, TRACE_COMMAND_BUFFER_CREATE), 2);
}

TEST_EACH(late_captures_begin_with_what_is_there, contents_by_pages, contents_by_comparison)
{
    enum { PRIVATE = 20 * MIB + 7 };
    struct captured captured;
    struct scene scene = make_scene(PRIVATE);
    captured_begin(scene.device, contents_path);
    const uint64_t ids[2] = {scene.visible->object.id, scene.private_buffer->object.id};
    ((uint8_t *)scene.mapping.data)[20000] = 0x34;
    assert_ok(hal_command_buffer_end(scene.recording));
    assert_ok(fixture_submit(scene.device, scene.recording, NULL, 0, scene.semaphore, 42));
    assert_ok(fixture_submit(scene.device, scene.ended, scene.semaphore, 42, scene.semaphore, 43));
    assert_ok(hal_semaphore_wait(scene.semaphore, 43, HAL_FOREVER));
    release_scene(&scene);
    assert_ok(hal_device_profiling_end(scene.device));
    hal_device_release(scene.device);

    captured_open(&captured, contents_path);
    assert_true(trace_reader_header(captured.reader)->late_start);
    check_scene(&captured, ids[0], ids[1], PRIVATE, contents_ticket(&captured, TRACE_SUBMIT, 0));
    const struct trace_content_event *read = contents_observed(&captured, 0);
    assert_non_null(read);
    assert_int_equal(read->offset, 1000);
    assert_int_equal(read->size, 24);
    captured_close(&captured);
}

/* Objects that outlive a capture are clean for the next one. */
TEST_EACH(captures_leave_nothing_behind, contents_by_pages, contents_by_comparison)
{
    struct captured captured;
    struct scene scene = make_scene(1000);
    for (unsigned round = 0; round < 3; round++) {
        unlink(contents_path);
        captured_begin(scene.device, contents_path);
        ((uint8_t *)scene.mapping.data)[20000] = (uint8_t)round;
        assert_ok(fixture_submit(scene.device, scene.ended, NULL, 0, NULL, 0));
        assert_ok(hal_device_wait_idle(scene.device, HAL_FOREVER));
        assert_ok(hal_device_profiling_end(scene.device));
        assert_null(scene.visible->object.layer_data);
        assert_null(scene.ended->object.layer_data);
        captured_open(&captured, contents_path);
        assert_non_null(contents_observed(&captured, 0));
        assert_int_equal(captured_count(&captured, TRACE_BUFFER_MAP), 1);
        captured_close(&captured);
    }
    release_scene(&scene);
    hal_device_release(scene.device);
}

#ifdef __linux__
/* Of this process, as the system names them. */
static size_t userfault_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char target[64] = "";
        (void)readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        count += strcmp(target, "anon_inode:[userfaultfd]") == 0;
    }
    closedir(folder);
    return count;
}

/* 1 is UFFD_USER_MODE_ONLY, which older headers lack. */
static bool system_has_userfault(void)
{
    const int descriptor = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1);
    if (descriptor >= 0)
        close(descriptor);
    return descriptor >= 0;
}

TEST_EACH(pages_are_asked_about_from_the_first_persistent_mapping_on, contents_by_pages)
{
    const size_t wanted = system_has_userfault() ? 1 : 0;
    struct hal_mapping mapping;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *buffer = contents_buffer(device, 0, 1 << 16);
    assert_ok(hal_buffer_map(buffer, HAL_MAP_WRITE, 0, 1 << 16, &mapping));
    assert_int_equal(userfault_descriptors(), 0);
    assert_ok(hal_buffer_unmap(&mapping));
    for (unsigned i = 0; i < 2; i++) {
        mapping = contents_map(buffer, HAL_MAP_WRITE, 0, 1 << 16);
        assert_int_equal(userfault_descriptors(), wanted);
        assert_ok(hal_buffer_unmap(&mapping));
    }
    assert_ok(hal_device_profiling_end(device));
    assert_int_equal(userfault_descriptors(), 0);
    hal_buffer_release(buffer);
    hal_device_release(device);
}
#endif

TEST_SUITE_FIXTURE(contents_setup, contents_teardown);
