/* SPDX-License-Identifier: Apache-2.0 */
/* Strings and errors between Metal and the HAL. */
#import "hal/drivers/metal/metal.h"

NSString *metal_string(const char *text)
{
    NSString *string = text ? [NSString stringWithUTF8String:text] : nil;
    return string ? string : @"";
}

const char *metal_error_text(NSError *error)
{
    const char *text = error ? error.localizedDescription.UTF8String : NULL;
    return text ? text : "Metal gives no reason";
}

/* A device that was removed, or that this process may not use any more, is lost. */
enum hal_status metal_error_status(NSError *error)
{
    switch ((MTLCommandBufferError)error.code) {
    case MTLCommandBufferErrorOutOfMemory: return HAL_NO_MEMORY;
    case MTLCommandBufferErrorDeviceRemoved:
    case MTLCommandBufferErrorAccessRevoked: return HAL_DEVICE_LOST;
    case MTLCommandBufferErrorNone:
    case MTLCommandBufferErrorInternal:
    case MTLCommandBufferErrorTimeout:
    case MTLCommandBufferErrorPageFault:
    case MTLCommandBufferErrorNotPermitted:
    case MTLCommandBufferErrorInvalidResource:
    case MTLCommandBufferErrorMemoryless:
    case MTLCommandBufferErrorStackOverflow: break;
    }
    return HAL_FAILED;
}
