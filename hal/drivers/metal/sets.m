/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor sets as argument buffers. A set is a table of device addresses, binding i at word i:
 * the layout of a struct of pointers on devices of tier 2, which may be written without an encoder.
 * All tables of a program are in one buffer, which is immutable once the program is created. Metal
 * does not see what a kernel accesses through a table, so each lists the resources to declare. */
#include "hal/base/mem.h"
#import "hal/drivers/metal/program.h"

enum {
    TABLE_ALIGNMENT = 32, /* of buffers that kernels see as constants, on Macs (MTLGPUFamilyMac2) */
    WORDS_PER_UNIT = TABLE_ALIGNMENT / sizeof(uint64_t),
};

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory for descriptor sets");
}

/* Zeroed; as many as the highest binding asks for, and never none: something has to be bound. */
static enum hal_status add_words(struct metal_sets *sets, const struct hal_set_layout *layout)
{
    const size_t count = layout->binding_count;
    const size_t last = count ? layout->bindings[count - 1].index : 0;
    const size_t words = hal_align_up(last + 1, WORDS_PER_UNIT);
    if (!HAL_GROW(sets->words, &sets->word_capacity, sets->word_count + words))
        return no_memory();
    memset(sets->words + sets->word_count, 0, words * sizeof *sets->words);
    sets->word_count += words;
    return HAL_OK;
}

static enum hal_status add_use(struct metal_sets *sets, id<MTLBuffer> buffer,
                               const struct hal_layout_binding *binding)
{
    const bool only = binding->flags & HAL_BINDING_READ_ONLY;
    if (!HAL_GROW(sets->uses, &sets->use_capacity, sets->use_count + 1))
        return no_memory();
    sets->uses[sets->use_count++] = (struct metal_use){
        buffer, only ? MTLResourceUsageRead : MTLResourceUsageRead | MTLResourceUsageWrite};
    return HAL_OK;
}

static bool same_table(const struct metal_sets *sets, const struct metal_table *a,
                       const struct metal_table *b)
{
    if (a->word_count != b->word_count || a->use_count != b->use_count ||
        memcmp(sets->words + a->first_word, sets->words + b->first_word,
               a->word_count * sizeof *sets->words) != 0)
        return false;
    for (size_t i = 0; i < a->use_count; i++) {
        const struct metal_use *left = &sets->uses[a->first_use + i];
        const struct metal_use *right = &sets->uses[b->first_use + i];
        if (left->buffer != right->buffer || left->usage != right->usage)
            return false;
    }
    return true;
}

/* Behind all others; the core has seen to it that all of the layout is bound. */
static enum hal_status write_table(struct metal_sets *sets, const struct hal_set_layout *layout,
                                   const struct hal_binding *bindings,
                                   struct metal_table *out_table)
{
    struct metal_table table = {.first_word = sets->word_count, .first_use = sets->use_count};
    HAL_TRY(add_words(sets, layout));
    for (size_t i = 0; i < layout->binding_count; i++) {
        const struct hal_layout_binding *wanted = &layout->bindings[i];
        const struct hal_binding *binding = &bindings[wanted->index];
        const struct metal_buffer *buffer = to_metal_buffer(binding->buffer);
        sets->words[table.first_word + wanted->index] =
            buffer->buffer.gpuAddress + buffer->origin + binding->offset;
        HAL_TRY(add_use(sets, buffer->buffer, wanted));
    }
    table.word_count = sets->word_count - table.first_word;
    table.use_count = sets->use_count - table.first_use;
    *out_table = table;
    return HAL_OK;
}

enum hal_status metal_sets_add(struct metal_sets *sets, uint32_t set,
                               const struct hal_set_layout *layout,
                               const struct hal_binding *bindings, uint32_t *out_table)
{
    struct metal_table table;
    HAL_TRY(write_table(sets, layout, bindings, &table));
    if (sets->last[set] && same_table(sets, &sets->tables[sets->last[set] - 1], &table)) {
        sets->word_count = table.first_word;
        sets->use_count = table.first_use;
        *out_table = sets->last[set] - 1;
        return HAL_OK;
    }
    if (!HAL_GROW(sets->tables, &sets->table_capacity, sets->table_count + 1))
        return no_memory();
    *out_table = (uint32_t)sets->table_count;
    sets->tables[sets->table_count++] = table;
    sets->last[set] = *out_table + 1;
    return HAL_OK;
}

enum hal_status metal_sets_finish(struct metal_sets *sets, struct metal_device *device,
                                  const char *label)
{
    const uint64_t bytes = sets->word_count * sizeof *sets->words;
    if (bytes == 0)
        return HAL_OK;
    sets->buffer = metal_staging_create(device, bytes, label);
    if (!sets->buffer)
        return no_memory();
    memcpy(sets->buffer.contents, sets->words, bytes);
    free(sets->words);
    sets->words = NULL;
    return HAL_OK;
}

void metal_sets_bind(const struct metal_sets *sets, uint32_t number,
                     id<MTLComputeCommandEncoder> encoder)
{
    const struct metal_table *table = &sets->tables[number];
    for (size_t i = 0; i < table->use_count; i++) {
        const struct metal_use *use = &sets->uses[table->first_use + i];
        [encoder useResource:use->buffer usage:use->usage];
    }
}

void metal_sets_destroy(struct metal_sets *sets)
{
    [sets->buffer release];
    free(sets->words);
    free(sets->uses);
    free(sets->tables);
}
