/* SPDX-License-Identifier: Apache-2.0 */
/* Metal's compute subset, declared as Apple declares it, for the host Metal of
 * hal/host_metal/: protocols, selectors, types, enum values and structs are Apple's and nothing
 * else is declared. hal/host_metal/names.txt says of every name, selector and value what it was
 * compared with, and check-names fails for those that do not stand there. What is not declared here
 * does not exist on the host: add it here, then there. */
#ifndef HOST_METAL_METAL_H
#define HOST_METAL_METAL_H

#import <Metal/MTLCaptureManager.h>

#endif
