/* SPDX-License-Identifier: Apache-2.0 */
/* Values of function constants. Compared with: names.txt. */
#ifndef HOST_METAL_MTLFUNCTIONCONSTANTVALUES_H
#define HOST_METAL_MTLFUNCTIONCONSTANTVALUES_H

#import <Metal/MTLArgument.h>

NS_ASSUME_NONNULL_BEGIN

@interface MTLFunctionConstantValues : NSObject <NSCopying> {
    NSMutableDictionary *_values;
}
- (void)setConstantValue:(const void *)value type:(MTLDataType)type atIndex:(NSUInteger)index;
- (void)setConstantValues:(const void *)values type:(MTLDataType)type withRange:(NSRange)range;
- (void)setConstantValue:(const void *)value type:(MTLDataType)type withName:(NSString *)name;
- (void)reset;
@end

NS_ASSUME_NONNULL_END

#endif
