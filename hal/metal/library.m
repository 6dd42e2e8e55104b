/* SPDX-License-Identifier: Apache-2.0 */
/* Executables: a library from source or from compiled form, a function and a pipeline per entry
 * point. Pipelines are made by several threads: each of them takes Metal a while. */
#include "hal/base/mem.h"
#import "hal/metal/metal.h"

#include <stdio.h>

enum { MAX_BUILDERS = 8 };

/* ---- Libraries ---------------------------------------------------------------------------- */

/* Metal calls every source "program_source": the user knows it by its label. */
static enum hal_status fail_compile(enum hal_status status, const char *text, const char *label)
{
    static const char theirs[] = "program_source:";
    char message[HAL_MESSAGE_BYTES];
    size_t used = 0;
    while (*text && used + 1 < sizeof message) {
        const bool named = label && label[0] && strncmp(text, theirs, sizeof theirs - 1) == 0;
        if (!named) {
            message[used++] = *text++;
            continue;
        }
        const int written = snprintf(message + used, sizeof message - used, "%s:", label);
        used +=
            (size_t)written < sizeof message - used ? (size_t)written : sizeof message - used - 1;
        text += sizeof theirs - 1;
    }
    message[used] = '\0';
    return hal_fail(status, "%s", message);
}

/* Data that it cannot read are an internal error to Metal. */
static enum hal_status status_of_error(NSError *error, enum hal_executable_format format)
{
    switch ((MTLLibraryError)error.code) {
    case MTLLibraryErrorUnsupported: return HAL_UNSUPPORTED;
    case MTLLibraryErrorInternal: return format == HAL_FORMAT_METALLIB ? HAL_INVALID : HAL_FAILED;
    case MTLLibraryErrorCompileFailure:
    case MTLLibraryErrorCompileWarning:
    case MTLLibraryErrorFunctionNotFound:
    case MTLLibraryErrorFileNotFound: break;
    }
    return HAL_INVALID;
}

static id<MTLLibrary> compile_source(struct metal_device *device, const void *source, size_t bytes,
                                     NSError **error)
{
    NSString *text = [[NSString alloc] initWithBytes:source
                                              length:bytes
                                            encoding:NSUTF8StringEncoding];
    if (!text)
        return nil;
    MTLCompileOptions *options = [[MTLCompileOptions alloc] init];
    options.languageVersion = MTLLanguageVersion3_0;
    options.fastMathEnabled = !device->safe_math;
    id<MTLLibrary> library = [device->device newLibraryWithSource:text options:options error:error];
    [options release];
    [text release];
    return library;
}

