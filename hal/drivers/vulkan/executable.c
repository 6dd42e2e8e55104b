/* SPDX-License-Identifier: Apache-2.0 */
/* SPIR-V executables. hal/compiler/spirv validates the module in a separate process and reports the
 * entry points' parameters; constants get their values in the module, by rules of all drivers. */
#include "hal/base/mem.h"
#include "hal/drivers/vulkan/archive.h"

#include <stdio.h>

/* ---- Entries -------------------------------------------------------------------------------- */

static VkResult create_set_layout(struct vulkan_device *device, struct vulkan_entry *entry,
                                  uint32_t set)
{
    VkDescriptorSetLayoutBinding bindings[SPIRV_MAX_BINDINGS + 1];
    uint32_t count = 0;
    if (set == 0 && entry->carries_constants)
        bindings[count++] = (VkDescriptorSetLayoutBinding){
            .binding = VULKAN_CARRIED_BINDING,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    for (uint32_t i = 0; i < entry->binding_count; i++) {
        const struct spirv_binding *place = &entry->bindings[i];
        if (place->set != set)
            continue;
        bindings[count++] = (VkDescriptorSetLayoutBinding){
            .binding = place->binding,
            .descriptorType = place->is_uniform ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                                                : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    }
    const bool is_pushed =
        set == 0 && device->has_push && count && count <= device->max_push_descriptors;
    const VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .flags = is_pushed ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR : 0U,
        .bindingCount = count,
        .pBindings = bindings,
    };
    entry->is_pushed |= is_pushed;
    return vk.CreateDescriptorSetLayout(device->device, &info, NULL, &entry->sets[set]);
}

static VkResult create_layout(struct vulkan_device *device, struct vulkan_entry *entry)
{
    const VkPushConstantRange constants = {
        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        .size = entry->constant_bytes,
    };
    for (uint32_t i = 0; i < entry->binding_count; i++)
        if (entry->bindings[i].set >= entry->set_count)
            entry->set_count = entry->bindings[i].set + 1U;
    if (entry->carries_constants && entry->set_count == 0)
        entry->set_count = 1;
    for (uint32_t set = 0; set < entry->set_count; set++) {
        const VkResult result = create_set_layout(device, entry, set);
        if (result != VK_SUCCESS)
            return result;
    }
    const VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = entry->set_count,
        .pSetLayouts = entry->sets,
        .pushConstantRangeCount = entry->constant_bytes && !entry->carries_constants,
        .pPushConstantRanges = &constants,
    };
    return vk.CreatePipelineLayout(device->device, &info, NULL, &entry->layout);
}

enum hal_status vulkan_entry_create(struct vulkan_device *device, VkPipelineCache cache,
                                    VkShaderModule module, const char *name,
                                    struct vulkan_entry *entry)
{
    VkResult result = create_layout(device, entry);
    if (result != VK_SUCCESS)
        return vulkan_fail(result, "the layout of '%s'", name);
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage =
            {
                .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = name,
            },
        .layout = entry->layout,
    };
    result = vk.CreateComputePipelines(device->device, cache, 1, &info, NULL, &entry->pipeline);
    if (result != VK_SUCCESS)
        return vulkan_fail(result, "the pipeline of '%s'", name);
    vulkan_name(device, VK_OBJECT_TYPE_PIPELINE, (uint64_t)(uintptr_t)entry->pipeline, name);
    return HAL_OK;
}

void vulkan_entry_destroy(struct vulkan_device *device, struct vulkan_entry *entry)
{
    if (entry->pipeline)
        vk.DestroyPipeline(device->device, entry->pipeline, NULL);
    if (entry->layout)
        vk.DestroyPipelineLayout(device->device, entry->layout, NULL);
    for (uint32_t set = 0; set < entry->set_count; set++)
        if (entry->sets[set])
            vk.DestroyDescriptorSetLayout(device->device, entry->sets[set], NULL);
}

/* ---- Modules -------------------------------------------------------------------------------- */

/* Entries that take more constants than the device pushes have a module of their own. */
struct modules {
    VkShaderModule plain, carrying; /* made when an entry needs it */
    struct spirv_module source;     /* with its constants' values */
    struct vulkan_archive archive;
};

static enum hal_status specialize(const struct hal_executable_variant *variant,
                                  const struct spirv_constant *constants, size_t constant_count,
                                  struct spirv_module *out_module)
{
    HAL_TRY(spirv_module_init(variant->data, variant->bytes, out_module));
    return spirv_module_specialize(out_module, constants, constant_count);
}

static enum hal_status make_module(struct vulkan_device *device, const struct spirv_module *module,
                                   VkShaderModule *out_module)
{
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = module->count * sizeof *module->words,
        .pCode = module->words,
    };
    const VkResult result = vk.CreateShaderModule(device->device, &info, NULL, out_module);
    return result == VK_SUCCESS ? HAL_OK : vulkan_fail(result, "the module");
}

