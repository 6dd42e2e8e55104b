/* SPDX-License-Identifier: Apache-2.0 */
/* Fill, copy and update: every alignment, sizes around every boundary, nothing beside the range
 * touched. */
#include "tests/conformance/suite.h"

/* Ranges of all sizes side by side in one buffer, each at an address that is `alignment` modulo
 * 16, with at least 16 untouched bytes between them. */
struct layout {
    uint64_t offsets[SUITE_SIZE_COUNT * 16];
    uint64_t end;
    size_t count;
};

static uint64_t place(struct layout *layout, uint64_t alignment, uint64_t bytes)
{
    const uint64_t offset = (layout->end + 31) / 16 * 16 + alignment;
    layout->offsets[layout->count++] = offset;
    layout->end = offset + bytes;
    return offset;
}

/* A buffer of random bytes, and the same bytes in memory. */
struct image {
    struct hal_buffer *buffer;
    uint8_t *bytes;
    uint64_t count;
};

static struct image random_image(struct suite *suite, const char *label, uint64_t bytes)
{
    struct image image = {suite_buffer(suite, label, bytes), suite_memory(suite, bytes), bytes};
    suite_random_bytes(suite, image.bytes, bytes);
    suite_write(suite, image.buffer, 0, image.bytes, bytes);
    return image;
}

static void check_image(struct suite *suite, const struct image *image)
{
    check_buffer(suite, image->buffer, 0, image->bytes, image->count);
}

static void fill_plainly(uint8_t *target, uint64_t bytes, uint32_t pattern, uint32_t pattern_bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        target[i] = (uint8_t)(pattern >> 8 * (i % pattern_bytes));
}

/* ---- Fill ----------------------------------------------------------------------------------- */

static void fill_all_sizes(struct suite *suite, uint64_t alignment, uint32_t pattern_bytes)
{
    struct layout layout = {0};
    for (size_t i = 0; i < SUITE_SIZE_COUNT; i++)
        place(&layout, alignment, suite_sizes[i]);
    const struct image image = random_image(suite, "filled", layout.end + 16);
    struct hal_command_buffer *commands = suite_commands(suite, "fills", HAL_ONE_SHOT);
    for (size_t i = 0; i < SUITE_SIZE_COUNT; i++) {
        const uint32_t pattern = 0x9D3B51E7U * (uint32_t)(i + 1);
        const uint64_t bytes = suite_sizes[i];
        check_ok(suite, hal_command_fill(commands, image.buffer, layout.offsets[i], bytes, pattern,
                                         pattern_bytes));
        fill_plainly(image.bytes + layout.offsets[i], bytes, pattern, pattern_bytes);
    }
    suite_run(suite, commands);
    suite_note(suite, "pattern of %u bytes", pattern_bytes);
    check_image(suite, &image);
}

static void fill_at(struct suite *suite, uint64_t alignment)
{
    for (uint32_t pattern_bytes = 1; pattern_bytes <= 4; pattern_bytes *= 2)
        fill_all_sizes(suite, alignment, pattern_bytes);
}

static void fill_takes_the_lowest_bytes(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const uint8_t wanted[12] = {0x78, 0x78, 0x78, 0x78, 0x78, 0x56,
                                       0x78, 0x56, 0x78, 0x56, 0x34, 0x12};
    struct hal_buffer *buffer = suite_buffer(suite, NULL, sizeof wanted);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    check_ok(suite, hal_command_fill(commands, buffer, 0, 4, 0x12345678, 1));
    check_ok(suite, hal_command_fill(commands, buffer, 4, 4, 0x12345678, 2));
    check_ok(suite, hal_command_fill(commands, buffer, 8, 4, 0x12345678, 4));
    suite_run(suite, commands);
    check_buffer(suite, buffer, 0, wanted, sizeof wanted);
}

/* From `offset` to the end, whatever the buffer's size. */
static void fill_to_the_end(struct suite *suite, uint64_t offset)
{
    const struct image image = random_image(suite, NULL, 5000);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    check_ok(suite,
             hal_command_fill(commands, image.buffer, offset, HAL_WHOLE_BUFFER, 0xC1D2E3F4, 4));
    fill_plainly(image.bytes + offset, image.count - offset, 0xC1D2E3F4, 4);
    suite_run(suite, commands);
    check_image(suite, &image);
}