static id<MTLLibrary> load_library(struct metal_device *device,
                                   const struct hal_executable_variant *variant, NSError **error)
{
    dispatch_data_t data =
        dispatch_data_create(variant->data, variant->bytes, NULL, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    if (!data)
        return nil;
    id<MTLLibrary> library = [device->device newLibraryWithData:data error:error];
    dispatch_release(data);
    return library;
}

static enum hal_status make_library(struct metal_device *device,
                                    const struct hal_executable_desc *desc,
                                    const struct hal_executable_variant *variant,
                                    struct metal_executable *executable)
{
    NSError *error = nil;
    id<MTLLibrary> library = nil;
    switch (variant->format) {
    case HAL_FORMAT_METALLIB: library = load_library(device, variant, &error); break;
    case HAL_FORMAT_MSL:
        library = compile_source(device, variant->data, variant->bytes, &error);
        break;
    case HAL_FORMAT_SPIRV:
        HAL_TRY(metal_spirv_translate(desc, variant, &executable->spirv));
        library = compile_source(device, executable->spirv->text, executable->spirv->bytes, &error);
        break;
    }
    if (!library && !error)
        return hal_fail(HAL_INVALID, "the source is not UTF-8");
    if (!library)
        return fail_compile(status_of_error(error, variant->format), metal_error_text(error),
                            desc->label);
    if (desc->label)
        library.label = metal_string(desc->label);
    executable->library = library;
    return HAL_OK;
}

/* ---- Variants ----------------------------------------------------------------------------- */

static const enum hal_executable_format formats[] = {HAL_FORMAT_METALLIB, HAL_FORMAT_MSL,
                                                     HAL_FORMAT_SPIRV};
enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

uint32_t metal_executable_formats(enum hal_executable_format out_formats[HAL_MAX_FORMATS])
{
    memcpy(out_formats, formats, sizeof formats);
    return FORMAT_COUNT;
}

static const char *format_name(enum hal_executable_format format)
{
    switch (format) {
    case HAL_FORMAT_MSL: return "MSL";
    case HAL_FORMAT_METALLIB: return "metallib";
    case HAL_FORMAT_SPIRV: return "SPIR-V";
    }
    return "unknown";
}

static enum hal_status fail_no_variant(const struct hal_executable_desc *desc)
{
    char offered[256] = "";
    for (size_t i = 0; i < desc->variant_count; i++) {
        const size_t used = strlen(offered);
        snprintf(offered + used, sizeof offered - used, "%s%s", i ? ", " : "",
                 format_name(desc->variants[i].format));
    }
    return hal_fail(HAL_UNSUPPORTED, "the Metal driver runs metallib, MSL and SPIR-V, not %s",
                    offered);
}

/* Takes the best variant that the device can run. */
static enum hal_status choose_variant(struct metal_device *device,
                                      const struct hal_executable_desc *desc,
                                      struct metal_executable *executable)
{
    enum hal_status status = HAL_UNSUPPORTED;
    bool tried = false;
    for (size_t f = 0; f < FORMAT_COUNT; f++) {
        for (size_t i = 0; i < desc->variant_count && status == HAL_UNSUPPORTED; i++) {
            if (desc->variants[i].format != formats[f])
                continue;
            tried = true;
            status = make_library(device, desc, &desc->variants[i], executable);
            if (status != HAL_OK) {
                spirv_translation_destroy(executable->spirv);
                executable->spirv = NULL;
            }
            executable->base.variant = i;
        }
    }
    return tried ? status : fail_no_variant(desc);
}

/* ---- Functions ---------------------------------------------------------------------------- */

static enum hal_status fail_unknown(id<MTLLibrary> library, const char *name)
{
    enum { FEW = 8 };
    char known[512] = "";
    NSArray<NSString *> *names = library.functionNames;
    for (NSUInteger i = 0; i < names.count && i < FEW; i++) {
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                 [names objectAtIndex:i].UTF8String);
    }
    return hal_fail(HAL_INVALID, "there is no kernel '%s' (there are: %s%s)", name, known,
                    names.count > FEW ? ", ..." : "");
}

static bool is_known(id<MTLLibrary> library, NSString *name)
{
    NSArray<NSString *> *names = library.functionNames;
    for (NSUInteger i = 0; i < names.count; i++) {
        if ([[names objectAtIndex:i] isEqualToString:name])
            return true;
    }
    return false;
}

static MTLDataType type_of(enum hal_constant_type type)
{
    switch (type) {
    case HAL_CONSTANT_BOOL: return MTLDataTypeBool;
    case HAL_CONSTANT_INT32: return MTLDataTypeInt;
    case HAL_CONSTANT_UINT32: return MTLDataTypeUInt;
    case HAL_CONSTANT_FLOAT32: return MTLDataTypeFloat;
    }
    return MTLDataTypeUInt;
}

static MTLFunctionConstantValues *make_values(const struct hal_executable_desc *desc)
{
    MTLFunctionConstantValues *values = [[[MTLFunctionConstantValues alloc] init] autorelease];
    for (size_t i = 0; i < desc->constant_count; i++) {
        const struct hal_constant *constant = &desc->constants[i];
        const bool truth = constant->bits != 0;
        const void *value = constant->type == HAL_CONSTANT_BOOL ? (const void *)&truth
                                                                : (const void *)&constant->bits;
        [values setConstantValue:value type:type_of(constant->type) atIndex:constant->index];
    }
    return values;
}

