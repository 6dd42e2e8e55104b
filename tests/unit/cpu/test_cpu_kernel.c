/* SPDX-License-Identifier: Apache-2.0 */
/* hal/drivers/cpu/kernel.c, program.c and run.c through the API: kernels compute what plain C
 * computes, see the bindings and constants of their dispatch, and are refused when something is
 * missing. */
#include "tests/support/hal_fixture.h"

#include "hal/driver.h"

#include <pthread.h>

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "constant int increment [[function_constant(3)]];\n"
    "struct scaling { float factor; uint count; };\n"
    "kernel void scale_add(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],\n"
    "                      constant scaling &how [[buffer(2)]],\n"
    "                      uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    if (i < how.count)\n"
    "        y[i] += how.factor * x[i];\n"
    "}\n"
    "kernel void add_step(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    x[i] += increment;\n"
    "}\n"
    "kernel void copy_words(device uint *out [[buffer(4)]], constant uint *words [[buffer(7)]],\n"
    "                       uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    out[i] = words[i];\n"
    "}\n"
    "kernel void number_groups(device uint *out [[buffer(0)]],\n"
    "                          uint3 group [[threadgroup_position_in_grid]],\n"
    "                          uint3 groups [[threadgroups_per_grid]],\n"
    "                          uint place [[thread_index_in_threadgroup]])\n"
    "{\n"
    "    uint index = (group.z * groups.y + group.y) * groups.x + group.x;\n"
    "    out[index * 6 + place] += index * 6 + place + 1;\n"
    "}\n"
    "kernel void grow(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    x[i] = x[i] * 3 + i;\n"
    "}\n"
    "kernel void borrow(device uint *x [[buffer(0)]], threadgroup uint *y [[threadgroup(0)]],\n"
    "                   uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    y[i] = x[i];\n"
    "    x[i] = y[i];\n"
    "}\n";

enum entry { SCALE_ADD, ADD_STEP, COPY_WORDS, NUMBER_GROUPS, GROW, ENTRY_COUNT };

static const struct hal_entry_point entries[ENTRY_COUNT] = {
    [SCALE_ADD] = {"scale_add", {32, 1, 1}, 8, 2},
    [ADD_STEP] = {"add_step", {4, 1, 1}, 0, 0},
    [COPY_WORDS] = {"copy_words", {8, 1, 1}, 32, 7},
    [NUMBER_GROUPS] = {"number_groups", {3, 2, 1}, 0, 0},
    [GROW] = {"grow", {8, 1, 1}, 0, 0},
};

static struct hal_device *device;
static struct hal_executable *executable;

static struct hal_executable_desc describe(const char *text)
{
    static const struct hal_constant step = {3, HAL_CONSTANT_INT32, (uint32_t)-5};
    return (struct hal_executable_desc){
        .label = "kernels",
        .format = HAL_FORMAT_MSL,
        .data = text,
        .bytes = strlen(text),
        .entry_points = entries,
        .entry_point_count = ENTRY_COUNT,
        .constants = &step,
        .constant_count = 1,
    };
}

static int set_up(void **state)
{
    (void)state;
    device = fixture_device("cpu?threads=3");
    const struct hal_executable_desc desc = describe(source);
    assert_ok(hal_executable_create(device, &desc, &executable));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hal_executable_release(executable);
    hal_device_release(device);
    return 0;
}

static struct hal_binding whole(struct hal_buffer *buffer)
{
    return (struct hal_binding){buffer, 0, HAL_WHOLE_BUFFER};
}

static void dispatch(struct hal_command_buffer *commands, enum entry entry, uint32_t groups)
{
    assert_ok(hal_command_dispatch(commands, executable, entry, (uint32_t[3]){groups, 1, 1}));
}

TEST(kernels_compute)
{
    enum { COUNT = 1000 };
    struct {
        float factor;
        uint32_t count;
    } how = {0.5F, COUNT - 3};
    float x[COUNT], y[COUNT], wanted[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        x[i] = (float)i * 0.25F;
        y[i] = 100.0F - (float)i;
        wanted[i] = i < how.count ? y[i] + how.factor * x[i] : y[i];
    }
    struct hal_buffer *buffers[2] = {fixture_buffer(device, "x", sizeof x + 16),
                                     fixture_buffer(device, "y", sizeof y)};
    assert_ok(hal_buffer_write(buffers[0], 16, x, sizeof x));
    assert_ok(hal_buffer_write(buffers[1], 0, y, sizeof y));
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    const struct hal_binding bindings[2] = {{buffers[0], 16, HAL_WHOLE_BUFFER}, whole(buffers[1])};
    assert_ok(hal_command_push_descriptor_set(commands, 0, bindings, 2));
    assert_ok(hal_command_push_constants(commands, 0, &how, sizeof how));
    dispatch(commands, SCALE_ADD, (COUNT + 31) / 32);
    fixture_run(device, commands);
    assert_ok(hal_buffer_read(buffers[1], 0, y, sizeof y));
    assert_memory_equal(y, wanted, sizeof y);
    hal_command_buffer_release(commands);
    hal_buffer_release(buffers[1]);
    hal_buffer_release(buffers[0]);
}

