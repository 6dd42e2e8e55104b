/* SPDX-License-Identifier: Apache-2.0 */
/* hal/metal and the loading of its module: what the conformance suite, which is the same for every
 * driver, does not ask. */
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"

#include <inttypes.h>
#include <sys/stat.h>

static struct test_folder folder;

/* ---- The module ----------------------------------------------------------------------------- */

static void a_missing_module_is_named(void **state)
{
    (void)state;
    struct hal_device *device;
    setenv("HAL_METAL_MODULE", "/nowhere/metal.so", 1);
    assert_fails(hal_device_open("metal", &device), HAL_NOT_FOUND, "/nowhere/metal.so");
    setenv("HAL_METAL_MODULE", FAKE_LAYER_PATH, 1);
    assert_fails(hal_device_open("metal", &device), HAL_NOT_FOUND, "no metal module");
    unsetenv("HAL_METAL_MODULE");
    assert_fails(hal_device_open("metals", &device), HAL_NOT_FOUND, "there are: cpu, metal");
}

/* ---- URIs ----------------------------------------------------------------------------------- */

static void devices_open_by_registry_id(void **state)
{
    (void)state;
    struct hal_device *device = fixture_device("metal"), *again;
    const struct hal_device_info *info = hal_device_get_info(device);
    uint64_t id;
    char uri[64], known[32];
    assert_string_equal(info->driver, "metal");
    assert_int_equal(sscanf(info->uri, "metal://%" SCNu64, &id), 1);
    snprintf(uri, sizeof uri, "metal://0x%" PRIX64 "?queues=3&isolate=1&math=safe", id);
    again = fixture_device(uri);
    snprintf(uri, sizeof uri, "metal://%" PRIu64 "?queues=3&isolate=1&math=safe", id);
    assert_string_equal(hal_device_get_info(again)->uri, uri);
    assert_string_equal(hal_device_get_info(again)->name, info->name);
    assert_int_equal(hal_device_get_info(again)->queue_count, 3);
    hal_device_release(again);

    snprintf(uri, sizeof uri, "metal://%" PRIu64, id + 1000);
    snprintf(known, sizeof known, "%" PRIu64 " (", id);
    assert_fails(hal_device_open(uri, &again), HAL_NOT_FOUND, known);
    hal_device_release(device);
}

