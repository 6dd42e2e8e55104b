/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of functions, from source. Compared with: names.txt. */
#ifndef HOST_METAL_MTLLIBRARY_H
#define HOST_METAL_MTLLIBRARY_H

#import <Metal/MTLArgumentEncoder.h>
#import <Metal/MTLFunctionConstantValues.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(NSUInteger, MTLFunctionType) {
    MTLFunctionTypeVertex = 1,
    MTLFunctionTypeFragment = 2,
    MTLFunctionTypeKernel = 3,
    MTLFunctionTypeVisible = 5,
    MTLFunctionTypeIntersection = 6,
};

typedef NS_ENUM(NSUInteger, MTLLanguageVersion) {
    MTLLanguageVersion1_1 = 65537,
    MTLLanguageVersion1_2 = 65538,
    MTLLanguageVersion2_0 = 131072,
    MTLLanguageVersion2_1 = 131073,
    MTLLanguageVersion2_2 = 131074,
    MTLLanguageVersion2_3 = 131075,
    MTLLanguageVersion2_4 = 131076,
    MTLLanguageVersion3_0 = 196608,
    MTLLanguageVersion3_1 = 196609,
    MTLLanguageVersion3_2 = 196610,
};

typedef NS_ENUM(NSInteger, MTLLibraryType) {
    MTLLibraryTypeExecutable = 0,
    MTLLibraryTypeDynamic = 1,
};

typedef NS_ENUM(NSInteger, MTLLibraryOptimizationLevel) {
    MTLLibraryOptimizationLevelDefault = 0,
    MTLLibraryOptimizationLevelSize = 1,
};

typedef NS_ENUM(NSInteger, MTLMathMode) {
    MTLMathModeSafe = 0,
    MTLMathModeRelaxed = 1,
    MTLMathModeFast = 2,
};

FOUNDATION_EXPORT NSErrorDomain const MTLLibraryErrorDomain;
typedef NS_ENUM(NSUInteger, MTLLibraryError) {
    MTLLibraryErrorUnsupported = 1,
    MTLLibraryErrorInternal = 2,
    MTLLibraryErrorCompileFailure = 3,
    MTLLibraryErrorCompileWarning = 4,
    MTLLibraryErrorFunctionNotFound = 5,
    MTLLibraryErrorFileNotFound = 6,
};

@interface MTLCompileOptions : NSObject <NSCopying> {
    NSDictionary *_preprocessorMacros;
    MTLMathMode _mathMode;
    MTLLanguageVersion _languageVersion;
    MTLLibraryType _libraryType;
    NSString *_installName;
    MTLLibraryOptimizationLevel _optimizationLevel;
    NSUInteger _maxTotalThreadsPerThreadgroup;
}
@property(nullable, readwrite, copy, nonatomic)
    NSDictionary<NSString *, NSObject *> *preprocessorMacros;
@property(readwrite, nonatomic) BOOL fastMathEnabled;
@property(readwrite, nonatomic) MTLMathMode mathMode;
@property(readwrite, nonatomic) MTLLanguageVersion languageVersion;
@property(readwrite, nonatomic) MTLLibraryType libraryType;
@property(readwrite, nullable, copy, nonatomic) NSString *installName;
@property(readwrite, nonatomic) MTLLibraryOptimizationLevel optimizationLevel;
@property(readwrite, nonatomic) NSUInteger maxTotalThreadsPerThreadgroup;
@end

@interface MTLFunctionConstant : NSObject {
    NSString *_name;
    MTLDataType _type;
    NSUInteger _index;
    BOOL _required;
}
@property(readonly) NSString *name;
@property(readonly) MTLDataType type;
@property(readonly) NSUInteger index;
@property(readonly) BOOL required;
@end

@protocol MTLFunction <NSObject>
@property(nullable, copy, atomic) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) MTLFunctionType functionType;
@property(readonly) NSString *name;
@property(readonly) NSDictionary<NSString *, MTLFunctionConstant *> *functionConstantsDictionary;
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)bufferIndex
    NS_RETURNS_RETAINED;
@end

@protocol MTLLibrary <NSObject>
@property(nullable, copy, atomic) NSString *label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSArray<NSString *> *functionNames;
@property(readonly) MTLLibraryType type;
- (nullable id<MTLFunction>)newFunctionWithName:(NSString *)functionName NS_RETURNS_RETAINED;
- (nullable id<MTLFunction>)newFunctionWithName:(NSString *)name
                                 constantValues:(MTLFunctionConstantValues *)constantValues
                                          error:(NSError *_Nullable *_Nullable)error
    NS_RETURNS_RETAINED;
- (void)newFunctionWithName:(NSString *)name
             constantValues:(MTLFunctionConstantValues *)constantValues
          completionHandler:(void (^)(id<MTLFunction> _Nullable function,
                                      NSError *_Nullable error))completionHandler;
@end

typedef void (^MTLNewLibraryCompletionHandler)(id<MTLLibrary> _Nullable library,
                                               NSError *_Nullable error);

NS_ASSUME_NONNULL_END

#endif
