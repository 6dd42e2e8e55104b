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

static id<MTLLibrary> compile_source(struct metal_device *device,
                                     const struct hal_executable_variant *variant, NSError **error)
{
    NSString *text = [[NSString alloc] initWithBytes:variant->data
                                              length:variant->bytes
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
                                    const struct hal_executable_variant *variant, const char *label,
                                    id<MTLLibrary> *out_library)
{
    NSError *error = nil;
    switch (variant->format) {
    case HAL_FORMAT_METALLIB: *out_library = load_library(device, variant, &error); break;
    case HAL_FORMAT_MSL: *out_library = compile_source(device, variant, &error); break;
    case HAL_FORMAT_SPIRV: return hal_fail(HAL_UNSUPPORTED, "SPIR-V is not supported");
    }
    if (!*out_library && !error)
        return hal_fail(HAL_INVALID, "the source is not UTF-8");
    if (!*out_library)
        return fail_compile(status_of_error(error, variant->format), metal_error_text(error),
                            label);
    if (label)
        (*out_library).label = metal_string(label);
    return HAL_OK;
}

/* ---- Variants ----------------------------------------------------------------------------- */

static const enum hal_executable_format formats[] = {HAL_FORMAT_METALLIB, HAL_FORMAT_MSL};
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
    return hal_fail(HAL_UNSUPPORTED, "the Metal driver runs metallib and MSL, not %s", offered);
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
            status = make_library(device, &desc->variants[i], desc->label, &executable->library);
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
                                     const char *name, id<MTLFunction> *out_function)
{
    NSError *error = nil;
    NSString *wanted = metal_string(name);
    if (!is_known(library, wanted))
        return fail_unknown(library, name);
    *out_function = desc->constant_count ? [library newFunctionWithName:wanted
                                                         constantValues:make_values(desc)
                                                                  error:&error]
                                         : [library newFunctionWithName:wanted];
    if (*out_function)
        return HAL_OK;
    return hal_fail(HAL_INVALID, "kernel '%s': %s", name, metal_error_text(error));
}

/* ---- Pipelines ---------------------------------------------------------------------------- */

static enum hal_status read_reflection(MTLComputePipelineReflection *reflection, const char *name,
                                       struct metal_entry *entry)
{
    NSArray<id<MTLBinding>> *bindings = reflection.bindings;
    for (NSUInteger i = 0; i < bindings.count; i++) {
        id<MTLBinding> binding = [bindings objectAtIndex:i];
        if (binding.type == MTLBindingTypeThreadgroupMemory && binding.isArgument)
            return hal_fail(HAL_UNSUPPORTED,
                            "kernel '%s' takes threadgroup memory as an argument "
                            "([[threadgroup(%lu)]])",
                            name, (unsigned long)binding.index);
        if (binding.type != MTLBindingTypeBuffer || !binding.isUsed ||
            binding.index >= METAL_MAX_SLOTS)
            continue;
        entry->buffer_mask |= 1U << binding.index;
        if (binding.access != MTLBindingAccessWriteOnly)
            entry->read_mask |= 1U << binding.index;
        if (binding.access != MTLBindingAccessReadOnly)
            entry->written_mask |= 1U << binding.index;
    }
    return HAL_OK;
}

