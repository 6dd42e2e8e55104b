/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule for commands as they are recorded: the status, and a message that names the object,
 * the value and the limit. A call that is refused appends nothing. */
#include "tests/conformance/suite.h"

#include <stdio.h>

/* What is refused while recording appends nothing: after all of these, one fill is left. */
struct recording {
    struct hal_command_buffer *commands;
    struct hal_buffer *buffer; /* "hundred": 100 bytes */
};

static struct recording begin(struct suite *suite)
{
    const struct recording recording = {suite_commands(suite, "recording", HAL_ONE_SHOT),
                                        suite_buffer(suite, "hundred", 100)};
    suite_clear(suite, recording.buffer, 0x66);
    return recording;
}

static void only_the_fill_is_left(struct suite *suite, const struct recording *recording)
{
    uint8_t wanted[100];
    memset(wanted, 0x66, sizeof wanted);
    memset(wanted + 8, 0x99, 4);
    check_ok(suite, hal_command_fill(recording->commands, recording->buffer, 8, 4, 0x99, 1));
    suite_run(suite, recording->commands);
    check_buffer(suite, recording->buffer, 0, wanted, sizeof wanted);
}

static void fills(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const struct recording r = begin(suite);
    check_fails(suite, hal_command_fill(r.commands, NULL, 0, 1, 0, 1), HAL_INVALID, "buffer");
    check_fails(suite, hal_command_fill(NULL, r.buffer, 0, 1, 0, 1), HAL_INVALID, "command buffer");
    check_fails(suite, hal_command_fill(r.commands, r.buffer, 99, 2, 0, 1), HAL_INVALID, "hundred",
                "100", "99");
    check_fails(suite, hal_command_fill(r.commands, r.buffer, 101, 0, 0, 1), HAL_INVALID, "hundred",
                "101");
    check_fails(suite, hal_command_fill(r.commands, r.buffer, 8, UINT64_MAX - 7, 0, 1), HAL_INVALID,
                "hundred");
    for (uint32_t bytes = 0; bytes <= 5; bytes++) {
        if (bytes == 1 || bytes == 2 || bytes == 4)
            continue;
        check_fails(suite, hal_command_fill(r.commands, r.buffer, 0, 60, 0, bytes), HAL_INVALID,
                    "pattern", "1, 2 and 4");
    }
    only_the_fill_is_left(suite, &r);
}

static void copies(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const struct recording r = begin(suite);
    struct hal_buffer *ten = suite_buffer(suite, "ten", 10);
    suite_clear(suite, ten, 0);
    check_fails(suite, hal_command_copy(r.commands, ten, 0, NULL, 0, 1), HAL_INVALID, "buffer");
    check_fails(suite, hal_command_copy(r.commands, NULL, 0, ten, 0, 1), HAL_INVALID, "buffer");
    check_fails(suite, hal_command_copy(r.commands, ten, 1, r.buffer, 0, 10), HAL_INVALID, "ten",
                "10");
    check_fails(suite, hal_command_copy(r.commands, r.buffer, 0, ten, 1, 10), HAL_INVALID, "ten",
                "10");
    check_fails(suite, hal_command_copy(r.commands, r.buffer, 0, ten, 0, HAL_WHOLE_BUFFER),
                HAL_INVALID, "ten", "100");
    check_fails(suite, hal_command_copy(r.commands, r.buffer, 10, r.buffer, 19, 10), HAL_INVALID,
                "hundred", "overlap");
    check_fails(suite, hal_command_copy(r.commands, r.buffer, 19, r.buffer, 10, 10), HAL_INVALID,
                "hundred", "19", "10");
    check_fails(suite, hal_command_copy(r.commands, r.buffer, 5, r.buffer, 5, 1), HAL_INVALID,
                "hundred", "overlap");
    only_the_fill_is_left(suite, &r);
}

static void updates(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const struct recording r = begin(suite);
    struct hal_buffer *large = suite_buffer(suite, "large", HAL_MAX_UPDATE_BYTES + 10);
    uint8_t *data = suite_memory(suite, HAL_MAX_UPDATE_BYTES + 10);
    check_fails(suite, hal_command_update(r.commands, data, NULL, 0, 1), HAL_INVALID, "buffer");
    check_fails(suite, hal_command_update(r.commands, data, large, 0, HAL_MAX_UPDATE_BYTES + 1),
                HAL_INVALID, "65537", "65536");
    check_fails(suite, hal_command_update(r.commands, data, large, 0, HAL_WHOLE_BUFFER),
                HAL_INVALID, "65546", "65536");
    check_fails(suite, hal_command_update(r.commands, NULL, r.buffer, 0, 5), HAL_INVALID, "5 bytes",
                "NULL");
    check_fails(suite, hal_command_update(r.commands, data, r.buffer, 96, 5), HAL_INVALID,
                "hundred", "96", "5");
    only_the_fill_is_left(suite, &r);
}

