/* SPDX-License-Identifier: Apache-2.0 */
/* SPIRV-Cross: finds an entry point's resources, assigns their buffers, writes the source. */
#include "hal/compiler/spirv/msl.h"

#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "hal/compiler/spirv/answer.h"

#include <spirv_cross_c.h>
#include <stdio.h>

struct spirv_cross {
    spvc_context context;
    spvc_parsed_ir module;
};

/* One entry point on its way. */
struct job {
    spvc_context context;
    spvc_compiler compiler;
    spvc_resources resources;
    struct spirv_entry *entry;
};

static enum hal_status check(spvc_context context, spvc_result result)
{
    switch ((int)result) {
    case SPVC_SUCCESS: return HAL_OK;
    case SPVC_ERROR_INVALID_SPIRV:
        return hal_fail(HAL_INVALID, "%s", spvc_context_get_last_error_string(context));
    case SPVC_ERROR_OUT_OF_MEMORY: return hal_fail(HAL_NO_MEMORY, "SPIRV-Cross is out of memory");
    default:
        return hal_fail(HAL_UNSUPPORTED, "there is no MSL equivalent: %s",
                        spvc_context_get_last_error_string(context));
    }
}

enum hal_status spirv_cross_create(const struct spirv_module *module,
                                   struct spirv_cross **out_cross)
{
    struct spirv_cross *const cross = hal_alloc(1, sizeof *cross);
    if (!cross || spvc_context_create(&cross->context) != SPVC_SUCCESS) {
        free(cross);
        return hal_fail(HAL_NO_MEMORY, "no memory for SPIRV-Cross");
    }
    const enum hal_status status =
        check(cross->context, spvc_context_parse_spirv(cross->context, module->words, module->count,
                                                       &cross->module));
    if (status != HAL_OK) {
        spirv_cross_destroy(cross);
        return status;
    }
    *out_cross = cross;
    return HAL_OK;
}

void spirv_cross_destroy(struct spirv_cross *cross)
{
    if (cross)
        spvc_context_destroy(cross->context);
    free(cross);
}

/* ---- Resources ------------------------------------------------------------------------------ */

static enum hal_status list_of(const struct job *job, spvc_resource_type type,
                               const spvc_reflected_resource **out_list, size_t *out_count)
{
    return check(job->context, spvc_resources_get_resource_list_for_type(job->resources, type,
                                                                         out_list, out_count));
}

