/* SPDX-License-Identifier: Apache-2.0 */
/* The account of all buffers that a device holds. */
#include "hal/core/core.h"

static void raise_peak(_Atomic uint64_t *peak, uint64_t value)
{
    uint64_t before = atomic_load_explicit(peak, memory_order_relaxed);
    while (before < value && !atomic_compare_exchange_weak_explicit(
                                 peak, &before, value, memory_order_relaxed, memory_order_relaxed))
        continue;
}

static void account_add(struct hal_memory_account *account, uint64_t bytes)
{
    const uint64_t now =
        atomic_fetch_add_explicit(&account->current_bytes, bytes, memory_order_relaxed) + bytes;
    raise_peak(&account->peak_bytes, now);
    atomic_fetch_add_explicit(&account->current_count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&account->total_count, 1, memory_order_relaxed);
}

static void account_sub(struct hal_memory_account *account, uint64_t bytes)
{
    atomic_fetch_sub_explicit(&account->current_bytes, bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&account->current_count, 1, memory_order_relaxed);
}

void hal_account_add(struct hal_device *device, const struct hal_buffer *buffer)
{
    account_add(&device->memory[HAL_MEMORY_TYPES], buffer->bytes);
    account_add(&device->memory[buffer->memory % HAL_MEMORY_TYPES], buffer->bytes);
}

void hal_account_sub(struct hal_device *device, uint64_t bytes, uint32_t memory)
{
    account_sub(&device->memory[HAL_MEMORY_TYPES], bytes);
    account_sub(&device->memory[memory % HAL_MEMORY_TYPES], bytes);
}

static struct hal_memory_use read_account(const struct hal_memory_account *account)
{
    return (struct hal_memory_use){
        .current_bytes = atomic_load_explicit(&account->current_bytes, memory_order_relaxed),
        .peak_bytes = atomic_load_explicit(&account->peak_bytes, memory_order_relaxed),
        .current_count = atomic_load_explicit(&account->current_count, memory_order_relaxed),
        .total_count = atomic_load_explicit(&account->total_count, memory_order_relaxed),
    };
}

enum hal_status hal_device_memory_statistics(struct hal_device *device,
                                             struct hal_memory_statistics *out_statistics)
{
    HAL_TRY(hal_check_device(device));
    HAL_TRY(hal_check_place(out_statistics, "the statistics of memory"));
    HAL_TRY(hal_device_check_here(device));
    struct hal_memory_statistics statistics = {.total =
                                                   read_account(&device->memory[HAL_MEMORY_TYPES])};
    for (size_t i = 0; i < HAL_MEMORY_TYPES; i++)
        statistics.by_type[i] = read_account(&device->memory[i]);
    const struct hal_caching_statistics cached =
        device->caching ? hal_caching_measure(device->caching) : (struct hal_caching_statistics){0};
    statistics.cached_bytes = cached.cached_bytes;
    statistics.cached_count = cached.cached_count;
    statistics.reused_count = cached.reused_count;
    return HAL_GIVE(hal_memory_statistics, out_statistics, &statistics);
}

enum hal_status hal_device_memory_trim(struct hal_device *device)
{
    HAL_TRY(hal_check_device(device));
    if (!device->caching)
        return HAL_OK;
    HAL_TRY(hal_device_enter(device));
    hal_caching_trim(device->caching);
    hal_gate_leave(&device->gate);
    return HAL_OK;
}
