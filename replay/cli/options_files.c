/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options that name files to read, places in the trace, and files to write. */
#include "replay/cli/options_values.h"

#include "hal/base/mem.h"
#include "hal/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Files --------------------------------------------------------------------------------- */

bool replay_take_map(char *text, struct replay_program *program)
{
    char *equals = strchr(text, '=');
    if (program->replay.map_count == REPLAY_MOST_MAPS)
        return replay_option_error("map", text, "at most 16 are supported");
    if (!equals || equals == text)
        return replay_option_error("map", text, "not OLD=NEW");
    *equals = '\0';
    program->maps[program->replay.map_count++] =
        (struct replay_path_map){.from = text, .to = equals + 1};
    return true;
}

bool replay_take_base(char *text, struct replay_program *program)
{
    if (program->load.base_count == TRACE_MAX_BASES)
        return replay_option_error("base", text, "at most 8 are supported");
    if (!text[0])
        return replay_option_error("base", text, "not a trace");
    program->bases[program->load.base_count++] = text;
    return true;
}

bool replay_take_symbols(char *text, struct replay_program *program)
{
    if (program->load.symbol_count == REPLAY_MOST_SYMBOLS)
        return replay_option_error("symbols", text, "at most 16 are supported");
    if (access(text, R_OK) != 0)
        return replay_option_error("symbols", text, strerror(errno));
    program->symbols[program->load.symbol_count++] = text;
    return true;
}

/* The user chose the file, so it is read here, outside of the sandbox. */
static bool read_file(const char *option, const char *text, const char *path, uint8_t **out_data,
                      size_t *out_bytes)
{
    FILE *file = fopen(path, "rb");
    void *data = NULL;
    size_t used = 0, capacity = 0, got = 1;
    while (file && got > 0) {
        if (!hal_grow(&data, &capacity, used + 65536, 1)) {
            errno = ENOMEM;
            break;
        }
        got = fread((uint8_t *)data + used, 1, capacity - used, file);
        used += got;
    }
    const bool good = file && got == 0 && !ferror(file);
    const int error = errno;
    if (file)
        fclose(file);
    if (!good) {
        free(data);
        return replay_option_error(option, text, strerror(error));
    }
    *out_data = data;
    *out_bytes = used;
    return true;
}

/* Cuts NAME=FILE in two. */
static bool parse_named_file(const char *option, char *text, size_t count, uint8_t **out_data,
                             size_t *out_bytes)
{
    char *equals = strchr(text, '=');
    if (count == REPLAY_MOST_SUBSTITUTES)
        return replay_option_error(option, text, "at most 16 are supported");
    if (!equals || equals == text || !equals[1])
        return replay_option_error(option, text, "not NAME=FILE");
    if (!read_file(option, text, equals + 1, out_data, out_bytes))
        return false;
    *equals = '\0';
    return true;
}

static bool add_substitute(const char *option, char *text, struct replay_program *program)
{
    struct replay_substitute *substitute =
        &program->substitutes[program->replay.substitute_count % REPLAY_MOST_SUBSTITUTES];
    uint8_t *data = NULL;
    if (!parse_named_file(option, text, program->replay.substitute_count, &data,
                          &substitute->bytes))
        return false;
    substitute->kernel = text;
    substitute->data = data;
    if (hal_executable_infer_format(data, substitute->bytes, &substitute->format) != HAL_OK) {
        text[strlen(text)] = '='; /* whole again */
        return replay_option_error(option, text, "the file is not MSL, SPIR-V or a metallib");
    }
    program->replay.substitute_count++;
    return true;
}

bool replay_take_substitute(char *text, struct replay_program *program)
{
    return add_substitute("substitute", text, program);
}

bool replay_take_substitute_buffer(char *text, struct replay_program *program)
{
    struct replay_buffer_substitute *substitute =
        &program->buffers[program->replay.buffer_count % REPLAY_MOST_SUBSTITUTES];
    uint8_t *data;
    size_t bytes;
    if (!parse_named_file("substitute-buffer", text, program->replay.buffer_count, &data, &bytes))
        return false;
    *substitute = (struct replay_buffer_substitute){text, data, bytes};
    program->replay.buffer_count++;
    return true;
}

/* A trace of that name, else KERNEL=FILE. */
bool replay_take_compare(char *text, struct replay_program *program)
{
    program->compare = text;
    if (access(text, F_OK) == 0)
        return true;
    program->compare_substitute = true;
    free(program->compare_text);
    program->compare_text = hal_copy_string(text); /* cut in two later */
    return strchr(text, '=') ||
           replay_option_error("compare", text, "neither a trace nor KERNEL=FILE");
}