static enum hal_status find_function(id<MTLLibrary> library, const struct hal_executable_desc *desc,
                                     const char *name, bool specialize,
                                     id<MTLFunction> *out_function)
{
    NSError *error = nil;
    NSString *wanted = metal_string(name);
    if (!is_known(library, wanted))
        return fail_unknown(library, name);
    *out_function = specialize && desc->constant_count
                        ? [library newFunctionWithName:wanted
                                        constantValues:make_values(desc)
                                                 error:&error]
                        : [library newFunctionWithName:wanted];
    if (*out_function)
        return HAL_OK;
    return hal_fail(HAL_INVALID, "kernel '%s': %s", name, metal_error_text(error));
}

/* ---- Pipelines ---------------------------------------------------------------------------- */

/* A binding begins at a multiple of what its type asks for, which is 16 at most. */
static uint8_t alignment_of(id<MTLBinding> binding)
{
    const NSUInteger given = ((id<MTLBufferBinding>)binding).bufferAlignment, wanted = given | 16;
    return given ? (uint8_t)(wanted & (~wanted + 1)) : 1;
}

static enum hal_status take_group_argument(const char *name, NSUInteger index,
                                           const struct metal_entry *entry, uint32_t *taken)
{
    if (index >= HAL_MAX_GROUP_ARGUMENTS)
        return hal_fail(HAL_UNSUPPORTED, "kernel '%s': [[threadgroup(%lu)]], the last is %d", name,
                        (unsigned long)index, HAL_MAX_GROUP_ARGUMENTS - 1);
    if (entry->group_argument_bytes[index] == 0)
        return hal_fail(HAL_INVALID,
                        "kernel '%s' has a [[threadgroup(%lu)]] argument, but the entry point "
                        "gives it no length (group_argument_bytes)",
                        name, (unsigned long)index);
    *taken |= 1U << index;
    return HAL_OK;
}

static enum hal_status read_reflection(MTLComputePipelineReflection *reflection, const char *name,
                                       struct metal_entry *entry)
{
    NSArray<id<MTLBinding>> *bindings = reflection.bindings;
    uint32_t taken = 0; /* arguments in threadgroup memory */
    for (NSUInteger i = 0; i < bindings.count; i++) {
        id<MTLBinding> binding = [bindings objectAtIndex:i];
        if (binding.type == MTLBindingTypeThreadgroupMemory && binding.isArgument)
            HAL_TRY(take_group_argument(name, binding.index, entry, &taken));
        if (binding.type != MTLBindingTypeBuffer || binding.index >= METAL_MAX_SLOTS)
            continue;
        entry->buffer_mask |= 1U << binding.index;
        entry->alignments[binding.index] = alignment_of(binding);
        if (binding.access != MTLBindingAccessWriteOnly)
            entry->read_mask |= 1U << binding.index;
        if (binding.access != MTLBindingAccessReadOnly)
            entry->written_mask |= 1U << binding.index;
    }
    for (uint32_t i = 0; i < HAL_MAX_GROUP_ARGUMENTS; i++) {
        if (entry->group_argument_bytes[i] && !(taken >> i & 1))
            return hal_fail(HAL_INVALID,
                            "kernel '%s' has no [[threadgroup(%u)]] argument for %u bytes", name, i,
                            entry->group_argument_bytes[i]);
    }
    return HAL_OK;
}

static enum hal_status check_entry(const struct metal_device *device,
                                   const struct hal_entry_point *wanted,
                                   const struct metal_entry *entry, bool from_spirv)
{
    const uint64_t threads =
        (uint64_t)wanted->group_size[0] * wanted->group_size[1] * wanted->group_size[2];
    const uint64_t most = entry->pipeline.maxTotalThreadsPerThreadgroup;
    uint64_t group_bytes = entry->pipeline.staticThreadgroupMemoryLength;
    const uint64_t most_bytes = device->device.maxThreadgroupMemoryLength;
    if (entry->constant_bytes && !(entry->buffer_mask >> entry->constants_slot & 1) && !from_spirv)
        return hal_fail(HAL_INVALID,
                        "kernel '%s' has no [[buffer(%u)]] to receive its %u bytes of constants",
                        wanted->name, wanted->constants_slot, wanted->constant_bytes);
    if (threads > most)
        return hal_fail(HAL_INVALID,
                        "kernel '%s' has workgroups of %llu threads, the limit for it is %llu",
                        wanted->name, (unsigned long long)threads, (unsigned long long)most);
    for (size_t i = 0; i < HAL_MAX_GROUP_ARGUMENTS; i++)
        group_bytes += wanted->group_argument_bytes[i];
    if (group_bytes > most_bytes)
        return hal_fail(
            HAL_INVALID, "kernel '%s' uses %llu bytes of threadgroup memory, the limit is %llu",
            wanted->name, (unsigned long long)group_bytes, (unsigned long long)most_bytes);
    return HAL_OK;
}