TEST(specialization_constants_are_set)
{
    int32_t got[8], wanted[8];
    struct hal_buffer *buffer = fixture_buffer(device, NULL, sizeof got);
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    const struct hal_binding binding = whole(buffer);
    assert_ok(hal_command_fill(commands, buffer, 0, HAL_WHOLE_BUFFER, 40, 4));
    assert_ok(hal_command_barrier(commands, NULL));
    assert_ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
    dispatch(commands, ADD_STEP, 2);
    fixture_run(device, commands);
    for (int i = 0; i < 8; i++)
        wanted[i] = 35;
    assert_ok(hal_buffer_read(buffer, 0, got, sizeof got));
    assert_memory_equal(got, wanted, sizeof got);
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
}

/* Pushes of parts, redundant ones, and what was never pushed; one output per dispatch. */
TEST(dispatches_see_what_was_pushed_before)
{
    enum { DISPATCHES = 5, WORDS = 8 };
    static const uint32_t first[8] = {1, 2, 3, 4}, part[2] = {20, 30}, last[1] = {80};
    static const uint32_t wanted[DISPATCHES][WORDS] = {
        {0}, {1, 2, 3, 4}, {1, 2, 3, 4}, {1, 20, 30, 4}, {1, 20, 30, 4, 0, 0, 0, 80},
    };
    uint32_t got[DISPATCHES][WORDS];
    struct hal_buffer *out = fixture_buffer(device, "out", sizeof got);
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    for (uint32_t i = 0; i < DISPATCHES; i++) {
        struct hal_binding bindings[5] = {{0}};
        bindings[4] = (struct hal_binding){out, i * sizeof got[0], sizeof got[0]};
        if (i == 1 || i == 2)
            assert_ok(hal_command_push_constants(commands, 0, first, 16));
        if (i == 3)
            assert_ok(hal_command_push_constants(commands, 4, part, sizeof part));
        if (i == 4)
            assert_ok(hal_command_push_constants(commands, 28, last, sizeof last));
        assert_ok(hal_command_push_descriptor_set(commands, 0, bindings, 5));
        dispatch(commands, COPY_WORDS, 1);
    }
    fixture_run(device, commands);
    assert_ok(hal_buffer_read(out, 0, got, sizeof got));
    assert_memory_equal(got, wanted, sizeof got);
    hal_command_buffer_release(commands);
    hal_buffer_release(out);
}

TEST(states_are_shared_between_pushes)
{
    static const uint32_t words[8] = {1, 2, 3};
    struct hal_buffer *out = fixture_buffer(device, NULL, 32);
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    struct hal_binding bindings[5] = {{0}};
    bindings[4] = whole(out);
    for (int i = 0; i < 4; i++) {
        assert_ok(hal_command_push_descriptor_set(commands, 0, bindings, 5));
        assert_ok(hal_command_push_constants(commands, 0, words, i < 2 ? 32 : 16));
        dispatch(commands, COPY_WORDS, 0);
        dispatch(commands, COPY_WORDS, 0);
    }
    assert_ok(hal_command_push_constants(commands, 0, words + 1, 4));
    dispatch(commands, COPY_WORDS, 0);
    assert_ok(hal_command_buffer_end(commands));
    assert_int_equal(commands->dispatch_count, 9);
    assert_int_equal(commands->state_count, 2);
    assert_int_equal(commands->states[0].constant_bytes, 32);
    assert_memory_equal(commands->states[0].constants, words, 32);
    assert_int_equal(commands->states[0].binding_count[0], 5);
    assert_int_equal(commands->states[0].binding_count[1], 0);
    assert_ptr_equal(commands->states[0].bindings[0][4].buffer, out);
    assert_int_equal(*(const uint32_t *)(const void *)commands->states[1].constants, 2);
    assert_memory_equal(commands->states[1].constants + 4, words + 1, 28);
    uint32_t number = 0;
    hal_each_command (commands, command) {
        if (command->kind == HAL_COMMAND_DISPATCH)
            assert_int_equal(((const struct hal_command_dispatch *)(const void *)command)->state,
                             number++ < 8 ? 0 : 1);
    }
    hal_command_buffer_release(commands);
    hal_buffer_release(out);
}