static void nothing_is_moved(struct suite *suite, uint64_t offset)
{
    const struct image a = random_image(suite, "a", 64), b = random_image(suite, "b", 64);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    check_ok(suite, hal_command_fill(commands, a.buffer, offset, 0, 1, 4));
    check_ok(suite, hal_command_copy(commands, b.buffer, offset, a.buffer, offset, 0));
    check_ok(suite, hal_command_copy(commands, a.buffer, offset, a.buffer, offset, 0));
    check_ok(suite, hal_command_update(commands, NULL, a.buffer, offset, 0));
    suite_run(suite, commands);
    check_image(suite, &a);
    check_image(suite, &b);
}

/* Commands side by side touch neighbouring bytes and need no barrier. */
static void neighbours(struct suite *suite, uint64_t piece)
{
    enum { PIECES = 500 };
    uint8_t data[64];
    const struct image source = random_image(suite, "source", PIECES * piece);
    const struct image target = random_image(suite, "target", PIECES * piece);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    for (uint64_t i = 0; i < PIECES; i++) {
        const uint64_t at = i * piece;
        uint8_t *wanted = target.bytes + at;
        if (i % 3 == 0) {
            check_ok(suite, hal_command_fill(commands, target.buffer, at, piece, (uint32_t)i, 1));
            memset(wanted, (int)(i & 0xFF), piece);
        } else if (i % 3 == 1) {
            const uint64_t from = (PIECES - 1 - i) * piece;
            check_ok(suite,
                     hal_command_copy(commands, source.buffer, from, target.buffer, at, piece));
            memcpy(wanted, source.bytes + from, piece);
        } else {
            memset(data, (int)(i * 7 & 0xFF), piece);
            check_ok(suite, hal_command_update(commands, data, target.buffer, at, piece));
            memcpy(wanted, data, piece);
        }
    }
    suite_run(suite, commands);
    check_image(suite, &target);
    check_image(suite, &source);
}

/* ---- Copy ----------------------------------------------------------------------------------- */

/* To all alignments; the two largest sizes go to one each. */
static void copy_from(struct suite *suite, uint64_t alignment)
{
    struct layout layout = {0};
    for (size_t i = 0; i < SUITE_SIZE_COUNT; i++) {
        for (uint64_t to = 0; to < (suite_sizes[i] < 65536 ? 16 : 1); to++)
            place(&layout, suite_sizes[i] < 65536 ? to : 15 - alignment, suite_sizes[i]);
    }
    const struct image source = random_image(suite, "source", 16 + SUITE_LARGEST);
    const struct image target = random_image(suite, "target", layout.end + 16);
    struct hal_command_buffer *commands = suite_commands(suite, "copies", HAL_ONE_SHOT);
    for (size_t i = 0, number = 0; i < SUITE_SIZE_COUNT; i++) {
        const uint64_t bytes = suite_sizes[i];
        for (uint64_t to = 0; to < (bytes < 65536 ? 16 : 1); to++, number++) {
            const uint64_t at = layout.offsets[number];
            check_ok(suite, hal_command_copy(commands, source.buffer, alignment, target.buffer, at,
                                             bytes));
            memcpy(target.bytes + at, source.bytes + alignment, bytes);
        }
    }
    suite_run(suite, commands);
    check_image(suite, &target);
}

static void copy_to_the_end(struct suite *suite, uint64_t offset)
{
    const struct image source = random_image(suite, "source", 3001);
    const struct image target = random_image(suite, "target", 4000);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    check_ok(suite,
             hal_command_copy(commands, source.buffer, offset, target.buffer, 7, HAL_WHOLE_BUFFER));
    memcpy(target.bytes + 7, source.bytes + offset, source.count - offset);
    suite_run(suite, commands);
    check_image(suite, &target);
}

/* Source and target lie side by side in one buffer; `forwards` says in which order. */
static void copy_inside_one_buffer(struct suite *suite, uint64_t forwards)
{
    enum { HALF = 70001 };
    const struct image image = random_image(suite, NULL, 2 * HALF);
    const uint64_t from = forwards ? 0 : HALF, to = forwards ? HALF : 0;
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    check_ok(suite, hal_command_copy(commands, image.buffer, from, image.buffer, to, HALF));
    memcpy(image.bytes + to, image.bytes + from, HALF);
    suite_run(suite, commands);
    check_image(suite, &image);
}

