/* SPDX-License-Identifier: Apache-2.0 */
/* A function and a pipeline per entry point. They are made by several threads: each takes Metal a
 * while. With an executable cache they are taken from its archive, if all of them are there. */
#include "hal/base/mem.h"
#include "hal/base/text.h"
#import "hal/drivers/metal/archive.h"

#include <stdio.h>

enum { MAX_BUILDERS = 8 };

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
    case HAL_CONSTANT_INT8: return MTLDataTypeChar;
    case HAL_CONSTANT_UINT8: return MTLDataTypeUChar;
    case HAL_CONSTANT_INT16: return MTLDataTypeShort;
    case HAL_CONSTANT_UINT16: return MTLDataTypeUShort;
    case HAL_CONSTANT_FLOAT16: return MTLDataTypeHalf;
    case HAL_CONSTANT_BFLOAT16: return MTLDataTypeBFloat;
    case HAL_CONSTANT_INT64: return MTLDataTypeLong;
    case HAL_CONSTANT_UINT64: return MTLDataTypeULong;
    }
    return MTLDataTypeUInt;
}

static size_t bytes_of(enum hal_constant_type type)
{
    switch (type) {
    case HAL_CONSTANT_BOOL:
    case HAL_CONSTANT_INT8:
    case HAL_CONSTANT_UINT8: return 1;
    case HAL_CONSTANT_INT16:
    case HAL_CONSTANT_UINT16:
    case HAL_CONSTANT_FLOAT16:
    case HAL_CONSTANT_BFLOAT16: return 2;
    case HAL_CONSTANT_INT32:
    case HAL_CONSTANT_UINT32:
    case HAL_CONSTANT_FLOAT32: return 4;
    case HAL_CONSTANT_INT64:
    case HAL_CONSTANT_UINT64: break;
    }
    return 8;
}

_Static_assert(MTLDataTypeFloat4 == MTLDataTypeFloat + 3, "vectors follow their scalar");

/* A scalar, or the components of a vector, whose type's number is that many higher. Returns how
 * many values it took. */
static size_t set_value(MTLFunctionConstantValues *values, const struct hal_constant *constant,
                        size_t left)
{
    enum { MOST_COMPONENTS = 4, MOST_BYTES = 8 };
    _Alignas(32) uint8_t value[MOST_COMPONENTS * MOST_BYTES] = {0};
    const size_t bytes = bytes_of(constant->type);
    size_t count = 0;
    while (count < left && count < MOST_COMPONENTS && constant[count].index == constant->index) {
        memcpy(value + count * bytes, &constant[count].bits, bytes);
        count++;
    }
    [values setConstantValue:value
                        type:(MTLDataType)(type_of(constant->type) + count - 1)
                     atIndex:constant->index];
    return count;
}

static MTLFunctionConstantValues *make_values(const struct hal_executable_desc *desc)
{
    MTLFunctionConstantValues *values = [[[MTLFunctionConstantValues alloc] init] autorelease];
    for (size_t i = 0; i < desc->constant_count;)
        i += set_value(values, &desc->constants[i], desc->constant_count - i);
    return values;
}