static enum hal_status need_module(struct vulkan_device *device, struct modules *modules,
                                   bool carries_constants, VkShaderModule *out_module)
{
    VkShaderModule *const module = carries_constants ? &modules->carrying : &modules->plain;
    struct spirv_module carrying = {0};
    enum hal_status status = HAL_OK;
    if (!*module && carries_constants)
        status =
            spirv_module_carry_constants(&modules->source, 0, VULKAN_CARRIED_BINDING, &carrying);
    if (!*module && status == HAL_OK)
        status = make_module(device, carries_constants ? &carrying : &modules->source, module);
    spirv_module_finish(&carrying);
    *out_module = *module;
    return status;
}

static void free_modules(struct vulkan_device *device, struct modules *modules)
{
    if (modules->plain)
        vk.DestroyShaderModule(device->device, modules->plain, NULL);
    if (modules->carrying)
        vk.DestroyShaderModule(device->device, modules->carrying, NULL);
    spirv_module_finish(&modules->source);
}

/* ---- Executables ---------------------------------------------------------------------------- */

static struct hal_entry_binding describe(const VkPhysicalDeviceLimits *limits,
                                         const struct spirv_binding *place)
{
    return (struct hal_entry_binding){
        .set = place->set,
        .index = place->binding,
        .access = place->access,
        .alignment = (uint32_t)(place->is_uniform ? limits->minUniformBufferOffsetAlignment
                                                  : limits->minStorageBufferOffsetAlignment),
        .bytes = place->bytes,
    };
}

static enum hal_status check_layout(const struct vulkan_device *device,
                                    const struct hal_executable_desc *desc, size_t entry,
                                    const struct spirv_entry *where)
{
    struct hal_entry_binding bindings[SPIRV_MAX_BINDINGS];
    for (uint32_t i = 0; i < where->binding_count; i++)
        bindings[i] = describe(&device->limits, &where->bindings[i]);
    return hal_add_context(hal_check_entry_bindings(&desc->entry_points[entry],
                                                    desc->layouts ? desc->layouts[entry] : NULL,
                                                    bindings, where->binding_count),
                           "executable '%s'", desc->label ? desc->label : "");
}

static enum hal_status make_entry(struct vulkan_device *device, struct modules *modules,
                                  const struct hal_entry_point *wanted,
                                  const struct spirv_entry *where, struct vulkan_entry *entry)
{
    VkShaderModule module = VK_NULL_HANDLE;
    HAL_TRY(hal_check_entry_constants(wanted, where->constant_bytes));
    entry->constant_bytes = (uint32_t)hal_align_up(where->constant_bytes, 4);
    entry->carries_constants = entry->constant_bytes > device->limits.maxPushConstantsSize;
    entry->binding_count = where->binding_count;
    memcpy(entry->bindings, where->bindings, sizeof entry->bindings);
    HAL_TRY(need_module(device, modules, entry->carries_constants, &module));
    return vulkan_entry_create(device,
                               modules->archive.cache ? modules->archive.cache : device->pipelines,
                               module, wanted->name, entry);
}

static enum hal_status fill(struct vulkan_device *device, const struct hal_executable_desc *desc,
                            struct vulkan_executable *executable)
{
    const struct hal_executable_variant *variant = &desc->variants[executable->base.variant];
    struct spirv_constant *constants = hal_kernel_constants(desc);
    struct modules modules = {0};
    if (!constants)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu constants", desc->constant_count);
    enum hal_status status = hal_kernel_translate(desc, variant, &executable->translation);
    if (status == HAL_OK)
        status = specialize(variant, constants, desc->constant_count, &modules.source);
    free(constants);
    if (status == HAL_OK)
        status = hal_add_context(vulkan_check_demands(device, &modules.source), "executable '%s'",
                                 desc->label ? desc->label : "");
    vulkan_listen();
    if (status == HAL_OK)
        vulkan_archive_open(&modules.archive, device, desc, &modules.source);
    for (size_t i = 0; status == HAL_OK && i < desc->entry_point_count; i++) {
        status = check_layout(device, desc, i, &executable->translation->entries[i]);
        if (status != HAL_OK)
            break;
        executable->entry_count++;
        status = hal_add_context(
            vulkan_check_shared(device, &modules.source, desc->entry_points[i].name),
            "executable '%s'", desc->label ? desc->label : "");
        if (status != HAL_OK)
            break;
        status = make_entry(device, &modules, &desc->entry_points[i],
                            &executable->translation->entries[i], &executable->entries[i]);
    }
    if (status == HAL_OK)
        status = hal_add_context(vulkan_heard(status), "executable '%s'",
                                 desc->label ? desc->label : "");
    executable->base.from_cache = vulkan_archive_close(&modules.archive, device, status == HAL_OK);
    free_modules(device, &modules);
    return status;
}