static void copy_large(struct suite *suite, uint64_t bytes)
{
    const struct image source = random_image(suite, "source", bytes);
    struct hal_buffer *target = suite_buffer(suite, "target", bytes);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    check_ok(suite, hal_command_copy(commands, source.buffer, 0, target, 0, bytes));
    suite_run(suite, commands);
    check_buffer(suite, target, 0, source.bytes, bytes);
}

/* One source, many targets, which are then the sources of one. */
static void copy_out_and_together(struct suite *suite, uint64_t unused)
{
    (void)unused;
    enum { TARGETS = 40, BYTES = 999 };
    const struct image source = random_image(suite, "source", BYTES);
    struct hal_buffer *all = suite_buffer(suite, "all", (uint64_t)TARGETS * BYTES), *one;
    struct hal_command_buffer *out = suite_commands(suite, "out", HAL_ONE_SHOT);
    struct hal_buffer *targets[TARGETS];
    for (size_t i = 0; i < TARGETS; i++) {
        one = targets[i] = suite_buffer(suite, "target", BYTES);
        check_ok(suite, hal_command_copy(out, source.buffer, 0, one, 0, BYTES));
    }
    check_ok(suite, hal_command_barrier(out, NULL));
    for (size_t i = 0; i < TARGETS; i++)
        check_ok(suite, hal_command_copy(out, targets[i], 0, all, i * BYTES, BYTES));
    suite_run(suite, out);
    for (size_t i = 0; i < TARGETS; i++)
        check_buffer(suite, all, i * BYTES, source.bytes, BYTES);
}

/* Bytes wander through many places, and leave a mark at each; a barrier before each step. */
static void copy_in_a_chain(struct suite *suite, uint64_t steps)
{
    enum { BYTES = 3333, PLACES = 5 };
    const struct image image = random_image(suite, NULL, BYTES * PLACES);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    for (uint64_t i = 0; i < steps; i++) {
        const uint64_t from = i % PLACES * BYTES, to = (i + 1) % PLACES * BYTES;
        check_ok(suite, hal_command_copy(commands, image.buffer, from, image.buffer, to, BYTES));
        check_ok(suite, hal_command_barrier(commands, NULL));
        check_ok(suite, hal_command_update(commands, &i, image.buffer, to + i, 2));
        check_ok(suite, hal_command_barrier(commands, NULL));
        memcpy(image.bytes + to, image.bytes + from, BYTES);
        memcpy(image.bytes + to + i, &i, 2);
    }
    suite_run(suite, commands);
    check_image(suite, &image);
}

/* ---- Update --------------------------------------------------------------------------------- */

static void update_at(struct suite *suite, uint64_t alignment)
{
    struct layout layout = {0};
    for (size_t i = 0; suite_sizes[i] <= HAL_MAX_UPDATE_BYTES; i++)
        place(&layout, alignment, suite_sizes[i]);
    const struct image image = random_image(suite, "updated", layout.end + 16);
    struct hal_command_buffer *commands = suite_commands(suite, "updates", HAL_ONE_SHOT);
    uint8_t *data = suite_memory(suite, HAL_MAX_UPDATE_BYTES + 16);
    for (size_t i = 0; i < layout.count; i++) {
        const uint64_t at = layout.offsets[i], bytes = suite_sizes[i];
        uint8_t *from = data + (15 - alignment); /* the source's alignment varies, too */
        suite_random_bytes(suite, from, bytes);
        check_ok(suite, hal_command_update(commands, from, image.buffer, at, bytes));
        memcpy(image.bytes + at, from, bytes);
    }
    suite_run(suite, commands);
    check_image(suite, &image);
}

static void update_copies_when_recorded(struct suite *suite, uint64_t bytes)
{
    uint8_t *data = suite_memory(suite, bytes), *wanted = suite_memory(suite, bytes);
    struct hal_buffer *buffer = suite_buffer(suite, NULL, bytes);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    suite_random_bytes(suite, data, bytes);
    memcpy(wanted, data, bytes);
    check_ok(suite, hal_command_update(commands, data, buffer, 0, bytes));
    memset(data, 0xEE, bytes);
    check_ok(suite, hal_command_buffer_end(commands));
    memset(data, 0xDD, bytes);
    suite_submit_and_wait(suite, commands);
    check_buffer(suite, buffer, 0, wanted, bytes);
}