static void transfers_of_other_usage(struct suite *suite, uint64_t usage)
{
    const struct recording r = begin(suite);
    struct hal_buffer *other = suite_buffer_of(
        suite, suite_device(suite),
        &(struct hal_buffer_desc){.label = "other", .bytes = 16, .usage = (uint32_t)usage});
    check_fails(suite, hal_command_fill(r.commands, other, 0, 4, 0, 4), HAL_INVALID, "other",
                "transfer");
    check_fails(suite, hal_command_update(r.commands, "1234", other, 0, 4), HAL_INVALID, "other",
                "transfer");
    check_fails(suite, hal_command_copy(r.commands, other, 0, r.buffer, 0, 4), HAL_INVALID, "other",
                "transfer");
    check_fails(suite, hal_command_copy(r.commands, r.buffer, 0, other, 0, 4), HAL_INVALID, "other",
                "transfer");
    only_the_fill_is_left(suite, &r);
}

static void barriers(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const struct recording r = begin(suite);
    const struct hal_buffer_barrier null = {NULL, 0, 1, 0, 0}, outside = {r.buffer, 90, 11, 0, 0},
                                    bits = {r.buffer, 0, 1, 0x10, 0};
    const struct {
        struct hal_barrier_desc desc;
        const char *a, *b;
    } wrong[] = {
        {{.source_stages = 8}, "recording", "0x8"},
        {{.target_stages = 0x107}, "recording", "0x107"},
        {{.source_access = 4}, "recording", "0x4"},
        {{.target_access = 0x80000000}, "recording", "0x80000000"},
        {{.buffer_count = 3}, "3 buffers", "NULL"},
        {{.buffers = &null, .buffer_count = 1}, "buffer", "NULL"},
        {{.buffers = &outside, .buffer_count = 1}, "hundred", "11"},
        {{.buffers = &bits, .buffer_count = 1}, "recording", "0x10"},
        {{.buffers = &bits, .buffer_count = SIZE_MAX / 2}, "buffers", "limit"},
    };
    for (size_t i = 0; i < SUITE_COUNT(wrong); i++) {
        suite_note(suite, "barrier %zu", i);
        check_fails(suite, hal_command_barrier(r.commands, &wrong[i].desc), HAL_INVALID, wrong[i].a,
                    wrong[i].b);
    }
    only_the_fill_is_left(suite, &r);
}

static void push_constants(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const uint32_t data[1025] = {0}, most = suite_info(suite)->max_constant_bytes;
    char limit[32], over[32];
    const struct recording r = begin(suite);
    snprintf(limit, sizeof limit, "the %u bytes", most);
    snprintf(over, sizeof over, "0 + %u", most + 4);
    check_fails(suite, hal_command_push_constants(r.commands, 2, data, 4), HAL_INVALID, "offset 2",
                "4");
    check_fails(suite, hal_command_push_constants(r.commands, 0, data, 5), HAL_INVALID, "size 5",
                "4");
    check_fails(suite, hal_command_push_constants(r.commands, 0, data, most + 4), HAL_INVALID, over,
                limit, suite_info(suite)->uri);
    check_fails(suite, hal_command_push_constants(r.commands, most, data, 4), HAL_INVALID, limit);
    check_fails(suite, hal_command_push_constants(r.commands, UINT32_MAX - 3, data, 8), HAL_INVALID,
                "4294967292", limit);
    check_fails(suite, hal_command_push_constants(r.commands, 0, NULL, 4), HAL_INVALID, "4 bytes",
                "NULL");
    check_ok(suite, hal_command_push_constants(r.commands, most, NULL, 0));
    only_the_fill_is_left(suite, &r);
}

static void descriptor_sets(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const struct recording r = begin(suite);
    struct hal_buffer *plain = suite_buffer_of(
        suite, suite_device(suite),
        &(struct hal_buffer_desc){.label = "plain", .bytes = 16, .usage = HAL_USAGE_TRANSFER});
    struct hal_binding bindings[HAL_MAX_BINDINGS + 1] = {{0}};
    check_fails(suite, hal_command_push_descriptor_set(r.commands, 4, bindings, 1), HAL_INVALID,
                "set 4", "3");
    check_fails(suite, hal_command_push_descriptor_set(r.commands, 0, bindings, 32), HAL_INVALID,
                "32 bindings", "31");
    check_fails(suite, hal_command_push_descriptor_set(r.commands, 1, NULL, 2), HAL_INVALID,
                "set 1", "NULL");
    bindings[5] = (struct hal_binding){r.buffer, 60, 41};
    check_fails(suite, hal_command_push_descriptor_set(r.commands, 2, bindings, 6), HAL_INVALID,
                "set 2", "binding 5", "hundred", "41");
    bindings[5] = (struct hal_binding){r.buffer, 60, 0};
    check_fails(suite, hal_command_push_descriptor_set(r.commands, 2, bindings, 6), HAL_INVALID,
                "binding 5", "hundred", "at least 1");
    bindings[5] = (struct hal_binding){r.buffer, 100, HAL_WHOLE_BUFFER};
    check_fails(suite, hal_command_push_descriptor_set(r.commands, 2, bindings, 6), HAL_INVALID,
                "binding 5", "hundred", "at least 1");
    bindings[5] = (struct hal_binding){plain, 0, 16};
    check_fails(suite, hal_command_push_descriptor_set(r.commands, 0, bindings, 6), HAL_INVALID,
                "binding 5", "plain", "dispatch");
    check_ok(suite, hal_command_push_descriptor_set(r.commands, 0, NULL, 0));
    only_the_fill_is_left(suite, &r);
}

