/* SPDX-License-Identifier: Apache-2.0 */
/* Subspans: a range of a buffer that is used like a buffer. Everything is compared with the same
 * done to plain memory at the range's place. */
#include "tests/conformance/suite.h"

enum { ROOT_BYTES = 8192 };

static struct hal_buffer *subspan_of(struct suite *suite, struct hal_buffer *buffer,
                                     uint64_t offset, uint64_t bytes, const char *label)
{
    struct hal_buffer *subspan;
    check_ok(suite, hal_buffer_subspan(buffer, offset, bytes, label, &subspan));
    return suite_own_buffer(suite, subspan);
}

struct pair {
    struct hal_buffer *root;
    uint8_t *model; /* of the root */
};

static struct pair random_pair(struct suite *suite, uint64_t bytes)
{
    const struct pair pair = {suite_buffer(suite, "root", bytes), suite_memory(suite, bytes)};
    suite_random_bytes(suite, pair.model, bytes);
    suite_write(suite, pair.root, 0, pair.model, bytes);
    return pair;
}

/* Fill, copy and update through a subspan whose place is `alignment` modulo 16. */
static void transfers(struct suite *suite, uint64_t alignment)
{
    const struct pair pair = random_pair(suite, ROOT_BYTES);
    const uint64_t begin = 1024 + alignment;
    struct hal_buffer *part = subspan_of(suite, pair.root, begin, 3001, "part");
    struct hal_command_buffer *commands = suite_commands(suite, "transfers", HAL_ONE_SHOT);
    static const uint8_t data[] = "through the subspan";
    check_u64(suite, hal_buffer_bytes(part), 3001);
    check_ok(suite, hal_command_fill(commands, part, 5, 700, 0xAB, 1));
    check_ok(suite, hal_command_update(commands, data, part, 3001 - sizeof data, sizeof data));
    check_ok(suite, hal_command_copy(commands, pair.root, 7000, part, 1000, 1100));
    check_ok(suite, hal_command_barrier(commands, NULL));
    check_ok(suite, hal_command_copy(commands, part, 0, pair.root, 3, 710));
    suite_run(suite, commands);
    memset(pair.model + begin + 5, 0xAB, 700);
    memcpy(pair.model + begin + 3001 - sizeof data, data, sizeof data);
    memcpy(pair.model + begin + 1000, pair.model + 7000, 1100);
    memcpy(pair.model + 3, pair.model + begin, 710);
    check_buffer(suite, pair.root, 0, pair.model, ROOT_BYTES);
    check_buffer(suite, part, 0, pair.model + begin, 3001);
}

static void bindings(struct suite *suite, uint64_t argument)
{
    const struct pair pair = random_pair(suite, ROOT_BYTES);
    struct hal_buffer *input = subspan_of(suite, pair.root, 256, 1024, "input");
    struct hal_buffer *output = subspan_of(suite, pair.root, 4096, 2048, "output");
    struct hal_command_buffer *commands = suite_commands(suite, "kernel", HAL_ONE_SHOT);
    (void)argument;
    suite_dispatch(suite, commands,
                   &(struct suite_launch){
                       .kernel = KERNEL_COPY, .groups = {4, 1, 1}, .buffers = {input, output}});
    suite_run(suite, commands);
    memcpy(pair.model + 4096, pair.model + 256, 1024);
    check_buffer(suite, pair.root, 0, pair.model, ROOT_BYTES);
}

/* A range of a range counts from the inner one's start. */
static void binding_with_offset(struct suite *suite, uint64_t argument)
{
    const struct pair pair = random_pair(suite, ROOT_BYTES);
    struct hal_buffer *part = subspan_of(suite, pair.root, 512, 4096, "part");
    struct hal_command_buffer *commands = suite_commands(suite, "kernel", HAL_ONE_SHOT);
    const struct hal_binding bound[] = {{part, 256, 256}, {part, 1024, HAL_WHOLE_BUFFER}};
    (void)argument;
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, bound, 2));
    check_ok(suite, hal_command_dispatch(commands, suite_kernels(suite), KERNEL_COPY,
                                         (const uint32_t[3]){1, 1, 1}));
    suite_run(suite, commands);
    memcpy(pair.model + 512 + 1024, pair.model + 512 + 256, 256);
    check_buffer(suite, pair.root, 0, pair.model, ROOT_BYTES);
}

static void nested(struct suite *suite, uint64_t argument)
{
    const struct pair pair = random_pair(suite, ROOT_BYTES);
    struct hal_buffer *part = pair.root;
    uint64_t begin = 0, bytes = ROOT_BYTES;
    (void)argument;
    for (int depth = 0; depth < 100; depth++) {
        part = subspan_of(suite, part, 7, bytes - 20, "deeper");
        begin += 7;
        bytes -= 20;
        check_u64(suite, hal_buffer_bytes(part), bytes);
    }
    check_buffer(suite, part, 0, pair.model + begin, bytes);
    suite_clear(suite, part, 0x11);
    memset(pair.model + begin, 0x11, bytes);
    check_buffer(suite, pair.root, 0, pair.model, ROOT_BYTES);
}