/* Each buffer that the kernel takes is a descriptor set, or its constants. */
static enum hal_status check_sets(const struct metal_device *device,
                                  const struct hal_entry_point *wanted,
                                  const struct metal_entry *entry)
{
    const struct hal_pipeline_layout *layout = entry->layout;
    uint32_t rest = entry->buffer_mask;
    char name[HAL_OBJECT_NAME_BYTES];
    if (!layout)
        return HAL_OK;
    if (device->device.argumentBuffersSupport != MTLArgumentBuffersTier2)
        return hal_fail(HAL_UNSUPPORTED,
                        "kernel '%s' has a pipeline layout, which takes argument buffers of tier 2",
                        wanted->name);
    rest &= ~((UINT32_C(1) << layout->set_count) - 1);
    if (wanted->constant_bytes)
        rest &= ~(UINT32_C(1) << wanted->constants_slot);
    if (rest)
        return hal_fail(HAL_INVALID,
                        "kernel '%s' has a [[buffer(%d)]], but its %s has %zu descriptor sets",
                        wanted->name, __builtin_ctz(rest), hal_object_name(&layout->object, name),
                        layout->set_count);
    return HAL_OK;
}

/* Not from SPIR-V: without a layout, binding i of set 0 is [[buffer(i)]]; with one, set s is
 * [[buffer(s)]]. The executable says where constants go. */
static enum hal_status place_buffers(const struct hal_entry_point *wanted,
                                     const struct hal_pipeline_layout *layout,
                                     struct metal_entry *entry)
{
    entry->layout = layout;
    entry->constant_bytes = wanted->constant_bytes;
    entry->constants_slot = wanted->constants_slot;
    entry->sizes_slot = SPIRV_NO_SLOT;
    for (uint8_t i = 0; i < METAL_MAX_SLOTS; i++)
        entry->places[i] = (struct metal_place){0, i};
    return HAL_OK;
}

static enum hal_status make_pipeline(struct metal_device *device, id<MTLFunction> function,
                                     const struct hal_entry_point *wanted,
                                     const struct hal_pipeline_layout *layout,
                                     const struct spirv_entry *where, struct metal_entry *entry)
{
    NSError *error = nil;
    MTLComputePipelineReflection *reflection = nil;
    MTLComputePipelineDescriptor *descriptor = [[MTLComputePipelineDescriptor alloc] init];
    descriptor.label = metal_string(wanted->name);
    descriptor.computeFunction = function;
    entry->pipeline =
        [device->device newComputePipelineStateWithDescriptor:descriptor
                                                      options:MTLPipelineOptionArgumentInfo |
                                                              MTLPipelineOptionBufferTypeInfo
                                                   reflection:&reflection
                                                        error:&error];
    [descriptor release];
    if (!entry->pipeline)
        return hal_fail(HAL_INVALID, "kernel '%s': %s", wanted->name, metal_error_text(error));
    entry->group_size =
        MTLSizeMake(wanted->group_size[0], wanted->group_size[1], wanted->group_size[2]);
    memcpy(entry->group_argument_bytes, wanted->group_argument_bytes,
           sizeof entry->group_argument_bytes);
    HAL_TRY(where ? metal_spirv_place(wanted, where, entry) : place_buffers(wanted, layout, entry));
    HAL_TRY(read_reflection(reflection, wanted->name, entry));
    HAL_TRY(check_sets(device, wanted, entry));
    return check_entry(device, wanted, entry, where != NULL);
}

