/* SPDX-License-Identifier: Apache-2.0 */
/* Which device the Vulkan driver opens, what it asks it for, and what becomes of one that lacks
 * something: by a loader that tells of a device what the test wants. */
#include "tests/unit/vulkan/vulkan_fixture.h"

#include <ctype.h>

enum { VERSION_1_1 = 1 << 22 | 1 << 12 }; /* as Vulkan counts versions */

static int forget(void **state)
{
    (void)state;
    shim->facts = (struct vulkan_shim_facts){0};
    return 0;
}

static void nothing_was_said(struct hal_device *device)
{
    int64_t messages = -1;
    ok(hal_device_query(device, "vulkan.validation.messages", &messages));
    assert_int_equal(messages, 0);
}

/* Increments a buffer of zeros on the queue. */
static void works_on(struct hal_device *device, uint32_t queue)
{
    struct hal_buffer *buffer = buffer_of(device, "x");
    struct hal_executable *increment = increment_of(device);
    struct hal_command_buffer *commands = list_of(device, "work", HAL_ONE_SHOT);
    struct hal_semaphore *done;
    dispatch(commands, increment, buffer);
    ok(hal_command_buffer_end(commands));
    ok(hal_semaphore_create(device, "done", 0, &done));
    ok(hal_buffer_write(buffer, 0, (const uint32_t[N_WORDS]){0}, N_BYTES));
    const struct hal_semaphore_value signal = {done, 1};
    ok(hal_queue_submit(device, &(struct hal_submit_desc){.queues = (uint64_t)1 << queue,
                                                          .signals = &signal,
                                                          .signal_count = 1,
                                                          .commands = &commands,
                                                          .command_count = 1}));
    ok(hal_semaphore_wait(done, 1, TIMEOUT_NS));
    holds(buffer, 1);
    hal_semaphore_release(done);
    hal_command_buffer_release(commands);
    hal_executable_release(increment);
    hal_buffer_release(buffer);
    nothing_was_said(device);
}

/* ---- By which URI --------------------------------------------------------------------------- */

struct list {
    char name[8][128];
    size_t count;
};

static bool add(void *user, const struct hal_device_entry *entry)
{
    struct list *list = user;
    char uri[32];
    snprintf(uri, sizeof uri, "vulkan://%zu", list->count);
    assert_string_equal(entry->uri, uri);
    assert_string_equal(entry->driver, "vulkan");
    snprintf(list->name[list->count], sizeof list->name[0], "%s", entry->name);
    return ++list->count < 8;
}

TEST(each_by_its_number)
{
    struct list list = {0};
    struct hal_device *device = open_device("vulkan");
    hal_device_release(device);
    ok(hal_devices_list("vulkan", add, &list));
    assert_true(list.count > 0);
    for (size_t i = 0; i < list.count; i++) {
        char uri[32];
        snprintf(uri, sizeof uri, "vulkan://%zu", i);
        device = open_device(uri);
        assert_string_equal(hal_device_get_info(device)->name, list.name[i]);
        assert_memory_equal(hal_device_get_info(device)->uri, uri, strlen(uri));
        hal_device_release(device);
    }
}

/* Any part of a name is one. */
TEST(by_a_part_of_its_name)
{
    struct list list = {0};
    struct hal_device *device = open_device("vulkan");
    hal_device_release(device);
    ok(hal_devices_list("vulkan", add, &list));
    const char *name = list.name[list.count - 1];
    char uri[64] = "vulkan://";
    size_t length = 0;
    while (isalpha((unsigned char)name[1 + length]))
        length++;
    assert_true(length >= 3);
    strncat(uri, name + 1, length);
    device = open_device(uri);
    assert_non_null(strstr(hal_device_get_info(device)->name, uri + strlen("vulkan://")));
    hal_device_release(device);
}

TEST(by_nothing_that_there_is)
{
    static const char *const wrong[] = {"vulkan://99", "vulkan://no such", "vulkan://0x0"};
    struct list list = {0};
    struct hal_device *device = open_device("vulkan");
    hal_device_release(device);
    ok(hal_devices_list("vulkan", add, &list));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        fails(hal_device_open(wrong[i], &device), HAL_NOT_FOUND, wrong[i] + strlen("vulkan://"),
              "there are: 0 (", list.name[0], list.name[list.count - 1]);
}

