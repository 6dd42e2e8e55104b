/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads what hal-spirv-cc answers. The reader believes nothing: the writer may have
 * been taken over by a module. */
#include "hal/compiler/spirv/answer.h"

#include "hal/base/mem.h"

#include <ctype.h>
#include <string.h>

static const char magic[] = "haltrace-spirv 3\n";

/* ---- Writing -------------------------------------------------------------------------------- */

void spirv_answer_begin(struct msl_text *text)
{
    msl_text_append_string(text, magic);
}

void spirv_answer_add_constant(struct msl_text *text, uint32_t id, uint32_t type, const char *name)
{
    if (name[0])
        msl_text_print(text, "constant %u %u %s\n", id, type, name);
    else
        msl_text_print(text, "constant %u %u constant %u\n", id, type, id);
}

static void add_slot(struct msl_text *text, uint32_t slot)
{
    if (slot == SPIRV_NO_SLOT)
        msl_text_append_string(text, " -");
    else
        msl_text_print(text, " %u", slot);
}

void spirv_answer_add(struct msl_text *text, const struct spirv_entry *entry)
{
    msl_text_print(text, "entry %s %u", entry->kernel, entry->constant_bytes);
    add_slot(text, entry->constants_slot);
    add_slot(text, entry->sizes_slot);
    msl_text_print(text, " %u", entry->binding_count);
    for (uint32_t i = 0; i < entry->binding_count; i++) {
        const struct spirv_binding *binding = &entry->bindings[i];
        msl_text_print(text, " %u.%u", binding->set, binding->binding);
        if (binding->is_uniform)
            msl_text_print(text, "u%u", binding->bytes);
        else if (binding->access)
            msl_text_append_string(text, binding->access & SPIRV_WRITE ? "w" : "r");
    }
    msl_text_append_string(text, "\n");
}

/* ---- Reading -------------------------------------------------------------------------------- */

struct reader {
    const char *at, *end;
};

