/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace extract: kernels and contents as files of their own. */
#include "format/tool/support/tool.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "hal/base/output.h"
#include "hal/base/print.h"
#include "hal/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

struct extract {
    struct trace_reader *reader;
    const char *folder; /* for executables */
    bool force;
    struct tool_bases bases;
    uint64_t files;
};

static enum hal_status read_content(struct trace_reader *reader, uint64_t number, uint8_t **out,
                                    size_t *out_bytes)
{
    uint64_t size;
    HAL_TRY(trace_reader_content_size(reader, number, &size));
    *out_bytes = (size_t)size;
    *out = hal_alloc((size_t)size, 1);
    if (!*out)
        return hal_fail(HAL_NO_MEMORY, "no memory for %" PRIu64 " bytes of content %" PRIu64, size,
                        number);
    const enum hal_status status = trace_reader_content(reader, number, *out, (size_t)size);
    if (status != HAL_OK)
        free(*out);
    return status;
}

static enum hal_status write_all(int file, const char *path, const uint8_t *data, size_t bytes)
{
    return hal_write_all(file, data, bytes)
               ? HAL_OK
               : hal_fail(HAL_IO, "cannot write '%s': %s", path, strerror(errno));
}

/* `path` NULL: standard output. */
static enum hal_status save(struct extract *e, uint64_t content, const char *path)
{
    uint8_t *data;
    size_t bytes;
    HAL_TRY(read_content(e->reader, content, &data, &bytes));
    int file = STDOUT_FILENO;
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (e->force ? O_TRUNC : O_EXCL);
    if (path)
        file = open(path, flags, 0666);
    enum hal_status status = HAL_OK;
    if (file < 0)
        status = hal_fail(HAL_IO, "cannot create '%s': %s%s", path, strerror(errno),
                          errno == EEXIST ? " (--force replaces it)" : "");
    else
        status = write_all(file, path ? path : "standard output", data, bytes);
    if (path && file >= 0 && close(file) != 0 && status == HAL_OK)
        status = hal_fail(HAL_IO, "cannot write '%s': %s", path, strerror(errno));
    free(data);
    e->files++;
    return status;
}

/* The label as a part of a file name: a file's own text must not choose a folder. */
static void name_of(const char *label, char *out, size_t bytes)
{
    size_t length = 0;
    for (; *label && length + 1 < bytes; label++) {
        const unsigned char c = (unsigned char)*label;
        const bool kept = isalnum(c) || c == '_' || c == '-' || (c == '.' && length);
        out[length++] = kept ? *label : '_';
    }
    out[length] = '\0';
}

static enum hal_status save_variant(struct extract *e, const struct trace_executable_create *event,
                                    uint64_t content, uint32_t format)
{
    static const char *const endings[] = {"", "metal", "metallib", "spv"};
    const char *label = trace_reader_string(e->reader, event->label);
    char name[100], path[PATH_BYTES];
    name_of(label ? label : "", name, sizeof name);
    const char *ending = format < 4 ? endings[format] : "bin";
    const size_t bytes = strlen(name), known = strlen(ending);
    if (bytes > known + 1 && name[bytes - known - 1] == '.' &&
        strcmp(name + bytes - known, ending) == 0)
        name[bytes - known - 1] = '\0';
    const int length = snprintf(path, sizeof path, "%s/%" PRIu64 "%s%s.%s", e->folder,
                                event->executable, *name ? "-" : "", name, ending);
    if (length < 0 || (size_t)length >= sizeof path)
        return hal_fail(HAL_INVALID, "the folder's path is longer than %d bytes", PATH_BYTES);
    HAL_TRY(save(e, content, path));
    hal_print(stdout, "%s\n", path);
    return HAL_OK;
}

static enum hal_status take(void *user, const struct trace_event *event,
                            const struct trace_segment *segments)
{
    struct extract *e = user;
    (void)segments;
    if (event->kind != TRACE_EXECUTABLE_CREATE || event->status != HAL_OK)
        return HAL_OK;
    const struct trace_executable_create *created = (const void *)event;
    if (created->content)
        HAL_TRY(save_variant(e, created, created->content, created->format));
    for (uint32_t i = 0; i < created->variant_count; i++) {
        const struct trace_variant *variant = &trace_executable_variants(created)[i];
        if (variant->content && variant->format != created->format)
            HAL_TRY(save_variant(e, created, variant->content, variant->format));
    }
    return HAL_OK;
}

static enum hal_status extract_executables(struct extract *e)
{
    if (mkdir(e->folder, 0777) != 0 && errno != EEXIST)
        return hal_fail(HAL_IO, "cannot create '%s': %s", e->folder, strerror(errno));
    HAL_TRY(trace_reader_each(e->reader, take, e));
    if (!e->files)
        return hal_fail(HAL_NOT_FOUND, "the trace has no executables");
    return HAL_OK;
}

/* ---- Files ---- */

struct file_parts {
    struct extract *e;
    const char *path; /* as it was recorded */
    uint64_t ticket;  /* of the last time that it was kept */
    uint64_t bytes;   /* of the whole file then, and how many were written */
    uint64_t done;
    int output;
    const char *name;
};

static bool is_part(const struct file_parts *parts, const struct trace_event *event)
{
    const struct trace_file *file = (const void *)event;
    if (event->kind != TRACE_FILE || !file->part.content || file->part.flags & TRACE_FLAG_DIGEST)
        return false;
    const char *path = trace_reader_string(parts->e->reader, file->part.file);
    return path && strcmp(path, parts->path) == 0;
}

static enum hal_status find_parts(void *user, const struct trace_event *event,
                                  const struct trace_segment *segments)
{
    struct file_parts *parts = user;
    (void)segments;
    if (is_part(parts, event) && event->ticket > parts->ticket) {
        parts->ticket = event->ticket;
        parts->bytes = TRACE_AS(trace_file, event)->file_bytes;
    }
    return HAL_OK;
}