TEST(every_group_runs_once)
{
    static const uint32_t shapes[][3] = {{1, 1, 1}, {7, 1, 1}, {0, 5, 5}, {3, 4, 5}, {64, 9, 3}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const uint32_t threads = shapes[s][0] * shapes[s][1] * shapes[s][2] * 6;
        const size_t bytes = ((size_t)threads + 1) * 4;
        uint32_t *got = calloc(threads + 1, 4);
        struct hal_buffer *buffer = fixture_buffer(device, NULL, bytes);
        struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
        const struct hal_binding binding = whole(buffer);
        assert_ok(hal_buffer_write(buffer, 0, got, bytes));
        assert_ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
        assert_ok(hal_command_dispatch(commands, executable, NUMBER_GROUPS, shapes[s]));
        fixture_run(device, commands);
        assert_ok(hal_buffer_read(buffer, 0, got, bytes));
        for (uint32_t i = 0; i < threads; i++)
            assert_int_equal(got[i], i + 1);
        assert_int_equal(got[threads], 0);
        free(got);
        hal_command_buffer_release(commands);
        hal_buffer_release(buffer);
    }
}

/* Without the barriers the result would be wrong nearly always. */
TEST(barriers_order_dispatches)
{
    enum { COUNT = 4096, STEPS = 200 };
    static uint32_t wanted[COUNT], got[COUNT];
    struct hal_buffer *buffer = fixture_buffer(device, NULL, sizeof got);
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    const struct hal_binding binding = whole(buffer);
    assert_ok(hal_command_fill(commands, buffer, 0, sizeof got, 1, 4));
    assert_ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
    for (uint32_t i = 0; i < COUNT; i++) {
        wanted[i] = 1;
        for (int step = 0; step < STEPS; step++)
            wanted[i] = wanted[i] * 3 + i;
    }
    for (int step = 0; step < STEPS; step++) {
        assert_ok(hal_command_barrier(commands, NULL));
        dispatch(commands, GROW, COUNT / 8);
    }
    fixture_run(device, commands);
    assert_ok(hal_buffer_read(buffer, 0, got, sizeof got));
    assert_memory_equal(got, wanted, sizeof got);
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
}

/* ---- Errors --------------------------------------------------------------------------------- */

TEST(missing_bindings_are_named)
{
    struct hal_buffer *buffer = fixture_buffer(device, NULL, 64);
    struct hal_command_buffer *commands = fixture_commands(device, "gappy", HAL_ONE_SHOT);
    struct hal_binding bindings[3] = {whole(buffer), {0}, whole(buffer)};
    dispatch(commands, ADD_STEP, 0);
    assert_fails(hal_command_buffer_end(commands), HAL_INVALID,
                 "command buffer 'gappy', dispatch 0: kernel 'add_step': it takes binding 0 of "
                 "descriptor set 0");
    hal_command_buffer_release(commands);
    commands = fixture_commands(device, "gappy", HAL_ONE_SHOT);
    assert_ok(hal_command_push_descriptor_set(commands, 0, bindings, 1));
    dispatch(commands, ADD_STEP, 1);
    assert_ok(hal_command_push_descriptor_set(commands, 0, bindings, 3));
    dispatch(commands, SCALE_ADD, 1);
    assert_fails(hal_command_buffer_end(commands), HAL_INVALID,
                 "dispatch 1: kernel 'scale_add': it takes binding 1 of descriptor set 0, but "
                 "nothing is bound there (the set has 3 bindings)");
    assert_fails(fixture_submit(device, commands, NULL, 0, NULL, 0), HAL_INVALID, "not been ended");
    hal_command_buffer_release(commands);
    commands = fixture_commands(device, "gappy", HAL_ONE_SHOT);
    assert_ok(hal_command_push_constants(commands, 0, &(uint32_t){1}, 4));
    dispatch(commands, ADD_STEP, 0);
    assert_fails(hal_command_buffer_end(commands), HAL_INVALID,
                 "nothing is bound there (the set has 0 bindings); constants were pushed, but the "
                 "constant_bytes of its entry point are 0");
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
}

