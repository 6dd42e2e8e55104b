/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's knowledge of the bindings of an executable's entry points. */
#include "capture/encode/reflect.h"

#include "hal/base/mem.h"

/* Lists that are longer than any real one stay out of the rings. */
enum { MOST_BINDINGS = 16384 };

static bool add_bindings(struct capture_bindings *all, size_t *capacity, uint32_t entry,
                         const struct hal_entry_info *info)
{
    if (info->binding_count > MOST_BINDINGS - all->count ||
        !HAL_GROW(all->list, capacity, all->count + info->binding_count + 1))
        return false;
    for (size_t i = 0; i < info->binding_count; i++) {
        const struct hal_entry_binding *binding = &info->bindings[i];
        all->list[all->count++] = (struct trace_entry_binding){.entry = entry,
                                                               .set = binding->set,
                                                               .index = binding->index,
                                                               .access = binding->access};
    }
    return true;
}

void capture_reflect(struct hal_driver_device *next, struct hal_executable *executable,
                     size_t entry_count, struct capture_bindings *out_bindings)
{
    size_t capacity = 0;
    *out_bindings = (struct capture_bindings){.known = next->ops->entry_reflect && executable};
    for (size_t i = 0; out_bindings->known && i < entry_count; i++) {
        struct hal_entry_info info = {0};
        out_bindings->known =
            next->ops->entry_reflect(next, executable, (uint32_t)i, &info) == HAL_OK &&
            add_bindings(out_bindings, &capacity, (uint32_t)i, &info);
    }
    if (!out_bindings->known)
        out_bindings->count = 0;
}
