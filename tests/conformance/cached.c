/* SPDX-License-Identifier: Apache-2.0 */
/* For cases of executable caches: directories of their own, and sources. */
#include "tests/conformance/cached.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

static void make_place(struct suite *suite, struct place *place)
{
    snprintf(place->path, sizeof place->path, "%s", suite_folder(suite));
}

size_t cached_clean(const char *path)
{
    size_t files = 0;
    DIR *const directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char inner[2 * PATH_BYTES];
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        files += unlink(inner) == 0;
    }
    if (directory)
        closedir(directory);
    rmdir(path);
    return files;
}

const char *cached_failed(char *room, int line, const char *what)
{
    snprintf(room, 512, "line %d: %s (%.300s)", line, what, hal_message());
    return room;
}

void cached_run(struct suite *suite, uint64_t max_bytes,
                const char *(*body)(struct cached *cached, char *room))
{
    char room[512];
    struct cached cached = {.suite = suite};
    make_place(suite, &cached.place);
    const struct hal_executable_cache_desc desc = {
        .label = "kept", .directory = cached.place.path, .max_bytes = max_bytes};
    const enum hal_status status =
        hal_executable_cache_create(suite_device(suite), &desc, &cached.cache);
    const char *problem = status == HAL_OK ? body(&cached, room) : NULL;
    hal_executable_cache_release(cached.cache);
    cached_clean(cached.place.path);
    if (status == HAL_UNSUPPORTED)
        suite_skip(suite, "the device keeps no executables");
    check_ok(suite, status);
    if (problem)
        suite_fail(suite, __FILE__, __LINE__, "%s", problem);
}

void source_write(struct suite *suite, struct source *source, uint32_t number)
{
    snprintf(source->text, sizeof source->text,
             "#include <metal_stdlib>\nusing namespace metal;\n"
             "kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
             "{ x[i] += %u; }\n",
             number);
    const struct hal_executable_variant variant = suite_variant(suite, source->text, MODULE_ADDER);
    source->entry = (struct hal_entry_point){suite_entry(suite, "k"), {4, 1, 1}, 0, 0};
    source->constant = (struct hal_constant){0, HAL_CONSTANT_UINT32, number};
    source->desc =
        (struct hal_executable_desc){.label = "adder",
                                     .format = variant.format,
                                     .data = variant.data,
                                     .bytes = variant.bytes,
                                     .constants = &source->constant,
                                     .constant_count = variant.format == HAL_FORMAT_SPIRV,
                                     .entry_points = &source->entry,
                                     .entry_point_count = 1};
}

bool source_adds(struct suite *suite, struct hal_executable *executable, uint32_t number)
{
    uint32_t words[4];
    struct hal_buffer *x = suite_buffer(suite, "x", sizeof words);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    const struct hal_binding binding = {x, 0, HAL_WHOLE_BUFFER};
    suite_clear(suite, x, 0);
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, &binding, 1));
    check_ok(suite, hal_command_dispatch(commands, executable, 0, (const uint32_t[3]){1, 1, 1}));
    suite_run(suite, commands);
    suite_read(suite, x, 0, words, sizeof words);
    for (size_t i = 0; i < 4; i++) {
        if (words[i] != number)
            return false;
    }
    return true;
}

bool cached_prepare_one(struct cached *cached, const struct hal_executable_desc *desc,
                        bool *out_kept)
{
    struct hal_executable *executable;
    struct hal_executable_info info = {0};
    if (hal_executable_cache_prepare(cached->cache, desc, 1, NULL, &executable, NULL) != HAL_OK)
        return false;
    const enum hal_status status = hal_executable_get_info(executable, &info);
    *out_kept = info.from_cache;
    hal_executable_release(executable);
    return status == HAL_OK;
}
