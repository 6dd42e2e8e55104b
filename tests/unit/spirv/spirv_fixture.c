/* SPDX-License-Identifier: Apache-2.0 */
/* Modules on the CPU device. */
#include "tests/unit/spirv/spirv_fixture.h"

#include <math.h>

static struct hal_device *device;

int spirv_set_up(void **state)
{
    (void)state;
    device = fixture_device("cpu?threads=2");
    return 0;
}

int spirv_tear_down(void **state)
{
    (void)state;
    hal_device_release(device);
    return 0;
}

static void set_three(uint32_t *to, const uint32_t *from, uint32_t x)
{
    const uint32_t usual[3] = {x, 1, 1};
    memcpy(to, from[0] ? from : usual, sizeof usual);
}

/* Every set up to the last one, bindings from the last to the first. */
static struct hal_pipeline_layout *make_layout(const struct spirv_launch *launch)
{
    struct hal_set_layout *sets[HAL_MAX_SETS];
    struct hal_pipeline_layout *layout;
    size_t set_count = 0;
    for (size_t i = 0; i < SPIRV_MAX_PLACES && launch->places[i].data; i++)
        if (launch->places[i].set >= set_count)
            set_count = launch->places[i].set + 1;
    for (uint32_t set = 0; set < set_count; set++) {
        struct hal_layout_binding bindings[SPIRV_MAX_PLACES];
        size_t count = 0;
        for (size_t i = SPIRV_MAX_PLACES; i-- > 0;)
            if (launch->places[i].data && launch->places[i].set == set)
                bindings[count++] = (struct hal_layout_binding){.index = launch->places[i].binding,
                                                                .kind = HAL_BINDING_STORAGE};
        const struct hal_set_layout_desc desc = {.bindings = bindings, .binding_count = count};
        assert_ok(hal_set_layout_create(device, &desc, &sets[set]));
    }
    const struct hal_pipeline_layout_desc desc = {
        .sets = sets, .set_count = set_count, .constant_bytes = launch->push_bytes};
    assert_ok(hal_pipeline_layout_create(device, &desc, &layout));
    for (size_t i = 0; i < set_count; i++)
        hal_set_layout_release(sets[i]);
    return layout;
}

static enum hal_status create(const struct spirv_launch *launch, struct hal_executable **out)
{
    struct hal_pipeline_layout *const layout = launch->with_layout ? make_layout(launch) : NULL;
    struct hal_entry_point entry = {
        .name = launch->entry ? launch->entry : "main",
        .constant_bytes = launch->push_bytes,
    };
    set_three(entry.workgroup_size, launch->workgroup_size, 64);
    const struct hal_executable_desc desc = {
        .label = "test.spv",
        .format = HAL_FORMAT_SPIRV,
        .data = launch->words,
        .bytes = launch->bytes,
        .entry_points = &entry,
        .entry_point_count = 1,
        .constants = launch->constants,
        .constant_count = launch->constant_count,
        .layouts = layout ? &layout : NULL,
    };
    const enum hal_status status = hal_executable_create(device, &desc, out);
    if (layout)
        hal_pipeline_layout_release(layout);
    return status;
}

enum hal_status spirv_status(const struct spirv_launch *launch)
{
    struct hal_executable *executable;
    const enum hal_status status = create(launch, &executable);
    if (status == HAL_OK)
        hal_executable_release(executable);
    return status;
}

static void bind_all(const struct spirv_launch *launch, struct hal_buffer *const *buffers,
                     struct hal_command_buffer *commands)
{
    for (uint32_t set = 0; set < HAL_MAX_SETS; set++) {
        struct hal_binding bindings[HAL_MAX_BINDINGS] = {{0}};
        size_t count = 0;
        for (size_t i = 0; i < SPIRV_MAX_PLACES; i++) {
            const struct spirv_place *place = &launch->places[i];
            if (!buffers[i] || place->set != set)
                continue;
            bindings[place->binding] = (struct hal_binding){buffers[i], 0, HAL_WHOLE_BUFFER};
            count = place->binding + 1 > count ? place->binding + 1 : count;
        }
        if (count)
            assert_ok(hal_command_push_descriptor_set(commands, set, bindings, count));
    }
}

void spirv_launch(const struct spirv_launch *launch)
{
    struct hal_executable *executable;
    struct hal_buffer *buffers[SPIRV_MAX_PLACES] = {NULL};
    uint32_t groups[3];
    assert_ok(create(launch, &executable));
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    for (size_t i = 0; i < SPIRV_MAX_PLACES && launch->places[i].data; i++) {
        buffers[i] = fixture_buffer(device, NULL, launch->places[i].bytes);
        assert_ok(hal_buffer_write(buffers[i], 0, launch->places[i].data, launch->places[i].bytes));
    }
    bind_all(launch, buffers, commands);
    if (launch->push_bytes)
        assert_ok(hal_command_push_constants(commands, 0, launch->push, launch->push_bytes));
    set_three(groups, launch->groups, 1);
    assert_ok(hal_command_dispatch(commands, executable, 0, groups));
    fixture_run(device, commands);
    for (size_t i = 0; i < SPIRV_MAX_PLACES && buffers[i]; i++) {
        assert_ok(hal_buffer_read(buffers[i], 0, launch->places[i].data, launch->places[i].bytes));
        hal_buffer_release(buffers[i]);
    }
    hal_command_buffer_release(commands);
    hal_executable_release(executable);
}

uint32_t spirv_random(void)
{
    static uint64_t state;
    if (!state) {
        const char *const seed = getenv("HALTRACE_SEED");
        state = seed ? strtoull(seed, NULL, 0) : 0x853c49e6748fea9bu;
        printf("HALTRACE_SEED=%llu\n", (unsigned long long)state);
        state |= 1;
    }
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

void spirv_fill_random(uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        words[i] = spirv_random();
}

float spirv_from_half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float magnitude =
        ldexpf((float)(fraction + (exponent ? 1024 : 0)), exponent ? exponent - 25 : -24);
    if (exponent == 31)
        magnitude = fraction ? NAN : INFINITY;
    return bits & 0x8000 ? -magnitude : magnitude;
}
