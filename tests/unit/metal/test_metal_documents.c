/* SPDX-License-Identifier: Apache-2.0 */
/* Captures by Metal itself (.gputrace documents), and what the emulation writes into them:
 * encoders, commands, labels and debug groups, as Metal was given them. */
#include "tests/support/hal_fixture.h"
#include "tests/support/own_folder.h"

#include <sys/stat.h>

/* Which of its two variables a Metal reads depends on its version: the message names both. */
TEST(documents_need_metals_permission)
{
    static const char *const variables[] = {"MTL_CAPTURE_ENABLED", "METAL_CAPTURE_ENABLED"};
    char file[PATH_MAX];
    struct hal_device *device = fixture_device("metal");
    const struct hal_profiling_options options = {
        .file = test_folder_file(&folder, "no.gputrace", file), .force = true};
    for (size_t i = 0; i < 2; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, " %s=1", variables[i]);
        unsetenv(variables[1 - i]);
        setenv(variables[i], "0", 1);
        assert_fails(hal_device_profiling_begin(device, &options, HAL_FOREVER), HAL_UNSUPPORTED,
                     wanted);
        setenv(variables[i], "1", 1);
        assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
        assert_ok(hal_device_profiling_end(device));
        unsetenv(variables[i]);
    }
    hal_device_release(device);
}

/* Also with force, when there will be no new one: Metal captures already, or does not capture. */
static void keeps_old_documents(struct hal_device *device, const char *file)
{
    char second[PATH_MAX];
    struct stat status;
    struct hal_device *busy = fixture_device("metal");
    struct hal_profiling_options options = {.file =
                                                test_folder_file(&folder, "busy.gputrace", second)};
    assert_ok(hal_device_profiling_begin(busy, &options, HAL_FOREVER));
    options = (struct hal_profiling_options){.file = file, .force = true};
    assert_fails(hal_device_profiling_begin(device, &options, HAL_FOREVER), HAL_EXISTS,
                 "one capture at a time");
    assert_int_equal(stat(file, &status), 0);
    assert_ok(hal_device_profiling_end(busy));
    hal_device_release(busy);
    unsetenv("METAL_CAPTURE_ENABLED");
    assert_fails(hal_device_profiling_begin(device, &options, HAL_FOREVER), HAL_UNSUPPORTED,
                 "METAL_CAPTURE_ENABLED=1");
    assert_int_equal(stat(file, &status), 0);
    setenv("METAL_CAPTURE_ENABLED", "1", 1);
}

TEST(metal_writes_documents)
{
    char file[PATH_MAX];
    struct stat status;
    struct hal_device *device = fixture_device("metal"), *other = fixture_device("metal");
    struct hal_profiling_options options = {.file = test_folder_file(&folder, "t.gputrace", file)};
    setenv("METAL_CAPTURE_ENABLED", "1", 1);
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
    assert_fails(hal_device_profiling_begin(device, &options, HAL_FOREVER), HAL_EXISTS,
                 "already being captured");
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
                 "one capture at a time");
    assert_int_equal(lstat(second, &status), -1);
    hal_device_release(device); /* ends it */
    keeps_old_documents(other, file);
    options.file = test_folder_file(&folder, "no/such/folder/t.gputrace", file);
    assert_int_not_equal(hal_device_profiling_begin(other, &options, HAL_FOREVER), HAL_OK);
    assert_non_null(strstr(hal_message(), "no/such/folder"));
    unsetenv("METAL_CAPTURE_ENABLED");
    hal_device_release(other);
}

/* How many encoders of the document have so many dispatches. */
static unsigned count_encoders(const char *file, unsigned wanted)
{
    char path[PATH_MAX + 32], line[256];
    unsigned count = 0, dispatches;
    snprintf(path, sizeof path, "%s/host-metal.txt", file);
    FILE *notes = fopen(path, "r");
    assert_non_null(notes);
    while (fgets(line, sizeof line, notes))
        if (strstr(line, "encoder '") &&
            sscanf(strrchr(line, '\'') + 1, ": %u dispatches", &dispatches) == 1)
            count += dispatches == wanted;
    fclose(notes);
    return count;
}

