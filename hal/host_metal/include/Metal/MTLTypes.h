/* SPDX-License-Identifier: Apache-2.0 */
/* Plain types. Compared with: names.txt (layouts of structs with their encodings in pyobjc). */
#ifndef HOST_METAL_MTLTYPES_H
#define HOST_METAL_MTLTYPES_H

#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

typedef struct {
    NSUInteger x, y, z;
} MTLOrigin;

typedef struct {
    NSUInteger width, height, depth;
} MTLSize;

typedef struct {
    MTLOrigin origin;
    MTLSize size;
} MTLRegion;

typedef struct {
    NSUInteger size;
    NSUInteger align;
} MTLSizeAndAlign;

typedef struct {
    uint32_t threadgroupsPerGrid[3];
} MTLDispatchThreadgroupsIndirectArguments;

typedef struct {
    uint64_t _impl;
} MTLResourceID;

typedef uint64_t MTLTimestamp;

static inline MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth)
{
    MTLSize size = {width, height, depth};
    return size;
}

static inline MTLOrigin MTLOriginMake(NSUInteger x, NSUInteger y, NSUInteger z)
{
    MTLOrigin origin = {x, y, z};
    return origin;
}

NS_ASSUME_NONNULL_END

#endif