static void dispatches(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const struct recording r = begin(suite);
    struct hal_executable *kernels = suite_kernels(suite);
    const uint32_t one[3] = {1, 1, 1}, most[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    check_fails(suite, hal_command_dispatch(r.commands, NULL, 0, one), HAL_INVALID, "executable");
    check_fails(suite, hal_command_dispatch(r.commands, kernels, KERNEL_TOTAL, one), HAL_INVALID,
                "kernels.metal", "20");
    check_fails(suite, hal_command_dispatch(r.commands, kernels, UINT32_MAX, one), HAL_INVALID,
                "kernels.metal", "4294967295");
    check_fails(suite, hal_command_dispatch(r.commands, kernels, KERNEL_COPY, NULL), HAL_INVALID,
                "copy_words");
    check_fails(suite, hal_command_dispatch(r.commands, kernels, KERNEL_COPY, most), HAL_INVALID,
                "copy_words", "4294967295");
    only_the_fill_is_left(suite, &r);
}

/* A dispatch without what its kernel takes is refused when the command buffer is ended. */
static void missing_binding(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_buffer *x = suite_buffer(suite, "x", 256);
    struct hal_command_buffer *commands = suite_commands(suite, "lacking", HAL_ONE_SHOT);
    suite_dispatch(suite, commands, &(struct suite_launch){KERNEL_COPY, {1, 1, 1}, {x}, {0}, 0});
    check_fails(suite, hal_command_buffer_end(commands), HAL_INVALID, "lacking", "copy_words", "1");
}

static void debug_groups(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const struct recording r = begin(suite);
    check_fails(suite, hal_command_debug_end(r.commands), HAL_INVALID, "recording", "no open");
    check_ok(suite, hal_command_debug_begin(r.commands, "open", 0));
    check_ok(suite, hal_command_debug_begin(r.commands, "open too", 0));
    check_fails(suite, hal_command_buffer_end(r.commands), HAL_INVALID, "recording", "2");
    check_ok(suite, hal_command_debug_end(r.commands));
    check_ok(suite, hal_command_debug_end(r.commands));
    check_fails(suite, hal_command_debug_end(r.commands), HAL_INVALID, "recording", "no open");
    only_the_fill_is_left(suite, &r);
}

static void ended(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const struct recording r = begin(suite);
    struct hal_command_buffer *c = r.commands;
    only_the_fill_is_left(suite, &r);
    check_fails(suite, hal_command_buffer_end(c), HAL_INVALID, "recording", "ended");
    check_fails(suite, hal_command_barrier(c, NULL), HAL_INVALID, "recording", "ended");
    check_fails(suite, hal_command_fill(c, r.buffer, 0, 4, 0, 4), HAL_INVALID, "recording",
                "ended");
    check_fails(suite, hal_command_copy(c, r.buffer, 0, r.buffer, 50, 4), HAL_INVALID, "recording",
                "ended");
    check_fails(suite, hal_command_update(c, "1234", r.buffer, 0, 4), HAL_INVALID, "recording",
                "ended");
    check_fails(suite, hal_command_push_constants(c, 0, "1234", 4), HAL_INVALID, "recording",
                "ended");
    check_fails(suite, hal_command_push_descriptor_set(c, 0, NULL, 0), HAL_INVALID, "recording",
                "ended");
    check_fails(suite,
                hal_command_dispatch(c, suite_kernels(suite), 0, (const uint32_t[3]){1, 1, 1}),
                HAL_INVALID, "recording", "ended");
    check_fails(suite, hal_command_debug_begin(c, "x", 0), HAL_INVALID, "recording", "ended");
    check_fails(suite, hal_command_debug_end(c), HAL_INVALID, "recording", "ended");
}

static const struct suite_case cases[] = {
    {"fills", fills, 0},
    {"copies", copies, 0},
    {"updates", updates, 0},
    {"transfers_for_dispatch", transfers_of_other_usage, HAL_USAGE_DISPATCH},
    {"transfers_for_mapping", transfers_of_other_usage, HAL_USAGE_MAPPING},
    {"barriers", barriers, 0},
    {"push_constants", push_constants, 0},
    {"descriptor_sets", descriptor_sets, 0},
    {"dispatches", dispatches, 0},
    {"missing_binding", missing_binding, 0},
    {"debug_groups", debug_groups, 0},
    {"ended", ended, 0},
};

const struct suite_area area_command_errors = {"command_errors", cases, SUITE_COUNT(cases)};