/* One thread recorded them, in order. */
static enum hal_status write_part(void *user, const struct trace_event *event,
                                  const struct trace_segment *segments)
{
    struct file_parts *parts = user;
    const struct trace_file *file = (const void *)event;
    uint8_t *data;
    size_t bytes;
    (void)segments;
    if (!is_part(parts, event) || event->ticket != parts->ticket)
        return HAL_OK;
    if (file->part.file_offset != parts->done)
        return hal_fail(HAL_CORRUPT, "file '%s' goes on at %" PRIu64 ", and %s there", parts->path,
                        file->part.file_offset,
                        hal_count(parts->done, "byte is", "bytes are").text);
    HAL_TRY(read_content(parts->e->reader, file->part.content, &data, &bytes));
    const enum hal_status status = write_all(parts->output, parts->name, data, bytes);
    free(data);
    parts->done += bytes;
    return status;
}

/* `output` NULL: standard output. */
static enum hal_status extract_file(struct extract *e, const char *path, const char *output)
{
    struct file_parts parts = {
        .e = e, .path = path, .output = STDOUT_FILENO, .name = output ? output : "standard output"};
    HAL_TRY(trace_reader_each(e->reader, find_parts, &parts));
    if (!parts.ticket)
        return hal_fail(HAL_NOT_FOUND,
                        "the trace has no contents of file '%s': to record the files that queues "
                        "read, capture with --device_profiling_files=all",
                        path);
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (e->force ? O_TRUNC : O_EXCL);
    if (output && (parts.output = open(output, flags, 0666)) < 0)
        return hal_fail(HAL_IO, "cannot create '%s': %s%s", output, strerror(errno),
                        errno == EEXIST ? " (--force replaces it)" : "");
    enum hal_status status = trace_reader_each(e->reader, write_part, &parts);
    if (output && close(parts.output) != 0 && status == HAL_OK)
        status = hal_fail(HAL_IO, "cannot write '%s': %s", output, strerror(errno));
    if (status == HAL_OK && parts.done != parts.bytes)
        status = hal_fail(HAL_FAILED, "the trace has %" PRIu64 " of the %s of file '%s'",
                          parts.done, hal_count(parts.bytes, "byte", "bytes").text, path);
    return status;
}

static int extract(const char *path, struct extract *e, const char *file, uint64_t content,
                   const char *output)
{
    enum hal_status status = tool_open(path, &e->bases, &e->reader);
    if (status != HAL_OK)
        return tool_fail(status);
    if (e->folder)
        status = extract_executables(e);
    else if (file)
        status = extract_file(e, file, output);
    else
        status = save(e, content, output);
    if (status == HAL_OK)
        status = hal_output_end();
    const int code = tool_fail(status);
    trace_reader_close(e->reader);
    return code;
}

struct arguments {
    struct extract e;
    const char *file, *output;
    uint64_t content;
};

static enum hal_status take_content(void *user, const struct hal_option *option, char *value)
{
    const struct arguments *a = user;
    if (tool_take_number(user, option, value) == HAL_OK && a->content)
        return HAL_OK;
    return hal_fail(HAL_INVALID, "--content=%s: not a positive number", value);
}

static const struct hal_option options[] = {
    {.name = "executables",
     .argument = "FOLDER",
     .help = "created if it does not exist",
     .target = offsetof(struct arguments, e.folder)},
    {.name = "content",
     .argument = "N",
     .help = "default: standard output",
     .take = take_content,
     .target = offsetof(struct arguments, content)},
    {.name = "file",
     .argument = "PATH",
     .help = "likewise",
     .target = offsetof(struct arguments, file)},
    {.name = "output",
     .letter = 'o',
     .argument = "OUTPUT",
     .help = "where to",
     .target = offsetof(struct arguments, output)},
    {.name = "force",
     .letter = 'f',
     .help = "replace existing files",
     .target = offsetof(struct arguments, e.force)},
    TOOL_BASE_OPTION(struct arguments, e.bases),
    {0},
};

static int run(char **argv)
{
    struct arguments a = {0};
    struct tool_words words;
    if (!tool_parse(&tool_extract, argv, &a, &words))
        return words.exit_status;
    if (!!a.e.folder + !!a.content + !!a.file != 1 || (a.e.folder && a.output)) {
        tool_error("extract: either --executables=FOLDER, or --content=N [-o FILE], or "
                   "--file=PATH [-o FILE] (see hal-trace extract --help)");
        return TOOL_USAGE;
    }
    if (!a.e.folder && !a.output && isatty(STDOUT_FILENO)) {
        tool_error("extract: contents cannot be printed to a terminal: use -o OUTPUT");
        return TOOL_USAGE;
    }
    const char *path = tool_one_file(&tool_extract, &words);
    return path ? extract(path, &a.e, a.file, a.content, a.output) : TOOL_USAGE;
}

const struct tool_command tool_extract = {
    .name = "extract",
    .group = TOOL_CONVERTS,
    .summary = "write kernels and contents to files",
    .usage =
        "usage: hal-trace extract --executables=FOLDER [--force] FILE\n"
        "       hal-trace extract --content=N [-o OUTPUT] [--force] FILE\n"
        "       hal-trace extract --file=PATH [-o OUTPUT] [--force] FILE\n"
        "\n"
        "Writes the source or binary of every executable into the folder, as NUMBER-LABEL.metal,\n"
        ".metallib or .spv, and prints the names; or one content, by the number that dump shows; "
        "or a\n"
        "file that queues read, by its path at that time (--device_profiling_files=all).\n",
    .options = options,
    .run = run,
};
