/* SPDX-License-Identifier: Apache-2.0 */
/* Tagged addresses: 0x40 and the number of the memory in the upper byte. The processor would not
 * take such an address, so that a missed check is a crash and never a wrong result. */
#include "hal/msl/bounds.h"

#include <stdio.h>
#include <string.h>

enum {
    FIRST_TAG = 0x40,
    FIRST_GROUP_MEMORY = MSL_MAX_BUFFERS,
    VARIABLES = MSL_MAX_BUFFERS + MSL_MAX_THREADGROUP_ARGUMENTS
};
_Static_assert(FIRST_TAG + MSL_BOUNDS_MEMORIES <= 0x80, "tags stay positive");

static const uint64_t address_mask = (UINT64_C(1) << MSL_ABI_TAG_SHIFT) - 1;

static void *tag(struct msl_bounds *bounds, uint32_t number, void *memory, uint64_t bytes)
{
    bounds->base[number] = (uint64_t)(uintptr_t)memory;
    bounds->bytes[number] = bytes;
    return (void *)(uintptr_t)(bounds->base[number] | (uint64_t)(FIRST_TAG + number)
                                                          << MSL_ABI_TAG_SHIFT);
}

void msl_bounds_set(struct msl_bounds *bounds, const struct msl_bounds_memory *memory)
{
    memset(bounds, 0, sizeof *bounds);
    for (uint32_t i = 0; i < MSL_MAX_BUFFERS; i++) {
        if (!(memory->buffer_mask >> i & 1))
            continue;
        bounds->buffers[i] = memory->buffers[i];
        if (memory->buffer_bytes)
            bounds->buffers[i] = tag(bounds, i, memory->buffers[i], memory->buffer_bytes[i]);
    }
    for (uint32_t i = 0; i < MSL_MAX_THREADGROUP_ARGUMENTS; i++)
        if (memory->group_mask >> i & 1)
            bounds->group_memory[i] = tag(bounds, FIRST_GROUP_MEMORY + i, memory->group_memory[i],
                                          memory->group_bytes ? memory->group_bytes[i] : 0);
    bounds->variables = tag(bounds, VARIABLES, memory->variables, memory->variable_bytes);
}

static void name_memory(uint32_t number, char *out_name, size_t room)
{
    if (number < FIRST_GROUP_MEMORY)
        snprintf(out_name, room, "buffer %u, which has", number);
    else if (number < VARIABLES)
        snprintf(out_name, room, "threadgroup argument %u, which has", number - FIRST_GROUP_MEMORY);
    else
        snprintf(out_name, room, "the threadgroup variables, which have");
}

void *msl_bounds_check(const struct msl_bounds *bounds, const void *address, uint64_t bytes,
                       bool is_write)
{
    char name[64];
    const uint64_t seen = (uint64_t)(uintptr_t)address;
    const uint64_t number = (seen >> MSL_ABI_TAG_SHIFT) - FIRST_TAG, plain = seen & address_mask;
    const char *const verb = is_write ? "writes" : "reads";
    if (number >= MSL_BOUNDS_MEMORIES || !bounds->base[number]) {
        (void)hal_fail(HAL_INVALID, "%s %llu bytes at the address %#llx, which is none", verb,
                       (unsigned long long)bytes, (unsigned long long)seen);
        return NULL;
    }
    const uint64_t offset = plain - bounds->base[number], length = bounds->bytes[number];
    if (offset <= length && bytes <= length - offset)
        return (void *)(uintptr_t)plain;
    name_memory((uint32_t)number, name, sizeof name);
    (void)hal_fail(HAL_INVALID, "%s %llu bytes at offset %lld of %s %llu", verb,
                   (unsigned long long)bytes, (long long)offset, name, (unsigned long long)length);
    return NULL;
}