/* A kernel with function constants says which until it is specialized, even without values. */
static enum hal_status find_function(id<MTLLibrary> library, const struct hal_executable_desc *desc,
                                     const char *name, bool specialize,
                                     id<MTLFunction> *out_function)
{
    NSError *error = nil;
    NSString *wanted = metal_string(name);
    if (!is_known(library, wanted))
        return fail_unknown(library, name);
    *out_function = [library newFunctionWithName:wanted];
    if (specialize && (*out_function).functionConstantsDictionary.allKeys.count > 0) {
        [*out_function release];
        *out_function = [library newFunctionWithName:wanted
                                      constantValues:make_values(desc)
                                               error:&error];
    }
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

/* Returns the indices of arguments in threadgroup memory. */
static uint32_t read_reflection(MTLComputePipelineReflection *reflection, struct metal_entry *entry)
{
    NSArray<id<MTLBinding>> *bindings = reflection.bindings;
    uint32_t taken = 0;
    for (NSUInteger i = 0; i < bindings.count; i++) {
        id<MTLBinding> binding = [bindings objectAtIndex:i];
        if (binding.type == MTLBindingTypeThreadgroupMemory && binding.isArgument)
            taken |= UINT32_C(1) << (binding.index < 31 ? binding.index : 31);
        if (binding.type != MTLBindingTypeBuffer || binding.index >= METAL_MAX_SLOTS)
            continue;
        entry->buffer_mask |= 1U << binding.index;
        entry->alignments[binding.index] = alignment_of(binding);
        if (binding.access != MTLBindingAccessWriteOnly)
            entry->read_mask |= 1U << binding.index;
        if (binding.access != MTLBindingAccessReadOnly)
            entry->written_mask |= 1U << binding.index;
    }
    return taken;
}

static enum hal_status check_entry(const struct metal_device *device,
                                   const struct hal_entry_point *wanted,
                                   const struct metal_entry *entry, bool from_spirv, uint32_t taken)
{
    const uint64_t threads =
        (uint64_t)wanted->workgroup_size[0] * wanted->workgroup_size[1] * wanted->workgroup_size[2];
    const uint64_t most = entry->pipeline.maxTotalThreadsPerThreadgroup;
    if (!from_spirv) /* whose constants the translation places */
        HAL_TRY(hal_check_entry_slot(wanted, entry->buffer_mask >> wanted->constants_slot & 1));
    if (threads > most)
        return hal_fail(HAL_INVALID, "kernel '%s' has workgroups of %s, the limit for it is %llu",
                        wanted->name,
                        hal_count((unsigned long long)threads, "thread", "threads").text,
                        (unsigned long long)most);
    return hal_check_entry_workgroup_memory(wanted, taken,
                                            entry->pipeline.staticThreadgroupMemoryLength,
                                            device->device.maxThreadgroupMemoryLength);
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
        return hal_fail(
            HAL_UNSUPPORTED,
            "kernel '%s' has a pipeline layout, which requires argument buffers of tier 2",
            wanted->name);
    rest &= ~((UINT32_C(1) << layout->set_count) - 1);
    if (wanted->constant_bytes)
        rest &= ~(UINT32_C(1) << wanted->constants_slot);
    if (rest)
        return hal_fail(HAL_INVALID, "kernel '%s' has a [[buffer(%d)]], but its %s has %s",
                        wanted->name, __builtin_ctz(rest), hal_object_name(&layout->object, name),
                        hal_count(layout->set_count, "descriptor set", "descriptor sets").text);
    return HAL_OK;
}

struct building {
    struct metal_device *device;
    const struct hal_executable_desc *desc;
    struct metal_executable *executable;
    struct metal_archive archive;
    MTLComputePipelineDescriptor **descriptors; /* by entry point; nil: it was not got so far */
    _Atomic size_t next;
    pthread_mutex_t lock;
    size_t failed; /* the first entry point that cannot be built */
    enum hal_status status;
    char message[HAL_MESSAGE_BYTES];
};

/* What the archive has not is compiled. */
static id<MTLComputePipelineState> compile(id<MTLDevice> device, struct metal_archive *archive,
                                           MTLComputePipelineDescriptor *descriptor,
                                           MTLComputePipelineReflection **out_reflection,
                                           NSError **error) NS_RETURNS_RETAINED
{
    const MTLPipelineOption options =
        MTLPipelineOptionArgumentInfo | MTLPipelineOptionBufferTypeInfo;
    id<MTLComputePipelineState> pipeline = nil;
    if (archive->found) {
        descriptor.binaryArchives = [NSArray arrayWithObject:archive->found];
        pipeline = [device
            newComputePipelineStateWithDescriptor:descriptor
                                          options:options | MTLPipelineOptionFailOnBinaryArchiveMiss
                                       reflection:out_reflection
                                            error:error];
        descriptor.binaryArchives = nil;
    }
    if (pipeline)
        return pipeline;
    atomic_store(&archive->is_incomplete, true);
    return [device newComputePipelineStateWithDescriptor:descriptor
                                                 options:options
                                              reflection:out_reflection
                                                   error:error];
}

static enum hal_status make_pipeline(struct building *building, id<MTLFunction> function,
                                     size_t index, const struct spirv_entry *where)
{
    struct metal_device *device = building->device;
    struct metal_entry *entry = &building->executable->entries[index];
    const struct hal_entry_point *wanted = &building->desc->entry_points[index];
    const struct hal_pipeline_layout *layout =
        building->desc->layouts ? building->desc->layouts[index] : NULL;
    NSError *error = nil;
    MTLComputePipelineReflection *reflection = nil;
    MTLComputePipelineDescriptor *descriptor = [[MTLComputePipelineDescriptor alloc] init];
    descriptor.label = metal_string(wanted->name);
    descriptor.computeFunction = function;
    entry->pipeline = compile(device->device, &building->archive, descriptor, &reflection, &error);
    building->descriptors[index] = descriptor;
    if (!entry->pipeline)
        return hal_fail(HAL_INVALID, "kernel '%s': %s", wanted->name, metal_error_text(error));
    entry->workgroup_size = MTLSizeMake(wanted->workgroup_size[0], wanted->workgroup_size[1],
                                        wanted->workgroup_size[2]);
    memcpy(entry->workgroup_argument_bytes, wanted->workgroup_argument_bytes,
           sizeof entry->workgroup_argument_bytes);
    if (where) {
        HAL_TRY(hal_kernel_slots_of_spirv(wanted, where, &entry->slots));
    } else { /* with a layout, set s is [[buffer(s)]] */
        hal_kernel_slots_of_msl(wanted, &entry->slots);
        entry->layout = layout;
    }
    const uint32_t taken = read_reflection(reflection, entry);
    HAL_TRY(check_sets(device, wanted, entry));
    return check_entry(device, wanted, entry, where != NULL, taken);
}

/* ---- In parallel -------------------------------------------------------------------------- */

static void build_entry(struct building *building, size_t index)
{
    struct metal_executable *executable = building->executable;
    const struct hal_entry_point *wanted = &building->desc->entry_points[index];
    const struct spirv_entry *where = executable->spirv ? &executable->spirv->entries[index] : NULL;
    id<MTLFunction> function = nil;
    enum hal_status status =
        find_function(executable->library, building->desc, where ? where->kernel : wanted->name,
                      where == NULL, &function);
    if (status == HAL_OK)
        status = make_pipeline(building, function, index, where);
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

/* ---- All of them -------------------------------------------------------------------------- */

enum hal_status metal_pipelines_create(struct metal_device *device,
                                       const struct hal_executable_desc *desc,
                                       struct metal_executable *executable)
{
    const size_t count = desc->entry_point_count;
    struct building building = {
        .device = device,
        .desc = desc,
        .executable = executable,
        .descriptors = hal_alloc(count, sizeof *building.descriptors),
    };
    if (!building.descriptors)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu entry points", count);
    metal_archive_open(&building.archive, device, desc, executable);
    const enum hal_status status = build_all(&building);
    executable->base.from_cache = building.archive.found && !building.archive.is_incomplete;
    metal_archive_close(&building.archive, device, status == HAL_OK ? building.descriptors : NULL,
                        count);
    for (size_t i = 0; i < count; i++)
        [building.descriptors[i] release];
    free(building.descriptors);
    return status;
}