static bool skip(struct reader *reader, const char *expected)
{
    const size_t length = strlen(expected);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, expected, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static bool read_number(struct reader *reader, uint32_t limit, uint32_t *out_number)
{
    uint64_t number = 0;
    const char *const first = reader->at;
    while (reader->at < reader->end && isdigit((unsigned char)*reader->at) && number <= limit)
        number = number * 10 + (uint64_t)(*reader->at++ - '0');
    *out_number = (uint32_t)number;
    return reader->at > first && number <= limit;
}

static bool read_slot(struct reader *reader, uint32_t *out_slot)
{
    *out_slot = SPIRV_NO_SLOT;
    return skip(reader, " -") ||
           (skip(reader, " ") && read_number(reader, SPIRV_MAX_BINDINGS - 1, out_slot));
}

static bool read_kernel(struct reader *reader, char *out_kernel)
{
    size_t length = 0;
    for (; reader->at < reader->end && length + 1 < SPIRV_KERNEL_NAME_BYTES; length++) {
        if (!isalnum((unsigned char)*reader->at) && *reader->at != '_')
            break;
        out_kernel[length] = *reader->at++;
    }
    out_kernel[length] = '\0';
    return length > 0;
}

/* What follows its place. */
static bool read_binding(struct reader *reader, struct spirv_binding *binding)
{
    binding->is_uniform = skip(reader, "u");
    if (binding->is_uniform) {
        binding->access = SPIRV_READ;
        return read_number(reader, UINT32_MAX, &binding->bytes);
    }
    if (skip(reader, "w"))
        binding->access = SPIRV_READ | SPIRV_WRITE;
    else if (skip(reader, "r"))
        binding->access = SPIRV_READ;
    return true;
}

static bool read_entry(struct reader *reader, struct spirv_entry *entry, char *kernel)
{
    entry->kernel = kernel;
    if (!skip(reader, "entry ") || !read_kernel(reader, kernel) || !skip(reader, " ") ||
        !read_number(reader, UINT16_MAX, &entry->constant_bytes) ||
        !read_slot(reader, &entry->constants_slot) || !read_slot(reader, &entry->sizes_slot) ||
        !skip(reader, " ") || !read_number(reader, SPIRV_MAX_BINDINGS, &entry->binding_count))
        return false;
    for (uint32_t i = 0; i < entry->binding_count; i++) {
        uint32_t set, binding;
        if (!skip(reader, " ") || !read_number(reader, SPIRV_MAX_SETS - 1, &set) ||
            !skip(reader, ".") || !read_number(reader, SPIRV_MAX_BINDINGS - 1, &binding))
            return false;
        entry->bindings[i] = (struct spirv_binding){
            .set = (uint8_t)set, .binding = (uint8_t)binding, .slot = (uint8_t)i};
        if (!read_binding(reader, &entry->bindings[i]))
            return false;
    }
    return skip(reader, "\n");
}

static bool read_constant(struct reader *reader, struct spirv_constant_info *constant, char *name)
{
    uint32_t type;
    if (!read_number(reader, UINT32_MAX, &constant->id) || !skip(reader, " ") ||
        !read_number(reader, SPIRV_UINT64, &type) || !skip(reader, " "))
        return false;
    size_t length = 0;
    for (; reader->at < reader->end && *reader->at != '\n'; reader->at++) {
        if ((unsigned char)*reader->at < ' ' || length + 1 >= SPIRV_CONSTANT_NAME_BYTES)
            return false;
        name[length++] = *reader->at;
    }
    name[length] = '\0';
    constant->name = name;
    constant->type = (enum spirv_constant_type)type;
    return skip(reader, "\n");
}

static size_t count_constants(struct reader reader)
{
    size_t count = 0;
    while (skip(&reader, "constant ")) {
        const char *const end = memchr(reader.at, '\n', (size_t)(reader.end - reader.at));
        if (!end)
            break;
        reader.at = end + 1;
        count++;
    }
    return count;
}

static bool read_all(struct reader *reader, struct spirv_translation *translation, char *names)
{
    for (size_t i = 0; i < translation->constant_count; i++)
        if (!skip(reader, "constant ") || !read_constant(reader, &translation->constants[i],
                                                         names + i * SPIRV_CONSTANT_NAME_BYTES))
            return false;
    names += translation->constant_count * SPIRV_CONSTANT_NAME_BYTES;
    for (size_t i = 0; i < translation->entry_count; i++)
        if (!read_entry(reader, &translation->entries[i], names + i * SPIRV_KERNEL_NAME_BYTES))
            return false;
    return skip(reader, SPIRV_ANSWER_TEXT "\n");
}

/* One block: the translation, its entries, its constants, names of both, the text. */
enum hal_status spirv_answer_read(const char *text, size_t bytes, size_t entry_count,
                                  struct spirv_translation **out_translation)
{
    struct reader reader = {text, text + bytes};
    if (!skip(&reader, magic))
        return hal_fail(HAL_CORRUPT, "the translation is damaged");
    const size_t constant_count = count_constants(reader);
    if (constant_count > SPIRV_MAX_CONSTANTS || entry_count > SPIRV_MAX_ENTRY_POINTS)
        return hal_fail(HAL_UNSUPPORTED, "%zu specialization constants; the limit is %d",
                        constant_count, SPIRV_MAX_CONSTANTS);
    const size_t head = sizeof(struct spirv_translation) +
                        entry_count * sizeof(struct spirv_entry) +
                        constant_count * sizeof(struct spirv_constant_info);
    const size_t names =
        constant_count * SPIRV_CONSTANT_NAME_BYTES + entry_count * SPIRV_KERNEL_NAME_BYTES;
    struct spirv_translation *const translation =
        bytes < SIZE_MAX / 2 ? hal_alloc(1, head + names + bytes + 1) : NULL;
    if (!translation)
        return hal_fail(HAL_NO_MEMORY, "no memory for a translation of %zu bytes", bytes);
    translation->entry_count = entry_count;
    translation->entries = (struct spirv_entry *)(translation + 1);
    translation->constant_count = constant_count;
    translation->constants = (struct spirv_constant_info *)(translation->entries + entry_count);
    char *const copy = (char *)translation + head + names;
    if (!read_all(&reader, translation, (char *)translation + head)) {
        free(translation);
        return hal_fail(HAL_CORRUPT, "the translation is damaged");
    }
    translation->bytes = (size_t)(reader.end - reader.at);
    memcpy(copy, reader.at, translation->bytes);
    translation->text = copy;
    *out_translation = translation;
    return HAL_OK;
}
