/* SPDX-License-Identifier: Apache-2.0 */
/* Modules that are refused, damaged modules, and a translator that fails: always an error that
 * names the executable and what is wrong, never harm to the process. */
#include "tests/unit/spirv/broken.comp.h"
#include "tests/unit/spirv/memory.comp.h"
#include "tests/unit/spirv/opencl.spvasm.h"
#include "tests/unit/spirv/spirv_fixture.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Refused -------------------------------------------------------------------------------- */

#define REFUSED(launch, status, text)                                                              \
    do {                                                                                           \
        assert_fails(spirv_status(&(launch)), status, text);                                       \
        assert_non_null(strstr(hal_message(), "test.spv"));                                        \
    } while (0)

TEST(unsupported_modules)
{
    static const struct {
        const void *words;
        size_t bytes;
        enum hal_status status;
        const char *text;
    } cases[] = {
        {spv_image, sizeof spv_image, HAL_UNSUPPORTED, "'picture' (set 0, binding 5)"},
        {spv_sampler, sizeof spv_sampler, HAL_UNSUPPORTED, "'photo' (set 2, binding 1)"},
        {spv_double, sizeof spv_double, HAL_UNSUPPORTED, "Float64"},
        {spv_far_set, sizeof spv_far_set, HAL_UNSUPPORTED, "set 4, binding 0"},
        {spv_far_binding, sizeof spv_far_binding, HAL_UNSUPPORTED, "set 0, binding 31"},
        {spv_buffer_array, sizeof spv_buffer_array, HAL_UNSUPPORTED, "array of buffers"},
        {spv_int64_atomics, sizeof spv_int64_atomics, HAL_UNSUPPORTED, "Int64Atomics"},
        {spv_address, sizeof spv_address, HAL_UNSUPPORTED, "PhysicalStorageBufferAddresses"},
        {spv_too_much_memory, sizeof spv_too_much_memory, HAL_INVALID, "32768"},
        {opencl, sizeof opencl, HAL_UNSUPPORTED, "OpenCL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct spirv_launch launch = {
            .words = cases[i].words, .bytes = cases[i].bytes, .workgroup_size = {8, 1, 1}};
        REFUSED(launch, cases[i].status, cases[i].text);
    }
}

TEST(wrong_entry_points)
{
    REFUSED(((struct spirv_launch){SPIRV_MODULE(spv_add), .workgroup_size = {32, 1, 1}}),
            HAL_INVALID, "64 x 1 x 1");
    REFUSED(((struct spirv_launch){SPIRV_MODULE(spv_add), .entry = "Main"}), HAL_INVALID,
            "entry point 'Main'");
    assert_non_null(strstr(hal_message(), "1 compute entry points: 'main'"));
    REFUSED(((struct spirv_launch){SPIRV_MODULE(spv_spec_group_size), .workgroup_size = {8, 4, 1}}),
            HAL_INVALID, "1 x 1 x 1");
    REFUSED(((struct spirv_launch){SPIRV_MODULE(spv_push), .push_bytes = 8}), HAL_INVALID,
            "16 bytes of push constants");
}