/* ---- In parallel -------------------------------------------------------------------------- */

struct building {
    struct metal_device *device;
    const struct hal_executable_desc *desc;
    struct metal_executable *executable;
    _Atomic size_t next;
    pthread_mutex_t lock;
    size_t failed; /* the first entry point that cannot be built */
    enum hal_status status;
    char message[HAL_MESSAGE_BYTES];
};

static void build_entry(struct building *building, size_t index)
{
    struct metal_executable *executable = building->executable;
    const struct hal_entry_point *wanted = &building->desc->entry_points[index];
    const struct spirv_entry *where = executable->spirv ? &executable->spirv->entries[index] : NULL;
    const struct hal_pipeline_layout *layout =
        building->desc->layouts ? building->desc->layouts[index] : NULL;
    id<MTLFunction> function = nil;
    enum hal_status status =
        find_function(executable->library, building->desc, where ? where->kernel : wanted->name,
                      where == NULL, &function);
    if (status == HAL_OK)
        status = make_pipeline(building->device, function, wanted, layout, where,
                               &executable->entries[index]);
    [function release];
    if (status == HAL_OK)
        return;
    pthread_mutex_lock(&building->lock);
    if (building->status == HAL_OK || index < building->failed) {
        building->failed = index;
        building->status = status;
        snprintf(building->message, sizeof building->message, "%s", hal_message());
    }
    pthread_mutex_unlock(&building->lock);
}

static void *build_some(void *argument)
{
    struct building *building = argument;
    for (;;) {
        const size_t index = atomic_fetch_add(&building->next, 1);
        if (index >= building->desc->entry_point_count)
            return NULL;
        @autoreleasepool {
            build_entry(building, index);
        }
    }
}

/* The calling thread takes part, so that it works without any other. */
static enum hal_status build_all(struct building *building)
{
    pthread_t threads[MAX_BUILDERS];
    const size_t entries = building->desc->entry_point_count;
    size_t wanted = hal_processor_count() < entries ? hal_processor_count() : entries, started = 0;
    if (wanted > MAX_BUILDERS)
        wanted = MAX_BUILDERS;
    pthread_mutex_init(&building->lock, NULL);
    while (started + 1 < wanted &&
           hal_thread_start("hal-metal-build", build_some, building, &threads[started]) == HAL_OK)
        started++;
    build_some(building);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&building->lock);
    if (building->status == HAL_OK)
        return HAL_OK;
    return hal_fail(building->status, "%s", building->message);
}

/* ---- Life --------------------------------------------------------------------------------- */

static enum hal_status build(struct metal_device *device, const struct hal_executable_desc *desc,
                             struct metal_executable *executable)
{
    struct building building = {.device = device, .desc = desc, .executable = executable};
    HAL_TRY(choose_variant(device, desc, executable));
    HAL_TRY(build_all(&building));
    return metal_reflection_create(executable, desc);
}

enum hal_status metal_executable_create(struct hal_driver_device *self,
                                        const struct hal_executable_desc *desc,
                                        struct hal_executable **out)
{
    const char *label = desc->label ? desc->label : "";
    const size_t count = desc->entry_point_count;
    struct metal_executable *executable =
        hal_alloc(1, sizeof *executable + count * sizeof executable->entries[0]);
    if (!executable)
        return hal_fail(HAL_NO_MEMORY, "executable '%s': no memory for %zu entry points", label,
                        count);
    enum hal_status status;
    executable->entry_count = count;
    @autoreleasepool {
        status = build(to_metal_device(self), desc, executable);
    }
    if (status != HAL_OK) {
        metal_executable_destroy(executable);
        return hal_add_context(status, "executable '%s'", label);
    }
    hal_object_init(&executable->base.object, HAL_OBJECT_EXECUTABLE);
    *out = &executable->base;
    return HAL_OK;
}

void metal_executable_destroy(struct metal_executable *executable)
{
    metal_reflection_destroy(executable);
    for (size_t i = 0; i < executable->entry_count; i++)
        [executable->entries[i].pipeline release];
    [executable->library release];
    spirv_translation_destroy(executable->spirv);
    free(executable);
}