bool replay_take_other_kernel(struct replay_program *program)
{
    struct replay_substitute *const all = program->substitutes;
    if (!add_substitute("compare", program->compare_text, program))
        return false;
    const size_t last = program->replay.substitute_count - 1;
    const struct replay_substitute other = all[last];
    memmove(all + 1, all, last * sizeof *all);
    all[0] = other;
    return true;
}

/* ---- Places -------------------------------------------------------------------------------- */

static bool parse_place(const char *option, const char *text, struct hal_locator *out_locator)
{
    return hal_locator_parse(text, out_locator) == HAL_OK ||
           replay_option_error(option, text, hal_message());
}

bool replay_take_stop(char *text, struct replay_program *program)
{
    program->look.has_stop = true;
    return parse_place("stop-at", text, &program->look.stop);
}

bool replay_take_loop(char *text, struct replay_program *program)
{
    program->look.has_loop = true;
    if (!parse_place("loop", text, &program->look.loop))
        return false;
    return program->look.loop.has_dispatch ||
           replay_option_error("loop", text, "not a dispatch, such as #s12.d40");
}

bool replay_take_range(char *text, struct replay_program *program)
{
    struct replay_inspect *look = &program->look;
    struct hal_locator_range range;
    if (hal_locator_range_parse(text, &range, NULL) != HAL_OK)
        return replay_option_error("range", text, hal_message());
    look->is_range = true;
    look->has_begin = range.has_first;
    look->begin = range.first;
    look->has_stop = range.has_last;
    look->stop = range.last;
    return true;
}

static bool ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool add_output(const char *option, const char *path, struct replay_program *program,
                       size_t *out_index)
{
    if (program->output_count == REPLAY_MOST_OUTPUTS)
        return replay_option_error(option, path, "at most 8 files can be written");
    *out_index = program->output_count;
    program->outputs[program->output_count++] = path;
    return true;
}

/* Splits BUFFER@PLACE=FILE at the first '@' that a locator follows: labels may contain '@', too.
 * False: malformed; if something is there instead of a locator, the message is about that. */
static bool cut_dump(char *text, struct replay_dump *out_dump, const char **out_message)
{
    *out_message = "not BUFFER@PLACE=FILE, such as result@#s12.d40=out.npy";
    for (char *at = strchr(text, '@'); at; at = strchr(at + 1, '@')) {
        char *const equals = strchr(at, '=');
        if (at == text || !equals || !equals[1])
            continue;
        *equals = '\0';
        if (hal_locator_parse(at + 1, &out_dump->where) == HAL_OK) {
            *at = '\0';
            out_dump->buffer = text;
            out_dump->path = equals + 1;
            return true;
        }
        *equals = '=';
        *out_message = hal_message();
    }
    return false;
}

bool replay_take_dump(char *text, struct replay_program *program)
{
    struct replay_inspect *look = &program->look;
    if (look->dump_count == REPLAY_MOST_DUMPS)
        return replay_option_error("dump", text, "at most 8 are supported");
    struct replay_dump *dump = &program->dumps[look->dump_count];
    const char *message;
    if (!cut_dump(text, dump, &message))
        return replay_option_error("dump", text, message);
    dump->format = ends_in(dump->path, ".npy")   ? REPLAY_DUMP_NPY
                   : ends_in(dump->path, ".txt") ? REPLAY_DUMP_TEXT
                                                 : REPLAY_DUMP_RAW;
    return add_output("dump", dump->path, program, &program->dump_outputs[look->dump_count++]);
}

bool replay_take_record(char *text, struct replay_program *program)
{
    program->record = text;
    return (text[0] || replay_option_error("record", text, "not a file")) &&
           add_output("record", text, program, &program->record_output);
}

static bool is_same_file(const char *left, const char *right)
{
    struct stat a, b;
    return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

bool replay_keeps_its_input(const struct replay_program *program)
{
    for (size_t i = 0; i < program->output_count; i++) {
        const char *const output = program->outputs[i];
        bool is_read = is_same_file(output, program->path);
        for (size_t k = 0; k < program->load.base_count; k++)
            is_read |= is_same_file(output, program->bases[k]);
        if (!is_read)
            continue;
        return hal_fail(HAL_INVALID, "'%s' would be replaced: it is a trace that this replay reads",
                        output) == HAL_OK;
    }
    return true;
}

bool replay_take_minimal(char *text, struct replay_program *program)
{
    program->minimal = text;
    return (text[0] || replay_option_error("minimal", text, "not a file")) &&
           add_output("minimal", text, program, &program->repro_output);
}