static enum hal_status try_to_create(const struct hal_executable_desc *desc)
{
    struct hal_executable *created = NULL;
    const enum hal_status status = hal_executable_create(device, desc, &created);
    hal_executable_release(created);
    return status;
}

TEST(bad_sources_are_refused)
{
    const struct hal_entry_point only = {"f", {1, 1, 1}, 0, 0};
    struct hal_executable_desc desc = describe("kernel void f(device int *x [[buffer(0)]])\n"
                                               "{\n"
                                               "    x[0] = undeclared;\n"
                                               "}\n");
    desc.entry_points = &only;
    desc.entry_point_count = 1;
    assert_fails(try_to_create(&desc), HAL_INVALID, "kernels:3:");
    assert_non_null(strstr(hal_message(), "undeclared"));
    desc = describe(source);
    const struct hal_entry_point missing = {"no_such_kernel", {1, 1, 1}, 0, 0};
    desc.entry_points = &missing;
    desc.entry_point_count = 1;
    assert_fails(try_to_create(&desc), HAL_INVALID, "no_such_kernel");
    const struct hal_entry_point slotless = {"grow", {1, 1, 1}, 16, 9};
    desc.entry_points = &slotless;
    assert_fails(try_to_create(&desc), HAL_INVALID,
                 "executable 'kernels': kernel 'grow' has no [[buffer(9)]] to receive its 16");
}

/* The binding is a part of its buffer: what lies behind it in there is out of bounds too. */
TEST(leaving_a_binding_fails_the_submission)
{
    static const char *const wanted[] = {"", "kernel 'grow', thread (16, 0, 0): reads 4 bytes at "
                                             "offset 64 of buffer 0, which has 64"};
    struct hal_executable *checked;
    const struct hal_executable_desc desc = describe(source);
    setenv("HAL_CHECK_BOUNDS", "maybe", 1);
    assert_fails(try_to_create(&desc), HAL_INVALID, "HAL_CHECK_BOUNDS must be true or false");
    setenv("HAL_CHECK_BOUNDS", "1", 1);
    assert_ok(hal_executable_create(device, &desc, &checked));
    unsetenv("HAL_CHECK_BOUNDS");
    struct hal_buffer *buffer = fixture_buffer(device, NULL, 512);
    const struct hal_binding binding = {buffer, 256, 64};
    for (uint32_t extra = 0; extra < 2; extra++) {
        struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
        struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
        assert_ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
        assert_ok(hal_command_dispatch(commands, checked, GROW, (uint32_t[3]){2 + extra, 1, 1}));
        assert_ok(hal_command_buffer_end(commands));
        assert_ok(fixture_submit(device, commands, NULL, 0, done, 1));
        if (extra)
            assert_fails(hal_semaphore_wait(done, 1, HAL_FOREVER), HAL_INVALID, wanted[extra]);
        else
            assert_ok(hal_semaphore_wait(done, 1, HAL_FOREVER));
        hal_semaphore_release(done);
        hal_command_buffer_release(commands);
    }
    hal_buffer_release(buffer);
    hal_executable_release(checked);
}

/* Set 1 has its bindings in any order; the constants lie behind the sets. Both bindings are parts
 * of one buffer, with room between them. */
static const char sets_source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "struct first { device const int *in [[id(0)]]; };\n"
    "struct second { device int *spare [[id(0)]]; device int *out [[id(1)]]; };\n"
    "kernel void move(constant first &a [[buffer(0)]], constant second &b [[buffer(1)]],\n"
    "                 constant int *c [[buffer(5)]], uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    if (i == 0)\n"
    "        b.out[c[1]] = a.in[c[0]] + c[c[2]];\n"
    "}\n";

static struct hal_executable *create_with_sets(struct hal_set_layout *sets[2])
{
    static const struct hal_entry_point entry = {"move", {8, 1, 1}, 12, 5};
    static const struct hal_layout_binding in = {0, HAL_BINDING_STORAGE, 0};
    static const struct hal_layout_binding out[] = {{1, HAL_BINDING_STORAGE, 0},
                                                    {0, HAL_BINDING_STORAGE, 0}};
    struct hal_pipeline_layout *layout;
    struct hal_executable *created;
    struct hal_executable_desc desc = describe(sets_source);
    assert_ok(hal_set_layout_create(
        device, &(struct hal_set_layout_desc){.bindings = &in, .binding_count = 1}, &sets[0]));
    assert_ok(hal_set_layout_create(
        device, &(struct hal_set_layout_desc){.bindings = out, .binding_count = 2}, &sets[1]));
    assert_ok(hal_pipeline_layout_create(
        device,
        &(struct hal_pipeline_layout_desc){.sets = sets, .set_count = 2, .constant_bytes = 12},
        &layout));
    desc.entry_points = &entry;
    desc.entry_point_count = 1;
    desc.layouts = &layout;
    setenv("HAL_CHECK_BOUNDS", "1", 1);
    assert_ok(hal_executable_create(device, &desc, &created));
    unsetenv("HAL_CHECK_BOUNDS");
    hal_pipeline_layout_release(layout);
    return created;
}