static void run_captured(const char *uri, const char *file)
{
    enum { DISPATCHES = 3 };
    static const char source[] = "kernel void f(device uint *x [[buffer(0)]]) { x[0] = 1; }\n";
    struct hal_device *device = fixture_device(uri);
    struct hal_buffer *buffer = fixture_buffer(device, "x", 64);
    struct hal_executable *executable = fixture_executable(device, source);
    struct hal_command_buffer *commands = fixture_commands(device, "three", HAL_ONE_SHOT);
    const struct hal_profiling_options options = {.file = file};
    for (uint64_t i = 0; i < DISPATCHES; i++) {
        const struct hal_binding binding = {buffer, 16 * i, 4};
        assert_ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
        assert_ok(hal_command_dispatch(commands, executable, 0, (uint32_t[3]){1, 1, 1}));
    }
    setenv("METAL_CAPTURE_ENABLED", "1", 1);
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
    fixture_run(device, commands);
    assert_ok(hal_device_profiling_end(device));
    unsetenv("METAL_CAPTURE_ENABLED");
    hal_command_buffer_release(commands);
    hal_executable_release(executable);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

/* Three dispatches without a barrier share an encoder, or each has one. */
TEST(isolated_dispatches_have_their_own_encoders)
{
    char file[PATH_MAX];
    run_captured("metal", test_folder_file(&folder, "shared.gputrace", file));
    assert_int_equal(count_encoders(file, 3), 1);
    assert_int_equal(count_encoders(file, 1), 0);
    run_captured("metal?isolate=1", test_folder_file(&folder, "isolated.gputrace", file));
    assert_int_equal(count_encoders(file, 3), 0);
    assert_int_equal(count_encoders(file, 1), 3);
}

/* ---- Labels --------------------------------------------------------------------------------- */

enum { GROUPS = 40, GROUPED_BYTES = 4096, QUOTED_BYTES = 64 };

static const char *group_name(size_t depth)
{
    return depth % 2 ? "odd" : "\xC3\xA9ven";
}

/* Groups that span encoders of both kinds, nest deeply and stay open over barriers: what is
 * encoded at depth i + 1 is a blit and then a kernel of the driver's. */
static void record_groups(struct hal_command_buffer *commands, struct hal_buffer *buffer)
{
    for (size_t i = 0; i < GROUPS; i++) {
        assert_ok(hal_command_debug_begin(commands, group_name(i), 0));
        assert_ok(hal_command_fill(commands, buffer, 0, GROUPED_BYTES, (uint32_t)i, 1));
        assert_ok(hal_command_barrier(commands, NULL));
        assert_ok(hal_command_fill(commands, buffer, 1, 2, 7, 1));
        assert_ok(hal_command_barrier(commands, NULL));
    }
    for (size_t i = 0; i < GROUPS; i++)
        assert_ok(hal_command_debug_end(commands));
}

/* What stands behind `word` in a line of Metal's document, between quotes. */
static bool quoted(const char *line, const char *word, char out[QUOTED_BYTES])
{
    char format[64];
    snprintf(format, sizeof format, " %s '%%%d[^']'", word, QUOTED_BYTES - 1);
    return sscanf(line, format, out) == 1;
}

struct open_groups {
    char names[GROUPS][QUOTED_BYTES];
    size_t depth;
};

/* The command is inside the groups of the application that it was recorded in. */
static void check_groups(const struct open_groups *groups, size_t wanted)
{
    assert_int_equal(groups->depth, wanted);
    for (size_t i = 0; i < wanted; i++)
        assert_string_equal(groups->names[i], group_name(i));
}

/* One line of what stands under an encoder; counts its commands. */
static void check_line(const char *line, struct open_groups *groups, size_t *command)
{
    char text[QUOTED_BYTES];
    if (quoted(line, "push", text)) {
        assert_true(groups->depth < GROUPS);
        strcpy(groups->names[groups->depth++], text);
    } else if (strstr(line, "    pop")) {
        assert_true(groups->depth > 0);
        groups->depth--;
    } else if (quoted(line, "fill", text) || strstr(line, "    dispatch '")) {
        if (*command % 2 == 0)
            assert_string_equal(text, "grouped bytes"); /* the buffer's label */
        else
            assert_non_null(strstr(line, "    dispatch '"));
        check_groups(groups, *command / 2 + 1);
        ++*command;
    }
}

static void check_document(const char *file)
{
    char path[PATH_MAX + 32], line[256];
    struct open_groups groups = {.depth = 0};
    size_t command = 0, encoders = 0, labelled = 0;
    snprintf(path, sizeof path, "%s/host-metal.txt", file);
    FILE *notes = fopen(path, "r");
    assert_non_null(notes);
    while (fgets(line, sizeof line, notes)) {
        labelled += strcmp(line, "HMCommandBuffer 'command buffer \'groups\'' on 'queue 0'\n") == 0;
        if (strncmp(line, "  encoder '", 11) == 0) {
            assert_int_equal(groups.depth, 0); /* each closes what it has */
            assert_non_null(strstr(line, "  encoder 'command buffer \'groups\''"));
            encoders++;
        }
        check_line(line, &groups, &command);
    }
    fclose(notes);
    assert_int_equal(groups.depth, 0);
    assert_int_equal(command, 2 * GROUPS);
    assert_int_equal(encoders, 2 * GROUPS);
    assert_int_equal(labelled, 1);
}

TEST(debug_groups_span_encoders)
{
    char file[PATH_MAX];
    struct hal_device *device = fixture_device("metal");
    struct hal_buffer *buffer = fixture_buffer(device, "grouped bytes", GROUPED_BYTES);
    struct hal_command_buffer *commands = fixture_commands(device, "groups", HAL_ONE_SHOT);
    const struct hal_profiling_options options = {
        .file = test_folder_file(&folder, "groups.gputrace", file)};
    uint8_t bytes[4];
    record_groups(commands, buffer);
    setenv("METAL_CAPTURE_ENABLED", "1", 1);
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
    fixture_run(device, commands);
    assert_ok(hal_device_profiling_end(device));
    unsetenv("METAL_CAPTURE_ENABLED");
    check_document(file);
    assert_ok(hal_buffer_read(buffer, 0, bytes, sizeof bytes));
    assert_memory_equal(bytes, ((const uint8_t[]){GROUPS - 1, 7, 7, GROUPS - 1}), sizeof bytes);
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

TEST_SUITE_FIXTURE(make_folder, remove_folder);
