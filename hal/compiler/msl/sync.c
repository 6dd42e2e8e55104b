/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels need their threads side by side: those from which, by the names that occur, a
 * barrier or a simd operation can be reached. Errs on the safe side. */
#include "hal/compiler/msl/unit.h"

#include "hal/base/mem.h"

struct entry {
    const struct msl_token *name;
    bool needs_sync;
};

static int compare_names(const struct msl_token *a, const struct msl_token *b)
{
    const size_t shorter = a->length < b->length ? a->length : b->length;
    const int order = memcmp(a->text, b->text, shorter);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare_entries(const void *a, const void *b)
{
    return compare_names(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static bool begins(const struct msl_token *token, const char *prefix)
{
    const size_t length = strlen(prefix);
    return token->length >= length && memcmp(token->text, prefix, length) == 0;
}

static bool is_sync(const struct msl_tokens *tokens, size_t i)
{
    const struct msl_token *const token = &tokens->list[i];
    if (token->kind != MSL_NAME || msl_is(tokens, i, "simdgroup_index_in_threadgroup"))
        return false;
    return msl_is(tokens, i, "threadgroup_barrier") || begins(token, "simd_") ||
           begins(token, "simdgroup_") || begins(token, "quad_") || begins(token, "__metal_simd") ||
           begins(token, "__metal_quad");
}

static size_t find(const struct entry *entries, size_t count, const struct msl_token *name)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare_names(entries[middle].name, name);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return SIZE_MAX;
}

/* Sorted and without duplicates. */
static size_t collect(const struct msl_unit *unit, struct entry *entries)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < unit->item_count; i++)
        if (unit->items[i].name)
            entries[count++].name = &unit->tokens.list[unit->items[i].name];
    if (count)
        qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < count; i++)
        if (!kept || compare_entries(&entries[kept - 1], &entries[i]) != 0)
            entries[kept++] = entries[i];
    return kept;
}

/* One item, with what is known by now. */
static bool reaches(const struct msl_unit *unit, const struct msl_item *item,
                    const struct entry *entries, const size_t *entry_of)
{
    for (size_t i = item->first; i <= item->last; i++) {
        if (is_sync(&unit->tokens, i))
            return true;
        if (entry_of[i] != SIZE_MAX && entries[entry_of[i]].needs_sync)
            return true;
    }
    return false;
}

void msl_unit_find_sync(struct msl_unit *unit)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    struct entry *const entries = hal_alloc(unit->item_count, sizeof *entries);
    size_t *const entry_of = hal_alloc(tokens->count, sizeof *entry_of);
    if (!entries || !entry_of) {
        unit->failed = true;
        goto done;
    }
    const size_t count = collect(unit, entries);
    for (size_t i = 0; i < tokens->count; i++)
        entry_of[i] =
            tokens->list[i].kind == MSL_NAME ? find(entries, count, &tokens->list[i]) : SIZE_MAX;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < unit->item_count; i++) {
            struct msl_item *const item = &unit->items[i];
            if (item->needs_sync || !reaches(unit, item, entries, entry_of))
                continue;
            item->needs_sync = changed = true;
            if (item->name)
                entries[entry_of[item->name]].needs_sync = true;
        }
    }
done:
    free(entries);
    free(entry_of);
}