struct making {
    struct vulkan_device *device;
    struct hal_executable **out;
};

static enum hal_status create_of(void *user, const struct hal_executable_desc *desc,
                                 const struct hal_executable_variant *variant)
{
    const struct making *making = user;
    struct vulkan_executable *executable = hal_alloc(1, sizeof *executable);
    if (executable)
        executable->entries = hal_alloc(desc->entry_point_count, sizeof *executable->entries);
    if (!executable || !executable->entries) {
        free(executable);
        return hal_fail(HAL_NO_MEMORY, "no memory for executable '%s'",
                        desc->label ? desc->label : "");
    }
    hal_object_init(&executable->base.object, HAL_OBJECT_EXECUTABLE);
    executable->base.variant = (size_t)(variant - desc->variants);
    const enum hal_status status = fill(making->device, desc, executable);
    if (status != HAL_OK) {
        vulkan_executable_destroy(making->device, executable);
        return status;
    }
    *making->out = &executable->base;
    return HAL_OK;
}

enum hal_status vulkan_executable_create(struct hal_driver_device *self,
                                         const struct hal_executable_desc *desc,
                                         struct hal_executable **out)
{
    static const enum hal_executable_format formats[] = {HAL_FORMAT_SPIRV};
    const struct hal_variant_builder builder = {"Vulkan", formats, 1, create_of};
    struct making making = {to_vulkan_device(self), out};
    size_t variant = SIZE_MAX;
    HAL_TRY(hal_add_context(hal_engine_check(&to_vulkan_device(self)->engine), "executable '%s'",
                            desc->label ? desc->label : ""));
    const enum hal_status status = hal_variants_build(&builder, &making, desc, &variant);
    return variant == SIZE_MAX
               ? hal_add_context(status, "executable '%s'", desc->label ? desc->label : "")
               : status; /* what is wrong with one names it */
}

void vulkan_executable_destroy(struct vulkan_device *device, struct vulkan_executable *executable)
{
    for (size_t i = 0; i < executable->entry_count; i++)
        vulkan_entry_destroy(device, &executable->entries[i]);
    if (executable->translation)
        spirv_translation_destroy(executable->translation);
    free(executable->entries);
    free(executable->constants);
    free(executable->bindings);
    free(executable);
}

/* ---- Reflection ----------------------------------------------------------------------------- */

/* Lists are made when somebody asks, once. */
static pthread_mutex_t reflection_lock = PTHREAD_MUTEX_INITIALIZER;

enum hal_status vulkan_executable_reflect(struct hal_driver_device *self,
                                          struct hal_executable *base,
                                          struct hal_executable_info *out_info)
{
    struct vulkan_executable *executable = to_vulkan_executable(base);
    const size_t count = executable->translation->constant_count;
    (void)self;
    pthread_mutex_lock(&reflection_lock);
    if (!executable->constants) {
        struct hal_constant_info *list = hal_alloc(count, sizeof *list);
        for (size_t i = 0; list && i < count; i++)
            list[i] = hal_kernel_constant_info(&executable->translation->constants[i]);
        if (list)
            hal_kernel_order_constants(list, count, base->constants, base->constant_count);
        executable->constants = list;
    }
    pthread_mutex_unlock(&reflection_lock);
    if (!executable->constants)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu constants", count);
    out_info->constants = executable->constants;
    out_info->constant_count = count;
    return HAL_OK;
}

enum hal_status vulkan_entry_reflect(struct hal_driver_device *self, struct hal_executable *base,
                                     uint32_t entry, struct hal_entry_info *out_info)
{
    struct vulkan_executable *executable = to_vulkan_executable(base);
    pthread_mutex_lock(&reflection_lock);
    if (!executable->bindings) {
        executable->bindings =
            hal_alloc(executable->entry_count * SPIRV_MAX_BINDINGS, sizeof *executable->bindings);
        for (size_t i = 0; executable->bindings && i < executable->entry_count; i++)
            for (uint32_t b = 0; b < executable->entries[i].binding_count; b++)
                executable->bindings[i * SPIRV_MAX_BINDINGS + b] =
                    describe(&to_vulkan_device(self)->limits, &executable->entries[i].bindings[b]);
    }
    pthread_mutex_unlock(&reflection_lock);
    if (!executable->bindings)
        return hal_fail(HAL_NO_MEMORY, "no memory for lists of bindings");
    out_info->bindings = executable->bindings + (size_t)entry * SPIRV_MAX_BINDINGS;
    out_info->binding_count = executable->entries[entry].binding_count;
    return HAL_OK;
}