/* ---- What it is asked for ------------------------------------------------------------------- */

/* Neither the first family nor the largest: the largest of those that compute. */
TEST(the_family_with_most_queues)
{
    shim->facts.has_more_families = true;
    struct hal_device *device = open_device("vulkan?queues=2");
    assert_int_equal(shim->family, 1);
    assert_int_equal(shim->queues, 2);
    for (uint32_t queue = 0; queue < 2; queue++)
        works_on(device, queue);
    hal_device_release(device);
}

/* Queues of the HAL share those that there are. */
TEST(more_queues_than_it_has)
{
    shim->facts.has_more_families = true;
    struct hal_device *device = open_device("vulkan?queues=7");
    assert_int_equal(shim->queues, VULKAN_SHIM_QUEUES);
    assert_int_equal(hal_device_get_info(device)->queue_count, 7);
    for (uint32_t queue = 0; queue < 7; queue++) {
        const unsigned before = shim->submitted[queue % VULKAN_SHIM_QUEUES];
        works_on(device, queue);
        assert_int_equal(shim->submitted[queue % VULKAN_SHIM_QUEUES], before + 1);
    }
    hal_device_release(device);
}

/* Descriptors come from pools then. */
TEST(without_pushed_descriptors)
{
    struct hal_device *device = open_device("vulkan");
    const bool has_them = strstr(hal_device_get_info(device)->features, "push-descriptors");
    hal_device_release(device);
    if (!has_them)
        skip();
    shim->facts.hidden_extension = "VK_KHR_push_descriptor";
    device = open_device("vulkan");
    assert_null(strstr(hal_device_get_info(device)->features, "push-descriptors"));
    works_on(device, 0);
    hal_device_release(device);
}

TEST(descriptors_from_pools)
{
    struct hal_device *device = open_device("vulkan?descriptors=pool");
    assert_null(strstr(hal_device_get_info(device)->features, "push-descriptors"));
    assert_non_null(strstr(hal_device_get_info(device)->uri, "descriptors=pool"));
    works_on(device, 0);
    hal_device_release(device);
}

TEST(wrong_parameters)
{
    static const struct {
        const char *uri, *a, *b;
    } wrong[] = {
        {"vulkan?queues=0", "queues=0", "1 to"},
        {"vulkan?queues=2x", "queues=2x", "1 to"},
        {"vulkan?queues=99999999999", "queues=99999999999", "1 to"},
        {"vulkan?descriptors=heap", "descriptors=heap", "neither push nor pool"},
        {"vulkan?speed=9", "'speed'", "queues, descriptors, watchdog, caching"},
    };
    struct hal_device *device;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        fails(hal_device_open(wrong[i].uri, &device), HAL_INVALID, wrong[i].a, wrong[i].b);
}

static bool is_named(const char *name)
{
    for (unsigned i = 0; i < atomic_load(&shim->names); i++) {
        if (i < VULKAN_SHIM_TEXTS && strcmp(shim->name[i], name) == 0)
            return true;
    }
    return false;
}

/* Other tools see the application's names, and its groups with their colours. */
TEST(names_and_groups_reach_vulkan)
{
    struct hal_device *device = open_device("vulkan");
    atomic_store(&shim->names, 0);
    atomic_store(&shim->labels, 0);
    atomic_store(&shim->label_ends, 0);
    struct hal_buffer *buffer = buffer_of(device, "the weights");
    struct hal_executable *increment = increment_of(device);
    struct hal_command_buffer *commands = list_of(device, "the list", HAL_ONE_SHOT);
    ok(hal_command_debug_begin(commands, "the layer", 0xFF8000));
    dispatch(commands, increment, buffer);
    ok(hal_command_debug_end(commands));
    ok(hal_command_buffer_end(commands));
    assert_true(is_named("the weights"));
    assert_true(is_named("main")); /* the entry point */
    assert_true(is_named("the list"));
    assert_int_equal(shim->labels, 1);
    assert_int_equal(shim->label_ends, 1);
    assert_string_equal(shim->label[0], "the layer");
    for (int i = 0; i < 4; i++)
        assert_int_equal(shim->last_color[i] * 255 + 0.5F, ((const int[]){255, 128, 0, 255})[i]);
    hal_command_buffer_release(commands);
    hal_executable_release(increment);
    hal_buffer_release(buffer);
    nothing_was_said(device);
    hal_device_release(device);
}