static void wrong_uris_are_refused(void **state)
{
    (void)state;
    static const char *const no_ids[] = {"gpu", "0x", "0xg", "-1", "99999999999999999999999",
                                         "12 "};
    static const struct {
        const char *uri, *text;
    } wrong[] = {
        {"metal?queues=0", "queues=0 is not in 1 to 64"},
        {"metal?queues=65", "queues=65 is not in 1 to 64"},
        {"metal?queues=1x", "queues=1x is not in 1 to 64"},
        {"metal?isolate=yes", "isolate=yes is neither 0 nor 1"},
        {"metal?math=exact", "math=exact is neither fast nor safe"},
        {"metal?threads=2", "unknown parameter 'threads'"},
    };
    struct hal_device *device;
    char uri[64];
    for (size_t i = 0; i < sizeof no_ids / sizeof no_ids[0]; i++) {
        snprintf(uri, sizeof uri, "metal://%s", no_ids[i]);
        assert_fails(hal_device_open(uri, &device), HAL_NOT_FOUND, "is no registry id");
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_fails(hal_device_open(wrong[i].uri, &device), HAL_INVALID, wrong[i].text);
}

/* ---- Memory --------------------------------------------------------------------------------- */

static int64_t used_bytes(struct hal_device *device)
{
    int64_t bytes;
    assert_ok(hal_device_query(device, "memory.used.bytes", &bytes));
    return bytes;
}

static void small_buffers_share_memory(void **state)
{
    (void)state;
    enum { COUNT = 64, BYTES = 1000 };
    struct hal_device *device = fixture_device("metal");
    struct hal_buffer *buffers[COUNT];
    const struct hal_buffer_desc desc = {.bytes = BYTES, .memory = HAL_MEMORY_DEVICE_LOCAL};
    assert_ok(hal_buffer_create(device, &desc, &buffers[0]));
    const int64_t with_one = used_bytes(device);
    for (size_t i = 1; i < COUNT; i++)
        assert_ok(hal_buffer_create(device, &desc, &buffers[i]));
    assert_int_equal(used_bytes(device), with_one);
    for (size_t i = 0; i < COUNT; i++)
        hal_buffer_release(buffers[i]);
    assert_int_equal(used_bytes(device), with_one); /* the last heap stays */
    hal_device_release(device);
}

static void large_buffers_have_their_own(void **state)
{
    (void)state;
    enum { BYTES = 3 << 20 };
    struct hal_device *device = fixture_device("metal");
    int64_t limit;
    const int64_t before = used_bytes(device);
    struct hal_buffer *buffer = fixture_buffer(device, "large", BYTES);
    assert_true(used_bytes(device) >= before + BYTES);
    hal_buffer_release(buffer);
    assert_int_equal(used_bytes(device), before);
    assert_ok(hal_device_query(device, "memory.working_set.bytes", &limit));
    assert_true(limit > BYTES);
    hal_device_release(device);
}

/* ---- Bindings ------------------------------------------------------------------------------- */

static struct hal_executable *make(struct hal_device *device, const char *source)
{
    static const struct hal_entry_point entry = {"f", {1, 1, 1}, 0, 0};
    struct hal_executable *executable;
    assert_ok(hal_executable_create(device,
                                    &(struct hal_executable_desc){.label = "f",
                                                                  .format = HAL_FORMAT_MSL,
                                                                  .data = source,
                                                                  .bytes = strlen(source),
                                                                  .entry_points = &entry,
                                                                  .entry_point_count = 1},
                                    &executable));
    return executable;
}

/* Of version 3.1 of the language, as on the CPU. */
static void kernels_may_use_bfloat(void **state)
{
    (void)state;
    struct hal_device *device = fixture_device("metal");
    hal_executable_release(
        make(device, "kernel void f(device bfloat *x [[buffer(0)]]) { x[0] = bfloat(1.5f); }\n"));
    hal_device_release(device);
}

static void an_unaligned_binding_is_refused(void **state)
{
    (void)state;
    static const char source[] = "kernel void f(device uint *words [[buffer(0)]],\n"
                                 "              device uchar *bytes [[buffer(1)]])\n"
                                 "{ words[0] = 1; bytes[0] = 2; }\n";
    struct hal_device *device = fixture_device("metal");
    struct hal_buffer *buffer = fixture_buffer(device, "words", 64);
    struct hal_executable *executable = make(device, source);
    for (uint64_t offset = 0; offset < 8; offset++) {
        struct hal_command_buffer *commands = fixture_commands(device, "bound", HAL_ONE_SHOT);
        const struct hal_binding bindings[2] = {{buffer, offset, 4}, {buffer, 33 + offset, 1}};
        assert_ok(hal_command_push_descriptor_set(commands, 0, bindings, 2));
        assert_ok(hal_command_dispatch(commands, executable, 0, (uint32_t[3]){1, 1, 1}));
        if (offset % 4 == 0)
            fixture_run(device, commands);
        else
            assert_fails(hal_command_buffer_end(commands), HAL_INVALID,
                         "begins at a multiple of 4 bytes");
        hal_command_buffer_release(commands);
    }
    hal_executable_release(executable);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

/* ---- Captures by Metal ---------------------------------------------------------------------- */

static void documents_need_metals_permission(void **state)
{
    (void)state;
    char file[PATH_MAX];
    struct hal_device *device = fixture_device("metal");
    const struct hal_profiling_options options = {
        .file = test_folder_file(&folder, "no.gputrace", file)};
    unsetenv("METAL_CAPTURE_ENABLED");
    assert_fails(hal_device_profiling_begin(device, &options, HAL_FOREVER), HAL_UNSUPPORTED,
                 "METAL_CAPTURE_ENABLED=1");
    hal_device_release(device);
}

static void metal_writes_documents(void **state)
{
    (void)state;
    char file[PATH_MAX];
    struct stat status;
    struct hal_device *device = fixture_device("metal"), *other = fixture_device("metal");
    struct hal_profiling_options options = {.file = test_folder_file(&folder, "t.gputrace", file)};
    setenv("METAL_CAPTURE_ENABLED", "1", 1);
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
    assert_fails(hal_device_profiling_begin(device, &options, HAL_FOREVER), HAL_EXISTS,
                 "captured already");
    assert_ok(hal_device_profiling_flush(device));
    assert_ok(hal_device_profiling_end(device));
    assert_int_equal(stat(file, &status), 0);

    assert_fails(hal_device_profiling_begin(device, &options, HAL_FOREVER), HAL_EXISTS,
                 "t.gputrace");
    options.force = true;
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
    char second[PATH_MAX];
    options.file = test_folder_file(&folder, "second.gputrace", second);
    assert_fails(hal_device_profiling_begin(other, &options, HAL_FOREVER), HAL_EXISTS,
                 "one at a time");
    assert_int_equal(lstat(second, &status), -1);
    hal_device_release(device); /* ends it */
    options.file = test_folder_file(&folder, "no/such/folder/t.gputrace", file);
    assert_int_not_equal(hal_device_profiling_begin(other, &options, HAL_FOREVER), HAL_OK);
    assert_non_null(strstr(hal_message(), "no/such/folder"));
    unsetenv("METAL_CAPTURE_ENABLED");
    hal_device_release(other);
}

/* ---- Labels --------------------------------------------------------------------------------- */

/* Groups that span encoders of both kinds, nest deeply and stay open over barriers. */
static void debug_groups_span_encoders(void **state)
{
    (void)state;
    enum { DEPTH = 40, BYTES = 4096 };
    struct hal_device *device = fixture_device("metal");
    struct hal_buffer *buffer = fixture_buffer(device, "b", BYTES);
    struct hal_command_buffer *commands = fixture_commands(device, "groups", HAL_ONE_SHOT);
    for (int i = 0; i < DEPTH; i++) {
        assert_ok(hal_command_debug_begin(commands, i % 2 ? "odd" : "\xC3\xA9ven", 0));
        assert_ok(hal_command_fill(commands, buffer, 0, BYTES, (uint32_t)i, 1));
        assert_ok(hal_command_barrier(commands, NULL));
        assert_ok(hal_command_fill(commands, buffer, 1, 2, 7, 1));
        assert_ok(hal_command_barrier(commands, NULL));
    }
    for (int i = 0; i < DEPTH; i++)
        assert_ok(hal_command_debug_end(commands));
    fixture_run(device, commands);
    uint8_t bytes[4];
    assert_ok(hal_buffer_read(buffer, 0, bytes, sizeof bytes));
    assert_memory_equal(bytes, ((const uint8_t[]){DEPTH - 1, 7, 7, DEPTH - 1}), sizeof bytes);
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

/* ---- Failure -------------------------------------------------------------------------------- */

/* A submission may wait for one semaphore several times, and it fails once. */
static void a_failure_reaches_a_submission_once(void **state)
{
    (void)state;
    enum { WAITS = 5 };
    struct hal_device *device = fixture_device("metal");
    struct hal_semaphore *never = fixture_semaphore(device, "never", 0);
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_semaphore_value waits[WAITS], signal = {done, 1};
    for (size_t i = 0; i < WAITS; i++)
        waits[i] = (struct hal_semaphore_value){never, i + 1};
    assert_ok(hal_queue_submit(
        device, &(struct hal_submit_desc){
                    .waits = waits, .wait_count = WAITS, .signals = &signal, .signal_count = 1}));
    assert_ok(hal_semaphore_signal(never, 2));
    hal_semaphore_fail(never, HAL_IO, "the disk is full");
    assert_fails(hal_semaphore_wait(done, 1, HAL_FOREVER), HAL_IO, "the disk is full");
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    hal_semaphore_release(done);
    hal_semaphore_release(never);
    hal_device_release(device);
}

static int make_folder(void **state)
{
    (void)state;
    return test_folder_make(&folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_module_is_named),
        cmocka_unit_test(devices_open_by_registry_id),
        cmocka_unit_test(wrong_uris_are_refused),
        cmocka_unit_test(small_buffers_share_memory),
        cmocka_unit_test(large_buffers_have_their_own),
        cmocka_unit_test(kernels_may_use_bfloat),
        cmocka_unit_test(an_unaligned_binding_is_refused),
        cmocka_unit_test(documents_need_metals_permission),
        cmocka_unit_test(metal_writes_documents),
        cmocka_unit_test(debug_groups_span_encoders),
        cmocka_unit_test(a_failure_reaches_a_submission_once),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
