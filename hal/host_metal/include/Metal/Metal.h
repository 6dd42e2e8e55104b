/* SPDX-License-Identifier: Apache-2.0 */
/* Metal's compute subset with Apple's declarations, for the host Metal of hal/host_metal/:
 * protocols, selectors, types, enum values and structs are Apple's, and nothing else is declared.
 * hal/host_metal/names.txt records what every name, selector and value was compared with, and
 * check-names fails for missing ones. Anything not declared here does not exist on the host: add it
 * here, then there. */
#ifndef HOST_METAL_METAL_H
#define HOST_METAL_METAL_H

#import <Metal/MTLCaptureManager.h>

#endif