TEST(wrong_constants)
{
    static const struct {
        struct hal_constant constant;
        const char *text;
    } cases[] = {
        {{0, HAL_CONSTANT_FLOAT32, 0}, "constant 0 is a int8; its value is given as float32"},
        {{0, HAL_CONSTANT_INT32, 128}, "from -128 to 127; its value is given as 128"},
        {{0, HAL_CONSTANT_INT32, (uint32_t)-129}, "given as -129"},
        {{1, HAL_CONSTANT_UINT32, 65536}, "from 0 to 65535; its value is given as 65536"},
        {{1, HAL_CONSTANT_INT32, (uint32_t)-1}, "given as -1"},
        {{3, HAL_CONSTANT_INT32, 1}, "constant 3 is a float16"},
        {{4, HAL_CONSTANT_INT32, (uint32_t)-1}, "constant 4 is a uint64"},
        {{0, HAL_CONSTANT_UINT8, 0x80}, "from -128 to 127; its value is given as 128"},
        {{1, HAL_CONSTANT_INT64, UINT64_MAX}, "from 0 to 65535; its value is given as -1"},
        {{1, HAL_CONSTANT_UINT64, UINT64_MAX}, "given as 18446744073709551615"},
        {{0, HAL_CONSTANT_FLOAT16, 0}, "constant 0 is a int8; its value is given as float16"},
        {{2, HAL_CONSTANT_BOOL, 1}, "constant 2 is a int64; its value is given as bool"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct spirv_launch launch = {SPIRV_MODULE(spv_spec_widths),
                                            .constants = &cases[i].constant, .constant_count = 1};
        REFUSED(launch, HAL_INVALID, cases[i].text);
    }
    const struct hal_constant number = {3, HAL_CONSTANT_UINT32, 1};
    REFUSED(((struct spirv_launch){SPIRV_MODULE(spv_spec_scalars), .constants = &number,
                                   .constant_count = 1}),
            HAL_INVALID, "constant 3 is a bool; its value is given as uint32");
    const struct hal_constant twice[] = {{0, HAL_CONSTANT_INT32, 1}, {0, HAL_CONSTANT_INT32, 2}};
    REFUSED(((struct spirv_launch){SPIRV_MODULE(spv_spec_scalars), .constants = twice,
                                   .constant_count = 2}),
            HAL_INVALID, "0 has two values");
}

TEST(missing_bindings)
{
    const struct hal_entry_point entry = {"main", {64, 1, 1}, 4, 0};
    const struct hal_executable_desc desc = {.label = "sets",
                                             .format = HAL_FORMAT_SPIRV,
                                             .data = spv_sets,
                                             .bytes = sizeof spv_sets,
                                             .entry_points = &entry,
                                             .entry_point_count = 1};
    struct hal_device *device = fixture_device("cpu");
    struct hal_executable *executable;
    assert_ok(hal_executable_create(device, &desc, &executable));
    struct hal_buffer *buffer = fixture_buffer(device, NULL, 4096);
    struct hal_command_buffer *commands = fixture_commands(device, "c", HAL_ONE_SHOT);
    struct hal_binding bindings[8] = {{0}};
    bindings[7] = bindings[0] = bindings[2] = (struct hal_binding){buffer, 0, HAL_WHOLE_BUFFER};
    assert_ok(hal_command_push_descriptor_set(commands, 0, bindings, 8));
    assert_ok(hal_command_push_descriptor_set(commands, 1, bindings, 2));
    assert_ok(hal_command_dispatch(commands, executable, 0, (uint32_t[3]){1, 1, 1}));
    assert_fails(hal_command_buffer_end(commands), HAL_INVALID, "binding 2 of descriptor set 1");
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
    hal_executable_release(executable);
    hal_device_release(device);
}

/* ---- Damaged -------------------------------------------------------------------------------- */

TEST(no_modules)
{
    static const uint32_t noise[8] = {0x12345678, 1, 2, 3, 4, 5, 6, 7};
    REFUSED(((struct spirv_launch){.words = noise, .bytes = sizeof noise}), HAL_INVALID,
            "begins with 0x12345678");
    REFUSED(((struct spirv_launch){.words = spv_add, .bytes = 16}), HAL_INVALID, "16 bytes");
    REFUSED(((struct spirv_launch){.words = spv_add, .bytes = sizeof spv_add - 2}), HAL_INVALID,
            "32-bit words");
    uint32_t header[5] = {spv_add[0], spv_add[1], 0, 0, 0};
    REFUSED(((struct spirv_launch){.words = header, .bytes = sizeof header}), HAL_INVALID,
            "bound of ids is 0");
    header[3] = UINT32_MAX;
    REFUSED(((struct spirv_launch){.words = header, .bytes = sizeof header}), HAL_INVALID,
            "bound of ids is 4294967295");
    header[3] = 10;
    REFUSED(((struct spirv_launch){.words = header, .bytes = sizeof header}), HAL_INVALID,
            "not valid");
}

TEST(a_module_of_too_many_bytes)
{
    const size_t bytes = (16 << 20) + 4;
    uint32_t *words = calloc(1, bytes);
    assert_non_null(words);
    words[0] = spv_add[0];
    REFUSED(((struct spirv_launch){.words = words, .bytes = bytes}), HAL_INVALID, "16777216");
    free(words);
}

/* What is cut off or changed may still be a module, but then it is compiled as one. */
static void expect_an_answer(const uint32_t *words, size_t bytes)
{
    const struct spirv_launch launch = {.words = words, .bytes = bytes};
    const enum hal_status status = spirv_status(&launch);
    if (status != HAL_OK && !strstr(hal_message(), "test.spv"))
        fail_msg("%s: '%s' names no executable", hal_status_name(status), hal_message());
}

TEST(cut_modules)
{
    const size_t words = sizeof spv_reduce / 4;
    for (size_t count = 0; count < words; count += 1 + words / 40) {
        const struct spirv_launch launch = {.words = spv_reduce, .bytes = count * 4};
        assert_int_equal(spirv_status(&launch), HAL_INVALID);
    }
}

TEST(damaged_modules)
{
    const char *const text = getenv("HAL_TEST_ROUNDS");
    const int rounds = text ? atoi(text) : 60;
    enum { WORDS = sizeof spv_spec_array / 4 };
    uint32_t words[WORDS];
    for (int round = 0; round < rounds; round++) {
        memcpy(words, spv_spec_array, sizeof words);
        for (uint32_t changes = 1 + spirv_random() % 3; changes > 0; changes--) {
            uint32_t *const word = &words[5 + spirv_random() % (WORDS - 5)];
            *word = spirv_random() % 2 ? *word ^ UINT32_C(1) << spirv_random() % 32
                                       : words[5 + spirv_random() % (WORDS - 5)];
        }
        expect_an_answer(words, sizeof words);
    }
}

/* ---- The translator ------------------------------------------------------------------------- */

static char folder[64];

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *walk)
{
    (void)facts;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/test-spirv-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    unsetenv("HAL_SPIRV_CC");
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A shell script instead of the translator; a new file each time, so that nothing is cached. */
static void pretend(const char *name, const char *commands)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", commands);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    setenv("HAL_SPIRV_CC", path, 1);
}