static void update_to_the_end(struct suite *suite, uint64_t offset)
{
    uint8_t data[1000];
    const struct image image = random_image(suite, NULL, sizeof data);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    suite_random_bytes(suite, data, sizeof data);
    check_ok(suite, hal_command_update(commands, data, image.buffer, offset, HAL_WHOLE_BUFFER));
    memcpy(image.bytes + offset, data, image.count - offset);
    suite_run(suite, commands);
    check_image(suite, &image);
}

/* More than any pool of staging memory holds at once. */
static void update_much(struct suite *suite, uint64_t unused)
{
    (void)unused;
    enum { UPDATES = 64 };
    const struct image image = random_image(suite, NULL, (uint64_t)UPDATES * HAL_MAX_UPDATE_BYTES);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    for (uint64_t i = 0; i < UPDATES; i++) {
        uint8_t *piece = image.bytes + i * HAL_MAX_UPDATE_BYTES;
        suite_random_bytes(suite, piece, HAL_MAX_UPDATE_BYTES);
        check_ok(suite, hal_command_update(commands, piece, image.buffer, i * HAL_MAX_UPDATE_BYTES,
                                           HAL_MAX_UPDATE_BYTES));
    }
    suite_run(suite, commands);
    check_image(suite, &image);
}

/* ---- Memory types --------------------------------------------------------------------------- */

/* The bytes pass through memory that the host does not see. */
static void through_device_memory(struct suite *suite, uint64_t bytes)
{
    const struct image source = random_image(suite, "upload", bytes);
    struct hal_buffer *middle =
        suite_buffer_of(suite, suite_device(suite),
                        &(struct hal_buffer_desc){.label = "private",
                                                  .bytes = bytes,
                                                  .memory = HAL_MEMORY_DEVICE_LOCAL,
                                                  .usage = HAL_USAGE_TRANSFER});
    struct hal_buffer *target =
        suite_buffer_of(suite, suite_device(suite),
                        &(struct hal_buffer_desc){
                            .label = "download", .bytes = bytes, .memory = HAL_MEMORY_HOST_CACHED});
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    check_ok(suite, hal_command_copy(commands, source.buffer, 0, middle, 0, bytes));
    check_ok(suite, hal_command_barrier(commands, NULL));
    check_ok(suite, hal_command_copy(commands, middle, 0, target, 0, bytes));
    suite_run(suite, commands);
    check_buffer(suite, target, 0, source.bytes, bytes);
}

static const struct suite_case cases[] = {
    SUITE_SIXTEEN("fill_at_", fill_at),
    SUITE_SIXTEEN("copy_from_", copy_from),
    SUITE_SIXTEEN("update_at_", update_at),
    {"fill_takes_the_lowest_bytes", fill_takes_the_lowest_bytes, 0},
    {"fill_whole_buffer", fill_to_the_end, 0},
    {"fill_to_the_end", fill_to_the_end, 1232},
    {"fill_from_the_end", fill_to_the_end, 5000},
    {"nothing_is_moved", nothing_is_moved, 0},
    {"nothing_is_moved_at_the_end", nothing_is_moved, 64},
    {"neighbours_of_1_byte", neighbours, 1},
    {"neighbours_of_7_bytes", neighbours, 7},
    {"neighbours_of_64_bytes", neighbours, 64},
    {"copy_whole_buffer", copy_to_the_end, 0},
    {"copy_to_the_end", copy_to_the_end, 1999},
    {"copy_inside_one_buffer_forwards", copy_inside_one_buffer, true},
    {"copy_inside_one_buffer_backwards", copy_inside_one_buffer, false},
    {"copy_16_mib_and_3", copy_large, (16 << 20) + 3},
    {"copy_out_and_together", copy_out_and_together, 0},
    {"copy_in_a_chain", copy_in_a_chain, 50},
    {"update_copies_when_recorded", update_copies_when_recorded, 1},
    {"update_copies_the_most_when_recorded", update_copies_when_recorded, HAL_MAX_UPDATE_BYTES},
    {"update_whole_buffer", update_to_the_end, 0},
    {"update_to_the_end", update_to_the_end, 313},
    {"update_4_mib", update_much, 0},
    {"through_device_memory", through_device_memory, 100000},
    {"one_byte_through_device_memory", through_device_memory, 1},
};

const struct suite_area area_transfers = {"transfers", cases, SUITE_COUNT(cases)};