static void mapped(struct suite *suite, uint64_t mode)
{
    const struct pair pair = random_pair(suite, ROOT_BYTES);
    struct hal_buffer *part = subspan_of(suite, pair.root, 1000, 5000, "part");
    struct hal_mapping mapping;
    check_ok(suite, hal_buffer_map(part, (uint32_t)mode, 100, HAL_WHOLE_BUFFER, &mapping));
    check_u64(suite, mapping.bytes, 4900);
    check_bytes(suite, mapping.data, pair.model + 1100, 4900);
    memset((uint8_t *)mapping.data + 10, 0x77, 20);
    memset(pair.model + 1110, 0x77, 20);
    check_ok(suite, hal_mapping_flush(&mapping, 10, 20));
    check_ok(suite, hal_mapping_invalidate(&mapping, 0, HAL_WHOLE_BUFFER));
    check_ok(suite, hal_buffer_unmap(&mapping));
    check_buffer(suite, pair.root, 0, pair.model, ROOT_BYTES);
}

/* The buffer behind lives as long as the subspan, and the subspan as long as recorded commands. */
static void outlives(struct suite *suite, uint64_t argument)
{
    struct hal_buffer *root, *part;
    struct hal_buffer *target = suite_buffer(suite, "target", 256);
    uint8_t model[256];
    (void)argument;
    check_ok(suite,
             hal_buffer_create(suite_device(suite),
                               &(struct hal_buffer_desc){.label = "root", .bytes = 4096}, &root));
    check_ok(suite, hal_buffer_subspan(root, 1024, 256, NULL, &part));
    hal_buffer_release(root);
    suite_random_bytes(suite, model, sizeof model);
    suite_write(suite, part, 0, model, sizeof model);
    struct hal_command_buffer *commands = suite_commands(suite, "copy", HAL_REUSABLE);
    check_ok(suite, hal_command_copy(commands, part, 0, target, 0, 256));
    hal_buffer_release(part);
    suite_run(suite, commands);
    check_buffer(suite, target, 0, model, sizeof model);
}

static void shares_properties(struct suite *suite, uint64_t argument)
{
    struct hal_buffer *root = suite_buffer_of(
        suite, suite_device(suite),
        &(struct hal_buffer_desc){.label = "root", .bytes = 64, .usage = HAL_USAGE_TRANSFER});
    struct hal_buffer *part = subspan_of(suite, root, 0, 32, "part");
    struct hal_mapping mapping;
    (void)argument;
    check_fails(suite, hal_buffer_map(part, HAL_MAP_READ, 0, 32, &mapping), HAL_INVALID, "'part'",
                "mapping");
}

static void wrong_ranges(struct suite *suite, uint64_t argument)
{
    struct hal_buffer *root = suite_buffer(suite, "root", 4096), *out = NULL;
    struct hal_buffer *part = subspan_of(suite, root, 4000, 96, "part");
    (void)argument;
    check_fails(suite, hal_buffer_subspan(root, 4097, 0, NULL, &out), HAL_INVALID, "'root'", "4096",
                "4097");
    check_fails(suite, hal_buffer_subspan(root, 4095, 2, NULL, &out), HAL_INVALID, "4095 + 2");
    check_fails(suite, hal_buffer_subspan(root, 0, 0, NULL, &out), HAL_INVALID, "0 bytes");
    check_fails(suite, hal_buffer_subspan(root, 4096, HAL_WHOLE_BUFFER, NULL, &out), HAL_INVALID,
                "0 bytes");
    check_fails(suite, hal_buffer_subspan(part, 90, 7, NULL, &out), HAL_INVALID, "'part'", "96");
    check_fails(suite, hal_buffer_subspan(NULL, 0, 1, NULL, &out), HAL_INVALID, "NULL");
    check(suite, out == NULL);
    struct hal_command_buffer *commands = suite_commands(suite, "too long", HAL_ONE_SHOT);
    check_fails(suite, hal_command_fill(commands, part, 0, 97, 0, 1), HAL_INVALID, "'part'", "96",
                "97");
    check_fails(suite, hal_command_copy(commands, part, 0, root, 4095, 50), HAL_INVALID, "'root'");
}

/* Two names of one range. */
static void overlapping_copies(struct suite *suite, uint64_t argument)
{
    struct hal_buffer *root = suite_buffer(suite, "root", 4096);
    struct hal_buffer *left = subspan_of(suite, root, 0, 2048, "left");
    struct hal_buffer *right = subspan_of(suite, root, 1024, 2048, "right");
    struct hal_command_buffer *commands = suite_commands(suite, "overlap", HAL_ONE_SHOT);
    (void)argument;
    check_fails(suite, hal_command_copy(commands, left, 1000, right, 0, 25), HAL_INVALID,
                "overlap");
    check_fails(suite, hal_command_copy(commands, root, 1024, right, 0, 1), HAL_INVALID, "overlap");
    check_ok(suite, hal_command_copy(commands, left, 1000, right, 0, 24));
    check_ok(suite, hal_command_copy(commands, right, 1024, left, 0, 1024));
}