static enum hal_status check_entry(const struct metal_device *device,
                                   const struct hal_entry_point *wanted,
                                   const struct metal_entry *entry)
{
    const uint64_t threads =
        (uint64_t)wanted->group_size[0] * wanted->group_size[1] * wanted->group_size[2];
    const uint64_t most = entry->pipeline.maxTotalThreadsPerThreadgroup;
    uint64_t group_bytes = entry->pipeline.staticThreadgroupMemoryLength;
    const uint64_t most_bytes = device->device.maxThreadgroupMemoryLength;
    if (wanted->constant_bytes && !(entry->buffer_mask >> wanted->constants_slot & 1))
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

static enum hal_status make_pipeline(struct metal_device *device, id<MTLFunction> function,
                                     const struct hal_entry_point *wanted,
                                     struct metal_entry *entry)
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
    entry->constant_bytes = wanted->constant_bytes;
    entry->constants_slot = wanted->constants_slot;
    memcpy(entry->group_argument_bytes, wanted->group_argument_bytes,
           sizeof entry->group_argument_bytes);
    HAL_TRY(read_reflection(reflection, wanted->name, entry));
    return check_entry(device, wanted, entry);
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
    const struct hal_entry_point *wanted = &building->desc->entry_points[index];
    id<MTLFunction> function = nil;
    enum hal_status status =
        find_function(building->executable->library, building->desc, wanted->name, &function);
    if (status == HAL_OK)
        status = make_pipeline(building->device, function, wanted,
                               &building->executable->entries[index]);
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

/* ---- Reflection --------------------------------------------------------------------------- */

static enum hal_status list_bindings(struct metal_entry *entry, const char *name)
{
    entry->bindings =
        hal_alloc((size_t)__builtin_popcount(entry->buffer_mask), sizeof *entry->bindings);
    if (!entry->bindings)
        return hal_fail(HAL_NO_MEMORY, "no memory for the bindings of kernel '%s'", name);
    for (uint32_t i = 0; i < METAL_MAX_SLOTS; i++) {
        if (!(entry->buffer_mask >> i & 1) || (entry->constant_bytes && i == entry->constants_slot))
            continue;
        entry->bindings[entry->binding_count++] = (struct hal_entry_binding){
            .index = i,
            .access = (entry->read_mask >> i & 1 ? HAL_ACCESS_READ : 0U) |
                      (entry->written_mask >> i & 1 ? HAL_ACCESS_WRITE : 0U),
        };
    }
    return HAL_OK;
}

static enum hal_constant_type type_from(MTLDataType type)
{
    return type == MTLDataTypeBool    ? HAL_CONSTANT_BOOL
           : type == MTLDataTypeInt   ? HAL_CONSTANT_INT32
           : type == MTLDataTypeUInt  ? HAL_CONSTANT_UINT32
           : type == MTLDataTypeFloat ? HAL_CONSTANT_FLOAT32
                                      : (enum hal_constant_type)0;
}

static bool is_given(const struct hal_executable_desc *desc, uint32_t index)
{
    for (size_t i = 0; i < desc->constant_count; i++) {
        if (desc->constants[i].index == index)
            return true;
    }
    return false;
}

static bool is_listed(const struct metal_executable *executable, uint32_t index, const char *name)
{
    for (size_t i = 0; i < executable->constant_count; i++) {
        if (executable->constants[i].index == index &&
            strcmp(executable->constants[i].name, name) == 0)
            return true;
    }
    return false;
}

static enum hal_status add_constant(struct metal_executable *executable,
                                    const struct hal_executable_desc *desc,
                                    MTLFunctionConstant *constant)
{
    const uint32_t index = (uint32_t)constant.index;
    if (is_listed(executable, index, constant.name.UTF8String))
        return HAL_OK;
    char *name = hal_copy_string(constant.name.UTF8String);
    if (!name || !hal_grow((void **)&executable->constants, &executable->constant_capacity,
                           executable->constant_count + 1, sizeof *executable->constants)) {
        free(name);
        return hal_fail(HAL_NO_MEMORY, "no memory for the specialization constants");
    }
    executable->constants[executable->constant_count++] = (struct hal_constant_info){
        .name = name,
        .index = index,
        .type = type_from(constant.type),
        .is_given = is_given(desc, index),
    };
    return HAL_OK;
}

static int by_index(const void *left, const void *right)
{
    const struct hal_constant_info *a = left, *b = right;
    return a->index != b->index ? (a->index > b->index) - (a->index < b->index)
                                : strcmp(a->name, b->name);
}

/* Metal tells a function's constants: those of all entry points together. */
static enum hal_status list_constants(struct metal_executable *executable,
                                      const struct hal_executable_desc *desc)
{
    for (size_t i = 0; i < desc->entry_point_count; i++) {
        id<MTLFunction> function =
            [executable->library newFunctionWithName:metal_string(desc->entry_points[i].name)];
        NSArray<MTLFunctionConstant *> *all = function.functionConstantsDictionary.allValues;
        enum hal_status status = HAL_OK;
        for (NSUInteger c = 0; c < all.count && status == HAL_OK; c++)
            status = add_constant(executable, desc, [all objectAtIndex:c]);
        [function release];
        HAL_TRY(status);
    }
    if (executable->constant_count)
        qsort(executable->constants, executable->constant_count, sizeof *executable->constants,
              by_index);
    return HAL_OK;
}

enum hal_status metal_executable_reflect(struct hal_driver_device *self,
                                         struct hal_executable *base,
                                         struct hal_executable_info *out_info)
{
    (void)self;
    const struct metal_executable *executable = to_metal_executable(base);
    out_info->constants = executable->constants;
    out_info->constant_count = executable->constant_count;
    return HAL_OK;
}

enum hal_status metal_entry_reflect(struct hal_driver_device *self, struct hal_executable *base,
                                    uint32_t entry, struct hal_entry_info *out_info)
{
    (void)self;
    const struct metal_entry *own = &to_metal_executable(base)->entries[entry];
    out_info->group_memory_bytes = own->pipeline.staticThreadgroupMemoryLength;
    out_info->bindings = own->bindings;
    out_info->binding_count = own->binding_count;
    return HAL_OK;
}

/* ---- Life --------------------------------------------------------------------------------- */

static enum hal_status build(struct metal_device *device, const struct hal_executable_desc *desc,
                             struct metal_executable *executable)
{
    struct building building = {.device = device, .desc = desc, .executable = executable};
    HAL_TRY(choose_variant(device, desc, executable));
    HAL_TRY(build_all(&building));
    for (size_t i = 0; i < desc->entry_point_count; i++)
        HAL_TRY(list_bindings(&executable->entries[i], desc->entry_points[i].name));
    return list_constants(executable, desc);
}

enum hal_status metal_executable_create(struct hal_driver_device *self,
                                        const struct hal_executable_desc *desc,
                                        struct hal_executable **out)
{
    const char *label = desc->label ? desc->label : "";
    const size_t count = desc->entry_point_count;
    for (size_t i = 0; desc->layouts && i < count; i++) {
        if (desc->layouts[i])
            return hal_fail(HAL_UNSUPPORTED,
                            "executable '%s', entry point '%s': the Metal driver knows no "
                            "pipeline layouts yet",
                            label, desc->entry_points[i].name);
    }
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
    for (size_t i = 0; i < executable->entry_count; i++) {
        [executable->entries[i].pipeline release];
        free(executable->entries[i].bindings);
    }
    for (size_t i = 0; i < executable->constant_count; i++)
        free((char *)(uintptr_t)executable->constants[i].name);
    free(executable->constants);
    [executable->library release];
    free(executable);
}