static enum hal_status refuse_others(const struct job *job)
{
    static const struct {
        spvc_resource_type type;
        const char *what;
    } refused[] = {
        {SPVC_RESOURCE_TYPE_STORAGE_IMAGE, "a storage image: textures exist on a GPU only"},
        {SPVC_RESOURCE_TYPE_SAMPLED_IMAGE, "a sampled image: textures exist on a GPU only"},
        {SPVC_RESOURCE_TYPE_SEPARATE_IMAGE, "an image: textures exist on a GPU only"},
        {SPVC_RESOURCE_TYPE_SEPARATE_SAMPLERS, "a sampler: textures exist on a GPU only"},
        {SPVC_RESOURCE_TYPE_SUBPASS_INPUT, "a subpass input, which compute does not have"},
        {SPVC_RESOURCE_TYPE_ATOMIC_COUNTER, "an atomic counter, which Vulkan does not have"},
        {SPVC_RESOURCE_TYPE_ACCELERATION_STRUCTURE,
         "an acceleration structure: ray tracing exists on a GPU only"},
        {SPVC_RESOURCE_TYPE_SHADER_RECORD_BUFFER,
         "a shader record: ray tracing exists on a GPU only"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const spvc_reflected_resource *list;
        size_t count;
        HAL_TRY(list_of(job, refused[i].type, &list, &count));
        if (count)
            return hal_fail(
                HAL_UNSUPPORTED, "'%s' (set %u, binding %u) is %s", list[0].name,
                spvc_compiler_get_decoration(job->compiler, list[0].id, SpvDecorationDescriptorSet),
                spvc_compiler_get_decoration(job->compiler, list[0].id, SpvDecorationBinding),
                refused[i].what);
    }
    return HAL_OK;
}

/* Keeps the list sorted; the same place twice is one buffer, seen as two types. */
static enum hal_status add_buffer(const struct job *job, const spvc_reflected_resource *buffer,
                                  bool is_uniform)
{
    struct spirv_entry *const entry = job->entry;
    const unsigned set =
        spvc_compiler_get_decoration(job->compiler, buffer->id, SpvDecorationDescriptorSet);
    const unsigned binding =
        spvc_compiler_get_decoration(job->compiler, buffer->id, SpvDecorationBinding);
    const spvc_type type = spvc_compiler_get_type_handle(job->compiler, buffer->type_id);
    if (set >= SPIRV_MAX_SETS || binding >= SPIRV_MAX_BINDINGS)
        return hal_fail(HAL_UNSUPPORTED,
                        "'%s' is set %u, binding %u; the last ones are set %d, binding %d",
                        buffer->name, set, binding, SPIRV_MAX_SETS - 1, SPIRV_MAX_BINDINGS - 1);
    if (type && spvc_type_get_num_array_dimensions(type))
        return hal_fail(HAL_UNSUPPORTED,
                        "'%s' (set %u, binding %u) is an array of buffers; a binding is one buffer",
                        buffer->name, set, binding);
    uint32_t at = 0;
    for (; at < entry->binding_count; at++) {
        const struct spirv_binding *const other = &entry->bindings[at];
        if (other->set == set && other->binding == binding)
            return HAL_OK;
        if (other->set > set || (other->set == set && other->binding > binding))
            break;
    }
    if (entry->binding_count == SPIRV_MAX_BINDINGS)
        return hal_fail(HAL_UNSUPPORTED, "it uses more than %d buffers", SPIRV_MAX_BINDINGS);
    memmove(&entry->bindings[at + 1], &entry->bindings[at],
            (entry->binding_count - at) * sizeof *entry->bindings);
    size_t bytes = 0;
    if (is_uniform)
        HAL_TRY(
            check(job->context,
                  spvc_compiler_get_declared_struct_size(
                      job->compiler,
                      spvc_compiler_get_type_handle(job->compiler, buffer->base_type_id), &bytes)));
    entry->bindings[at] = (struct spirv_binding){.set = (uint8_t)set,
                                                 .binding = (uint8_t)binding,
                                                 .is_uniform = is_uniform,
                                                 .bytes = (uint32_t)bytes};
    entry->binding_count++;
    return HAL_OK;
}

static enum hal_status find_push_constants(const struct job *job, uint32_t *next_slot)
{
    const spvc_reflected_resource *list;
    size_t count, bytes = 0;
    HAL_TRY(list_of(job, SPVC_RESOURCE_TYPE_PUSH_CONSTANT, &list, &count));
    for (size_t i = 0; i < count; i++) {
        const spvc_type type = spvc_compiler_get_type_handle(job->compiler, list[i].base_type_id);
        HAL_TRY(check(job->context,
                      spvc_compiler_get_declared_struct_size(job->compiler, type, &bytes)));
        if (bytes > UINT16_MAX)
            return hal_fail(HAL_UNSUPPORTED, "it has %s of push constants; the limit is %d",
                            hal_count(bytes, "byte", "bytes").text, UINT16_MAX);
        job->entry->constant_bytes = (uint32_t)bytes;
        job->entry->constants_slot = *next_slot;
    }
    *next_slot += count != 0;
    return HAL_OK;
}

static enum hal_status find_resources(struct job *job)
{
    static const spvc_resource_type types[] = {SPVC_RESOURCE_TYPE_UNIFORM_BUFFER,
                                               SPVC_RESOURCE_TYPE_STORAGE_BUFFER};
    struct spirv_entry *const entry = job->entry;
    spvc_set used;
    HAL_TRY(
        check(job->context, spvc_compiler_get_active_interface_variables(job->compiler, &used)));
    HAL_TRY(check(job->context, spvc_compiler_create_shader_resources_for_active_variables(
                                    job->compiler, &job->resources, used)));
    HAL_TRY(
        check(job->context, spvc_compiler_set_enabled_interface_variables(job->compiler, used)));
    HAL_TRY(refuse_others(job));
    for (size_t k = 0; k < 2; k++) {
        const spvc_reflected_resource *list;
        size_t count;
        HAL_TRY(list_of(job, types[k], &list, &count));
        for (size_t i = 0; i < count; i++)
            HAL_TRY(add_buffer(job, &list[i], types[k] == SPVC_RESOURCE_TYPE_UNIFORM_BUFFER));
    }
    for (uint32_t i = 0; i < entry->binding_count; i++)
        entry->bindings[i].slot = (uint8_t)i;
    uint32_t next_slot = entry->binding_count;
    HAL_TRY(find_push_constants(job, &next_slot));
    entry->sizes_slot = next_slot;
    return HAL_OK;
}

/* ---- Source --------------------------------------------------------------------------------- */

static enum hal_status set_options(const struct job *job)
{
    const struct {
        spvc_compiler_option option;
        unsigned value;
    } settings[] = {
        {SPVC_COMPILER_OPTION_MSL_VERSION, SPVC_MAKE_MSL_VERSION(3, 0, 0)},
        {SPVC_COMPILER_OPTION_MSL_PLATFORM, SPVC_MSL_PLATFORM_MACOS},
        {SPVC_COMPILER_OPTION_MSL_FIXED_SUBGROUP_SIZE, SPIRV_SIMD_WIDTH},
        {SPVC_COMPILER_OPTION_MSL_BUFFER_SIZE_BUFFER_INDEX, job->entry->sizes_slot},
        {SPVC_COMPILER_OPTION_MSL_INVARIANT_FP_MATH, 0},
    };
    spvc_compiler_options options;
    HAL_TRY(check(job->context, spvc_compiler_create_compiler_options(job->compiler, &options)));
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        HAL_TRY(check(job->context, spvc_compiler_options_set_uint(options, settings[i].option,
                                                                   settings[i].value)));
    return check(job->context, spvc_compiler_install_compiler_options(job->compiler, options));
}

static enum hal_status place(const struct job *job, unsigned set, unsigned binding, unsigned slot)
{
    spvc_msl_resource_binding place;
    spvc_msl_resource_binding_init(&place);
    place.stage = SpvExecutionModelGLCompute;
    place.desc_set = set;
    place.binding = binding;
    place.msl_buffer = slot;
    return check(job->context, spvc_compiler_msl_add_resource_binding(job->compiler, &place));
}

static enum hal_status place_all(const struct job *job)
{
    const struct spirv_entry *const entry = job->entry;
    for (uint32_t i = 0; i < entry->binding_count; i++)
        HAL_TRY(place(job, entry->bindings[i].set, entry->bindings[i].binding,
                      entry->bindings[i].slot));
    if (entry->constants_slot == SPIRV_NO_SLOT)
        return HAL_OK;
    return place(job, SPVC_MSL_PUSH_CONSTANT_DESC_SET, SPVC_MSL_PUSH_CONSTANT_BINDING,
                 entry->constants_slot);
}

/* Text before "using namespace metal;" stays outside of the namespace that separates the entry
 * points' helpers and types and that is not part of the kernel's name. */
static enum hal_status append_source(const char *kernel, const char *source, struct msl_text *text)
{
    static const char last[] = "using namespace metal;\n";
    const char *const found = strstr(source, last);
    const char *const rest = found ? found + sizeof last - 1 : "";
    char head[SPIRV_KERNEL_NAME_BYTES + 16];
    snprintf(head, sizeof head, "kernel void %s(", kernel);
    const char *const entry = strstr(rest, head);
    if (!entry)
        return hal_fail(HAL_FAILED, "SPIRV-Cross produced unexpected source code");
    msl_text_append(text, source, (size_t)(rest - source));
    msl_text_print(text, "namespace %s_ {\n", kernel);
    msl_text_append(text, rest, (size_t)(entry - rest));
    msl_text_print(text, "[[host_name(\"%s\")]] ", kernel);
    msl_text_append_string(text, entry);
    msl_text_append_string(text, "}\n");
    return msl_text_check(text);
}

static enum hal_status translate(struct job *job, const char *name, const char *kernel,
                                 struct msl_text *text)
{
    const char *source;
    HAL_TRY(check(job->context,
                  spvc_compiler_set_entry_point(job->compiler, name, SpvExecutionModelGLCompute)));
    HAL_TRY(find_resources(job));
    HAL_TRY(check(job->context, spvc_compiler_rename_entry_point(job->compiler, name, kernel,
                                                                 SpvExecutionModelGLCompute)));
    HAL_TRY(set_options(job));
    HAL_TRY(place_all(job));
    HAL_TRY(check(job->context, spvc_compiler_compile(job->compiler, &source)));
    const uint32_t buffers = job->entry->sizes_slot +
                             (uint32_t)spvc_compiler_msl_needs_buffer_size_buffer(job->compiler);
    if (buffers > SPIRV_MAX_BINDINGS)
        return hal_fail(HAL_UNSUPPORTED,
                        "with push constants and lengths of arrays it uses %s; the limit is %d",
                        hal_count(buffers, "buffer", "buffers").text, SPIRV_MAX_BINDINGS);
    if (buffers == job->entry->sizes_slot)
        job->entry->sizes_slot = SPIRV_NO_SLOT;
    return append_source(kernel, source, text);
}

enum hal_status spirv_cross_translate(struct spirv_cross *cross, const char *name,
                                      const char *kernel, struct spirv_entry *out_entry,
                                      struct msl_text *text)
{
    struct job job = {.context = cross->context, .entry = out_entry};
    *out_entry = (struct spirv_entry){.constants_slot = SPIRV_NO_SLOT};
    HAL_TRY(check(cross->context,
                  spvc_context_create_compiler(cross->context, SPVC_BACKEND_MSL, cross->module,
                                               SPVC_CAPTURE_MODE_COPY, &job.compiler)));
    return translate(&job, name, kernel, text);
}
