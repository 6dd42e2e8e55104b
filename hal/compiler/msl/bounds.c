/* SPDX-License-Identifier: Apache-2.0 */
/* Tagged addresses: 0x4000 plus the memory's number in the upper 16 bits, members after all others.
 * The processor rejects such an address, so a missed check is a crash and never a wrong result. */
#include "hal/compiler/msl/bounds.h"

#include "hal/base/text.h"

#include <stdio.h>
#include <string.h>

enum {
    FIRST_TAG = 0x4000,
    FIRST_GROUP_MEMORY = MSL_MAX_BUFFERS,
    VARIABLES = MSL_MAX_BUFFERS + MSL_MAX_THREADGROUP_ARGUMENTS
};
_Static_assert(FIRST_TAG + MSL_BOUNDS_MEMORIES + MSL_MAX_MEMBERS <= 0x8000, "tags stay positive");

static const uint64_t address_mask = (UINT64_C(1) << MSL_ABI_TAG_SHIFT) - 1;

static void *tagged(const void *memory, uint32_t number)
{
    return (void *)((uintptr_t)memory | (uint64_t)(FIRST_TAG + number) << MSL_ABI_TAG_SHIFT);
}

void *msl_member_address(const struct msl_member *members, uint32_t number)
{
    return tagged(members[number].data, MSL_BOUNDS_MEMORIES + number);
}

static void *tag(struct msl_bounds *bounds, uint32_t number, void *memory, uint64_t bytes)
{
    bounds->base[number] = (uint64_t)(uintptr_t)memory;
    bounds->bytes[number] = bytes;
    return tagged(memory, number);
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
    bounds->members = memory->members;
    bounds->member_count = memory->member_count;
}

static void name_memory(const struct msl_bounds *bounds, uint32_t number, char *out_name,
                        size_t room)
{
    if (number < FIRST_GROUP_MEMORY)
        snprintf(out_name, room, "buffer %u, which has", number);
    else if (number < VARIABLES)
        snprintf(out_name, room, "threadgroup argument %u, which has", number - FIRST_GROUP_MEMORY);
    else if (number < MSL_BOUNDS_MEMORIES)
        snprintf(out_name, room, "the threadgroup variables, which have");
    else
        snprintf(out_name, room, "member %u of buffer %u, which has",
                 bounds->members[number - MSL_BOUNDS_MEMORIES].index,
                 bounds->members[number - MSL_BOUNDS_MEMORIES].buffer);
}

/* Where the memory of a tag begins, 0: nowhere, and how long it is. */
static uint64_t base_of(const struct msl_bounds *bounds, uint64_t number, uint64_t *out_bytes)
{
    if (number < MSL_BOUNDS_MEMORIES) {
        *out_bytes = bounds->bytes[number];
        return bounds->base[number];
    }
    if (number - MSL_BOUNDS_MEMORIES >= bounds->member_count)
        return 0;
    const struct msl_member *member = &bounds->members[number - MSL_BOUNDS_MEMORIES];
    *out_bytes = member->bytes;
    return (uint64_t)(uintptr_t)member->data;
}

void *msl_bounds_check(const struct msl_bounds *bounds, const void *address, uint64_t bytes,
                       bool is_write)
{
    char name[64];
    const uint64_t seen = (uint64_t)(uintptr_t)address;
    const uint64_t number = (seen >> MSL_ABI_TAG_SHIFT) - FIRST_TAG, plain = seen & address_mask;
    const char *const verb = is_write ? "writes" : "reads";
    uint64_t length = 0;
    const uint64_t base = base_of(bounds, number, &length);
    if (!base) {
        (void)hal_fail(HAL_INVALID, "%s %s at the invalid address %#llx", verb,
                       hal_count((unsigned long long)bytes, "byte", "bytes").text,
                       (unsigned long long)seen);
        return NULL;
    }
    const uint64_t offset = plain - base;
    if (offset <= length && bytes <= length - offset)
        return (void *)(uintptr_t)plain;
    name_memory(bounds, (uint32_t)number, name, sizeof name);
    (void)hal_fail(HAL_INVALID, "%s %s at offset %lld of %s %llu", verb,
                   hal_count((unsigned long long)bytes, "byte", "bytes").text, (long long)offset,
                   name, (unsigned long long)length);
    return NULL;
}