/* What the pointers in argument buffers lead to, the argument buffers themselves, and constants. */
TEST(leaving_a_binding_of_a_set_fails_the_submission)
{
    static const struct {
        int32_t places[3]; /* constants: from, to, and which constant is added */
        const char *message;
    } cases[] = {
        {{9, 4, 1}, NULL},
        {{10, 4, 1}, "reads 4 bytes at offset 40 of member 0 of buffer 0, which has 40"},
        {{9, 5, 1}, "writes 4 bytes at offset 20 of member 1 of buffer 1, which has 20"},
        {{9, -1, 1}, "writes 4 bytes at offset -4 of member 1 of buffer 1, which has 20"},
        {{9, 4, 3}, "reads 4 bytes at offset 12 of buffer 5, which has 12"},
    };
    struct hal_set_layout *sets[2];
    struct hal_executable *checked = create_with_sets(sets);
    struct hal_buffer *buffer = fixture_buffer(device, NULL, 512);
    int32_t words[128];
    for (int32_t i = 0; i < 128; i++)
        words[i] = 1000 + i;
    const struct hal_binding in = {buffer, 64, 40};
    const struct hal_binding out[2] = {{buffer, 0, 8}, {buffer, 256, 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
        struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
        assert_ok(hal_buffer_write(buffer, 0, words, sizeof words));
        assert_ok(hal_command_push_set(
            commands, &(struct hal_push_set_desc){
                          .layout = sets[0], .set = 0, .bindings = &in, .binding_count = 1}));
        assert_ok(hal_command_push_set(
            commands, &(struct hal_push_set_desc){
                          .layout = sets[1], .set = 1, .bindings = out, .binding_count = 2}));
        assert_ok(hal_command_push_constants(commands, 0, cases[i].places, 12));
        assert_ok(hal_command_dispatch(commands, checked, 0, (uint32_t[3]){2, 1, 1}));
        assert_ok(hal_command_buffer_end(commands));
        assert_ok(fixture_submit(device, commands, NULL, 0, done, 1));
        if (cases[i].message)
            assert_fails(hal_semaphore_wait(done, 1, HAL_FOREVER), HAL_INVALID, cases[i].message);
        else
            assert_ok(hal_semaphore_wait(done, 1, HAL_FOREVER));
        int32_t after[128];
        assert_ok(hal_buffer_read(buffer, 0, after, sizeof after));
        if (!cases[i].message)
            words[64 + 4] = 1000 + 16 + 9 + 4;
        assert_memory_equal(after, words, sizeof after);
        words[64 + 4] = 1000 + 64 + 4;
        hal_semaphore_release(done);
        hal_command_buffer_release(commands);
    }
    hal_buffer_release(buffer);
    hal_executable_release(checked);
    hal_set_layout_release(sets[0]);
    hal_set_layout_release(sets[1]);
}

TEST(threadgroup_arguments_have_lengths)
{
    struct hal_entry_point entry = {"borrow", {8, 1, 1}, 0, 0};
    struct hal_executable_desc desc = describe(source);
    desc.entry_points = &entry;
    desc.entry_point_count = 1;
    assert_fails(try_to_create(&desc), HAL_INVALID,
                 "kernel 'borrow' has a [[threadgroup(0)]] argument, but the entry point gives it "
                 "no length");
    entry.workgroup_argument_bytes[0] = 24;
    assert_fails(try_to_create(&desc), HAL_INVALID,
                 "entry point 'borrow': threadgroup argument 0 has 24 bytes, not a multiple of 16");
    entry.workgroup_argument_bytes[0] = 32784;
    assert_fails(try_to_create(&desc), HAL_INVALID,
                 "32784 bytes of threadgroup arguments, the limit is 32768");
    entry.workgroup_argument_bytes[0] = 32;
    entry.workgroup_argument_bytes[3] = 16;
    assert_fails(try_to_create(&desc), HAL_INVALID,
                 "kernel 'borrow' has no [[threadgroup(3)]] argument for 16 bytes");
    entry.workgroup_argument_bytes[3] = 0;
    assert_ok(try_to_create(&desc));
}

TEST(entry_points_have_names_and_limits)
{
    uint32_t entry;
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    assert_ok(hal_executable_find(executable, "grow", &entry));
    assert_int_equal(entry, GROW);
    assert_fails(hal_executable_find(executable, "shrink", &entry), HAL_NOT_FOUND,
                 "executable 'kernels' has no entry point 'shrink' among its 5");
    assert_fails(hal_command_dispatch(commands, executable, 5, (uint32_t[3]){1, 1, 1}), HAL_INVALID,
                 "has 5 entry points: there is no number 5");
    assert_fails(hal_command_dispatch(commands, executable, 0, NULL), HAL_INVALID, "without");
    assert_fails(hal_command_dispatch(commands, executable, GROW,
                                      (uint32_t[3]){1U << 28, 1U << 31, 1U << 31}),
                 HAL_INVALID, "268435456 x 2147483648 x 2147483648 workgroups");
    /* Workgroups of 8: 2^32 threads are one too many. */
    assert_fails(hal_command_dispatch(commands, executable, GROW, (uint32_t[3]){1U << 29, 1, 1}),
                 HAL_INVALID, "'grow': 536870912 workgroups of 8 are 4294967296 threads");
    assert_ok(
        hal_command_dispatch(commands, executable, GROW, (uint32_t[3]){(1U << 29) - 1, 1, 1}));
    hal_command_buffer_release(commands);
}

/* ---- Load ------------------------------------------------------------------------------------ */

enum { THREADS = 4, LISTS = 40, CELLS = 64 };

struct user {
    uint32_t index;
    uint32_t wrong;
};

/* Every list is a few dispatches with barriers or without; the values are modelled in C. */
static void *submit_lists(void *argument)
{
    struct user *user = argument;
    uint64_t random = 77 + user->index;
    uint32_t model[CELLS], got[CELLS], wrong = 0;
    struct hal_buffer *buffer;
    struct hal_semaphore *semaphore;
    const struct hal_buffer_desc desc = {.bytes = sizeof got};
    wrong += hal_buffer_create(device, &desc, &buffer) != HAL_OK;
    wrong += hal_semaphore_create(device, NULL, 0, &semaphore) != HAL_OK;
    for (uint32_t i = 0; i < CELLS; i++)
        model[i] = i;
    wrong += hal_buffer_write(buffer, 0, model, sizeof model) != HAL_OK;
    for (uint64_t list = 1; list <= LISTS && !wrong; list++) {
        struct hal_command_buffer *commands;
        const struct hal_binding binding = {buffer, 0, HAL_WHOLE_BUFFER};
        wrong += hal_command_buffer_create(device, NULL, &commands) != HAL_OK;
        wrong += hal_command_push_descriptor_set(commands, 0, &binding, 1) != HAL_OK;
        for (uint32_t steps = fixture_random(&random) % 5; steps > 0; steps--) {
            const uint32_t groups = fixture_random(&random) % (CELLS / 8 + 1);
            wrong += hal_command_dispatch(commands, executable, GROW,
                                          (uint32_t[3]){groups, 1, 1}) != HAL_OK;
            wrong += hal_command_barrier(commands, NULL) != HAL_OK;
            for (uint32_t i = 0; i < groups * 8; i++)
                model[i] = model[i] * 3 + i;
        }
        wrong += hal_command_buffer_end(commands) != HAL_OK;
        wrong += fixture_submit(device, commands, semaphore, list - 1, semaphore, list) != HAL_OK;
        hal_command_buffer_release(commands);
    }
    wrong += hal_semaphore_wait(semaphore, LISTS, HAL_FOREVER) != HAL_OK;
    wrong += hal_buffer_read(buffer, 0, got, sizeof got) != HAL_OK;
    wrong += memcmp(got, model, sizeof got) != 0;
    hal_semaphore_release(semaphore);
    hal_buffer_release(buffer);
    user->wrong = wrong;
    return NULL;
}

TEST(threads_submit_chains)
{
    struct user users[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        users[i] = (struct user){.index = i};
        assert_int_equal(pthread_create(&threads[i], NULL, submit_lists, &users[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(users[i].wrong, 0);
    }
}

TEST_SUITE_FIXTURE(set_up, tear_down);
