/* SPDX-License-Identifier: Apache-2.0 */
/* Executables: the variant that is taken, a library from source or from compiled form. */
#include "hal/base/mem.h"
#import "hal/drivers/metal/metal.h"

#include <stdio.h>

/* ---- Libraries ---------------------------------------------------------------------------- */

/* Metal calls every source "program_source": users know it by its label. */
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
    options.languageVersion = MTLLanguageVersion3_1; /* with bfloat */
    options.fastMathEnabled = device->fast_math;
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
        HAL_TRY(hal_kernel_translate(desc, variant, &executable->spirv));
        library = compile_source(device, executable->spirv->text, executable->spirv->bytes, &error);
        break;
    }
    if (!library && !error && variant->format == HAL_FORMAT_METALLIB)
        return hal_fail(HAL_INVALID, "Metal rejects the library without giving a reason");
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

/* Everything that can be found wrong with a variant. */
static enum hal_status build(struct metal_device *device, const struct hal_executable_desc *desc,
                             const struct hal_executable_variant *variant,
                             struct metal_executable *executable)
{
    HAL_TRY(make_library(device, desc, variant, executable));
    HAL_TRY(metal_pipelines_create(device, desc, executable));
    return metal_reflection_create(executable, desc);
}

/* Also after half of it. */
static void take_down(struct metal_executable *executable)
{
    metal_reflection_destroy(executable);
    for (size_t i = 0; i < executable->entry_count; i++) {
        [executable->entries[i].pipeline release];
        executable->entries[i].pipeline = nil;
    }
    [executable->library release];
    executable->library = nil;
    spirv_translation_destroy(executable->spirv);
    executable->spirv = NULL;
}

struct making {
    struct metal_device *device;
    struct metal_executable *executable;
};

static enum hal_status build_variant(void *user, const struct hal_executable_desc *desc,
                                     const struct hal_executable_variant *variant)
{
    const struct making *making = user;
    const enum hal_status status = build(making->device, desc, variant, making->executable);
    if (status != HAL_OK)
        take_down(making->executable);
    return status;
}

/* ---- Life --------------------------------------------------------------------------------- */

enum hal_status metal_executable_create(struct hal_driver_device *self,
                                        const struct hal_executable_desc *desc,
                                        struct hal_executable **out)
{
    const char *label = desc->label ? desc->label : "";
    const size_t count = desc->entry_point_count;
    HAL_TRY(hal_add_context(hal_engine_check(&to_metal_device(self)->engine), "executable '%s'",
                            label));
    struct metal_executable *executable =
        hal_alloc(1, sizeof *executable + count * sizeof executable->entries[0]);
    if (!executable)
        return hal_fail(HAL_NO_MEMORY, "executable '%s': no memory for %zu entry points", label,
                        count);
    const struct hal_variant_builder builder = {"Metal", formats, FORMAT_COUNT, build_variant};
    struct making making = {to_metal_device(self), executable};
    enum hal_status status;
    executable->entry_count = count;
    @autoreleasepool {
        status = hal_variants_build(&builder, &making, desc, &executable->base.variant);
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
    take_down(executable);
    free(executable);
}