/* ---- What it lacks -------------------------------------------------------------------------- */

TEST(devices_that_cannot)
{
    struct hal_device *device = open_device("vulkan");
    char name[160];
    snprintf(name, sizeof name, "'%s'", hal_device_get_info(device)->name);
    hal_device_release(device);
    shim->facts = (struct vulkan_shim_facts){.version = VERSION_1_1};
    fails(hal_device_open("vulkan", &device), HAL_UNSUPPORTED, name, "Vulkan 1.1", "1.2");
    shim->facts = (struct vulkan_shim_facts){.has_no_timelines = true};
    fails(hal_device_open("vulkan", &device), HAL_UNSUPPORTED, "timeline semaphores");
    shim->facts = (struct vulkan_shim_facts){.computes_nowhere = true};
    fails(hal_device_open("vulkan", &device), HAL_UNSUPPORTED, "no queue", "supports compute");
    forget(NULL);
    device = open_device("vulkan");
    works_on(device, 0);
    hal_device_release(device);
}

TEST(kernels_that_need_more)
{
    const struct hal_executable_desc wide = describe_module("wide", spv_wide, sizeof spv_wide);
    const struct hal_executable_desc sharing =
        describe_module("sharing", spv_sharing, sizeof spv_sharing);
    struct hal_executable *executable;
    shim->facts.has_no_int64 = true;
    shim->facts.group_memory = 4095;
    struct hal_device *device = open_device("vulkan");
    fails(hal_executable_create(device, &wide, &executable), HAL_UNSUPPORTED, "'wide'", "Int64",
          hal_device_get_info(device)->name);
    fails(hal_executable_create(device, &sharing, &executable), HAL_INVALID, "'sharing'", "'main'",
          "4096 bytes", "4095");
    works_on(device, 0);
    hal_device_release(device);
    shim->facts.group_memory = 4096;
    device = open_device("vulkan");
    ok(hal_executable_create(device, &sharing, &executable));
    hal_executable_release(executable);
    hal_device_release(device);
}

TEST(lists_that_need_more)
{
    shim->facts.storage_range = N_BYTES - 1;
    shim->facts.group_count = N_WORDS / 64 - 1;
    struct hal_device *device = open_device("vulkan");
    struct hal_executable *increment = increment_of(device);
    struct hal_buffer *buffer = buffer_of(device, "x");
    struct hal_command_buffer *commands = list_of(device, "wide", HAL_ONE_SHOT);
    const struct hal_binding part = {buffer, 0, N_BYTES - 4}, whole = {buffer, 0, N_BYTES};
    ok(hal_command_push_descriptor_set(commands, 0, &part, 1));
    ok(hal_command_dispatch(commands, increment, 0, (const uint32_t[3]){1, 1, 1}));
    ok(hal_command_push_descriptor_set(commands, 0, &whole, 1));
    ok(hal_command_dispatch(commands, increment, 0, (const uint32_t[3]){1, 1, 1}));
    fails(hal_command_buffer_end(commands), HAL_UNSUPPORTED, "'wide'", "dispatch 1", "'main'",
          "set 0, binding 0", "1024 bytes", "'x'", "limit is 1023");
    hal_command_buffer_release(commands);
    commands = list_of(device, "many", HAL_ONE_SHOT);
    ok(hal_command_push_descriptor_set(commands, 0, &part, 1));
    ok(hal_command_dispatch(commands, increment, 0, (const uint32_t[3]){N_WORDS / 64, 1, 1}));
    fails(hal_command_buffer_end(commands), HAL_UNSUPPORTED, "'main'", "4 workgroups",
          "dimension 0", "limit is 3");
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
    hal_executable_release(increment);
    hal_device_release(device);
}

