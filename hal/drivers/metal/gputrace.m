/* SPDX-License-Identifier: Apache-2.0 */
/* Captures by Metal itself, into a .gputrace document for Xcode: a layer that forwards everything
 * and ends the capture when it is removed. */
#include "hal/base/mem.h"
#import "hal/drivers/metal/metal.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

static enum hal_status flush(struct hal_layer *self)
{
    (void)self;
    return HAL_OK;
}

static enum hal_status end(struct hal_layer *self)
{
    @autoreleasepool {
        [[MTLCaptureManager sharedCaptureManager] stopCapture];
    }
    free(self);
    return HAL_OK;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

/* A document is a folder. Links are removed, not followed. */
static enum hal_status make_room(const char *file, bool force)
{
    enum { MAX_DESCRIPTORS = 16 };
    struct stat status;
    if (lstat(file, &status) != 0)
        return HAL_OK;
    if (!force)
        return hal_fail(HAL_EXISTS, "'%s' exists already", file);
    if (nftw(file, remove_one, MAX_DESCRIPTORS, FTW_DEPTH | FTW_PHYS) != 0)
        return hal_fail(HAL_IO, "cannot replace '%s': %s", file, strerror(errno));
    return HAL_OK;
}

static enum hal_status fail_unsupported(const char *file)
{
    return hal_fail(
        HAL_UNSUPPORTED,
        "'%s': Metal writes no .gputrace documents for this program: set MTL_CAPTURE_ENABLED=1 and "
        "METAL_CAPTURE_ENABLED=1 in its environment (which one applies depends on the system's "
        "version), or MetalCaptureEnabled in its Info.plist",
        file);
}

static enum hal_status fail_start(NSError *error, const char *file)
{
    enum hal_status status = HAL_FAILED;
    switch ((MTLCaptureError)error.code) {
    case MTLCaptureErrorNotSupported: return fail_unsupported(file);
    case MTLCaptureErrorAlreadyCapturing: status = HAL_EXISTS; break;
    case MTLCaptureErrorInvalidDescriptor: status = HAL_INVALID; break;
    }
    return hal_fail(status, "'%s': Metal cannot begin the capture: %s", file,
                    metal_error_text(error));
}

/* An old document is removed only if nothing known prevents writing a new one. */
static enum hal_status start(struct metal_device *device, const char *file, bool force)
{
    NSError *error = nil;
    MTLCaptureManager *manager = [MTLCaptureManager sharedCaptureManager];
    if (![manager supportsDestination:MTLCaptureDestinationGPUTraceDocument])
        return fail_unsupported(file);
    if (manager.isCapturing)
        return hal_fail(HAL_EXISTS,
                        "'%s': Metal is already capturing, and supports one capture at a time",
                        file);
    HAL_TRY(make_room(file, force));
    MTLCaptureDescriptor *descriptor = [[[MTLCaptureDescriptor alloc] init] autorelease];
    descriptor.captureObject = device->device;
    descriptor.destination = MTLCaptureDestinationGPUTraceDocument;
    descriptor.outputURL = [NSURL fileURLWithPath:metal_string(file) isDirectory:NO];
    if ([manager startCaptureWithDescriptor:descriptor error:&error])
        return HAL_OK;
    return fail_start(error, file);
}

enum hal_status metal_gputrace_begin(const struct hal_core *core, struct hal_device *device,
                                     struct hal_driver_device *next,
                                     const struct hal_profiling_options *options,
                                     struct hal_layer **out_layer)
{
    (void)core;
    (void)device;
    struct hal_layer *layer = hal_alloc(1, sizeof *layer);
    if (!layer)
        return hal_fail(HAL_NO_MEMORY, "no memory for a capture");
    enum hal_status status;
    @autoreleasepool {
        status = start(to_metal_device(next), options->file, options->force);
    }
    if (status != HAL_OK) {
        free(layer);
        return status;
    }
    *layer = (struct hal_layer){.device = next, .flush = flush, .end = end, .leave = end};
    *out_layer = layer;
    return HAL_OK;
}