/* Random transfers through many names, in order, against one array. */
static void random_names(struct suite *suite, uint64_t argument)
{
    enum { NAMES = 12, STEPS = 200 };
    const struct pair pair = random_pair(suite, ROOT_BYTES);
    struct hal_command_buffer *commands = suite_commands(suite, "random", HAL_ONE_SHOT);
    struct hal_buffer *names[NAMES];
    uint64_t begins[NAMES];
    (void)argument;
    for (uint32_t i = 0; i < NAMES; i++) {
        begins[i] = suite_random_below(suite, ROOT_BYTES - 600);
        names[i] = subspan_of(suite, pair.root, begins[i], 600, "name");
    }
    for (uint32_t step = 0; step < STEPS; step++) {
        const uint32_t from = suite_random_below(suite, NAMES),
                       to = suite_random_below(suite, NAMES);
        const uint64_t bytes = 1 + suite_random_below(suite, 300);
        const uint64_t source = suite_random_below(suite, 300),
                       target = suite_random_below(suite, 300);
        const uint64_t a = begins[from] + source, b = begins[to] + target;
        if (a + bytes <= b || b + bytes <= a) {
            check_ok(suite,
                     hal_command_copy(commands, names[from], source, names[to], target, bytes));
            memcpy(pair.model + b, pair.model + a, bytes);
        } else {
            const uint8_t value = (uint8_t)step;
            check_ok(suite, hal_command_fill(commands, names[to], target, bytes, value, 1));
            memset(pair.model + b, value, bytes);
        }
        check_ok(suite, hal_command_barrier(commands, NULL));
    }
    suite_run(suite, commands);
    check_buffer(suite, pair.root, 0, pair.model, ROOT_BYTES);
}

enum { EXPORTED = 20, EXPORT_BYTES = 64 };

/* A half of each of the buffers, as one thread has it. */
struct half {
    struct hal_buffer *parts[EXPORTED];
    uint8_t *places[EXPORTED];
    uint8_t byte;
};

static void export_halves(struct suite *suite, void *user)
{
    struct half *half = user;
    for (size_t i = 0; i < EXPORTED; i++) {
        void *place;
        check_ok(suite, hal_buffer_export(half->parts[i], &place));
        memset(place, half->byte, EXPORT_BYTES / 2);
        half->places[i] = place;
    }
}

/* Threads that have nothing in common but the buffers behind their subspans. */
static void exported_by_threads(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct half *halves = suite_memory(suite, 2 * sizeof *halves);
    struct hal_buffer *roots[EXPORTED];
    uint8_t wanted[EXPORT_BYTES];
    for (size_t i = 0; i < EXPORTED; i++) {
        roots[i] = suite_buffer(suite, "root", EXPORT_BYTES);
        for (uint64_t k = 0; k < 2; k++)
            halves[k].parts[i] = subspan_of(suite, roots[i], k * EXPORT_BYTES / 2, EXPORT_BYTES / 2,
                                            k ? "right" : "left");
    }
    for (uint8_t k = 0; k < 2; k++) {
        halves[k].byte = (uint8_t)(0x10 + k);
        memset(wanted + k * EXPORT_BYTES / 2, 0x10 + k, EXPORT_BYTES / 2);
        suite_thread(suite, export_halves, &halves[k]);
    }
    suite_join(suite);
    for (size_t i = 0; i < EXPORTED; i++) {
        void *all;
        check_ok(suite, hal_buffer_export(roots[i], &all));
        check(suite, halves[0].places[i] == (uint8_t *)all);
        check(suite, halves[1].places[i] == (uint8_t *)all + EXPORT_BYTES / 2);
        check_bytes(suite, all, wanted, EXPORT_BYTES);
    }
}

static const struct suite_case cases[] = {
    SUITE_SIXTEEN("transfers_at_", transfers),
    {"bindings", bindings, 0},
    {"binding_with_offset", binding_with_offset, 0},
    {"nested", nested, 0},
    {"mapped", mapped, HAL_MAP_READ | HAL_MAP_WRITE},
    {"mapped_persistently", mapped, HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT},
    {"exported_by_threads", exported_by_threads, 0},
    {"outlives", outlives, 0},
    {"shares_properties", shares_properties, 0},
    {"wrong_ranges", wrong_ranges, 0},
    {"overlapping_copies", overlapping_copies, 0},
    {"random_names", random_names, 0},
};

const struct suite_area area_subspans = {"subspans", cases, SUITE_COUNT(cases)};