/* Counts that are in a buffer are seen on the device: more than its limit are none, and told. */
TEST(counts_beyond_the_limit)
{
    enum { LIMIT = N_WORDS / 64 };
    shim->facts.group_count = LIMIT;
    struct hal_device *device = open_device("vulkan");
    struct hal_executable *increment = increment_of(device);
    struct hal_buffer *x = buffer_of(device, "x"), *counts = buffer_of(device, "counts");
    struct hal_command_buffer *commands = list_of(device, "counted", HAL_REUSABLE);
    const struct hal_binding binding = {x, 0, HAL_WHOLE_BUFFER};
    ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
    ok(hal_command_dispatch_indirect(commands, increment, 0, counts, 0));
    ok(hal_command_buffer_end(commands));
    ok(hal_buffer_write(x, 0, (const uint32_t[N_WORDS]){0}, N_BYTES));
    for (uint32_t count = LIMIT; count <= LIMIT + 1; count++) {
        struct hal_semaphore *done;
        ok(hal_semaphore_create(device, "done", 0, &done));
        ok(hal_buffer_write(counts, 0, (const uint32_t[3]){count, 1, 1}, 12));
        ok(submit(device, &commands, 1, done, 1));
        if (count == LIMIT)
            ok(hal_semaphore_wait(done, 1, TIMEOUT_NS));
        else
            fails(hal_semaphore_wait(done, 1, TIMEOUT_NS), HAL_UNSUPPORTED, "'counted'",
                  "dispatch 0", "5 workgroups in dimension 0", "limit is 4");
        hal_semaphore_release(done);
    }
    holds(x, 1);
    hal_command_buffer_release(commands);
    hal_buffer_release(x);
    hal_buffer_release(counts);
    hal_executable_release(increment);
    hal_device_release(device);
}

/* Writes 10 * a + b by a kernel that takes both as constants. */
static void push_two(struct hal_device *device, const char *uri)
{
    static const struct hal_entry_point entry = {"main", {64, 1, 1}, 8, 0};
    struct hal_executable_desc desc = describe_module("pushing", spv_pushing, sizeof spv_pushing);
    desc.entry_points = &entry;
    struct hal_executable *executable;
    struct hal_buffer *buffer = buffer_of(device, uri);
    struct hal_command_buffer *commands = list_of(device, "pushing", HAL_ONE_SHOT);
    struct hal_semaphore *done;
    ok(hal_executable_create(device, &desc, &executable));
    ok(hal_semaphore_create(device, "done", 0, &done));
    ok(hal_command_push_constants(commands, 0, (const uint32_t[2]){4, 2}, 8));
    dispatch(commands, executable, buffer);
    ok(hal_command_buffer_end(commands));
    ok(submit(device, &commands, 1, done, 1));
    ok(hal_semaphore_wait(done, 1, TIMEOUT_NS));
    holds(buffer, 42);
    hal_semaphore_release(done);
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
    hal_executable_release(executable);
    nothing_was_said(device);
}

/* More constants than the device pushes lie in a buffer. */
TEST(constants_beyond_the_limit)
{
    static const char *const uris[] = {"vulkan", "vulkan?descriptors=pool"};
    for (size_t i = 0; i < 2; i++) {
        shim->facts.pushed_bytes = 0;
        struct hal_device *device = open_device(uris[i]);
        atomic_store(&shim->constants_pushed, 0);
        push_two(device, uris[i]);
        assert_int_equal(shim->constants_pushed, 1);
        hal_device_release(device);
        shim->facts.pushed_bytes = 4;
        device = open_device(uris[i]);
        atomic_store(&shim->constants_pushed, 0);
        push_two(device, uris[i]);
        assert_int_equal(shim->constants_pushed, 0);
        hal_device_release(device);
    }
}

static int load(void **state)
{
    (void)state;
    return vulkan_fixture_load();
}

TEST_FIXTURE(NULL, forget);
TEST_SUITE_FIXTURE(load, NULL);