TEST_WITH(a_translator_that_fails, make_folder, remove_folder)
{
    const struct spirv_launch launch = {SPIRV_MODULE(spv_add)};
    setenv("HAL_SPIRV_CC", "/nonexistent/hal-spirv-cc", 1);
    REFUSED(launch, HAL_NOT_FOUND, "HAL_SPIRV_CC");
    pretend("crashes", "kill -SEGV $$");
    REFUSED(launch, HAL_FAILED, "signal 11");
    pretend("aborts", "echo terminate called >&2; exit 134");
    REFUSED(launch, HAL_FAILED, "exit code 134: terminate called");
    pretend("is_silent", "exit 0");
    REFUSED(launch, HAL_CORRUPT, "damaged");
    pretend("lies", "printf 'haltrace-spirv 3\\nentry a 0 - - 1 9.0\\ntext\\n'");
    REFUSED(launch, HAL_CORRUPT, "damaged");
    pretend("lies_more", "printf 'haltrace-spirv 3\\nentry a 0 77 - 0\\ntext\\n'");
    REFUSED(launch, HAL_CORRUPT, "damaged");
    pretend("writes_no_msl", "printf 'haltrace-spirv 3\\nentry a 0 - - 0\\ntext\\nnonsense\\n'");
    REFUSED(launch, HAL_INVALID, "has no kernel 'a'");
    pretend("talks", "head -c 70000000 /dev/zero");
    REFUSED(launch, HAL_INVALID, "67108864");
    unsetenv("HAL_SPIRV_CC");
    assert_ok(spirv_status(&launch));
}

static int damage_one(const char *path, const struct stat *facts, int kind, struct FTW *walk)
{
    (void)walk;
    const size_t length = strlen(path);
    if (kind == FTW_F && length > 6 && strcmp(path + length - 6, ".spirv") == 0)
        return truncate(path, facts->st_size / 2);
    return 0;
}

TEST_WITH(a_damaged_cache_entry, make_folder, remove_folder)
{
    const char *const usual = getenv("HAL_CACHE_DIR");
    char *const kept = usual ? strdup(usual) : NULL;
    const struct spirv_launch launch = {SPIRV_MODULE(spv_add)};
    setenv("HAL_CACHE_DIR", folder, 1);
    assert_ok(spirv_status(&launch));
    assert_int_equal(nftw(folder, damage_one, 8, FTW_PHYS), 0);
    assert_ok(spirv_status(&launch));
    assert_ok(spirv_status(&launch));
    if (kept)
        setenv("HAL_CACHE_DIR", kept, 1);
    else
        unsetenv("HAL_CACHE_DIR");
    free(kept);
}

TEST_SUITE_FIXTURE(spirv_set_up, spirv_tear_down);
