/* SPDX-License-Identifier: Apache-2.0 */
/* Function constants: values, which kernels have which, and what needs one. */
#import "hal/host_metal/tests/work.h"

TEST(test_function_constants)
{
    struct work work;
    work_begin(&work);
    const id<MTLBuffer> target = work_buffer(&work, 64, 1, 1);
    MTLFunctionConstantValues *const values = [[MTLFunctionConstantValues alloc] init];
    const uint32_t factor = 9;
    [values setConstantValue:&factor type:MTLDataTypeUInt withName:@"factor"];
    NSError *error = nil;
    const id<MTLFunction> function = [work.library newFunctionWithName:@"scale"
                                                        constantValues:values
                                                                 error:&error];
    assert_non_null(function);
    MTLFunctionConstant *const constant =
        [function.functionConstantsDictionary objectForKey:@"factor"];
    assert_int_equal(constant.index, 3);
    assert_int_equal(constant.type, MTLDataTypeUInt);
    const id<MTLComputePipelineState> pipeline =
        [work.device newComputePipelineStateWithFunction:function error:&error];
    const id<MTLCommandBuffer> commands = [work.queue commandBuffer];
    const id<MTLComputeCommandEncoder> compute = [commands computeCommandEncoder];
    [compute setComputePipelineState:pipeline];
    [compute setBuffer:target offset:0 atIndex:0];
    [compute dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
    [compute endEncoding];
    work_finish(commands);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(((const uint32_t *)target.contents)[i], 9 * (1 + i));

    const float wrong = 1;
    [values reset];
    [values setConstantValue:&wrong type:MTLDataTypeFloat atIndex:3];
    assert_true(work_is_nothing([work.library newFunctionWithName:@"scale"
                                                   constantValues:values
                                                            error:&error]));
    assert_int_equal(error.code, MTLLibraryErrorCompileFailure);
    [pipeline release];
    [function release];
    [values release];
    [target release];
    work_end(&work);
}

/* Which constants kernels have, and whether they need a value: by what they, and what they call,
 * name. */
static const char constant_source[] =
    "// constant int in_a_comment [[function_constant(0)]]; /*\n"
    "constant int direct [[function_constant(1)]];\n"
    "constant bool called [[function_constant(2)]];\n"
    "constant uint behind [[function_constant(3)]];\n"
    "constant int asked [[function_constant(4)]];\n"
    "constant int nobodys [[function_constant(5)]];\n"
    "constant int derived = is_function_constant_defined(asked) ? asked : 11;\n"
    "namespace inner { namespace most {\n"
    "uint deep() { return behind; }\n"
    "} }\n"
    "struct box { int value[2]; int get() const { return called ? value[0] : 1; } };\n"
    "template <typename T> T twice(T x) { return x * 2; }\n"
    "static int helper(int x);\n"
    "static int helper(int x) { return twice(x) + (called ? 1 : 2); }\n"
    "[[kernel]] void plain(device int *x [[buffer(0)]]) { x[0] = 5; }\n"
    "kernel void uses_direct(device int *x [[buffer(0)]]) { x[0] = direct; }\n"
    "kernel void uses_derived(device int *x [[buffer(0)]]) { x[0] = derived; }\n"
    "kernel void uses_called(device int *x [[buffer(0)]]) { x[0] = helper(3); }\n"
    "kernel void uses_member(device box *x [[buffer(0)]]) { x->value[1] = x->get(); }\n"
    "kernel void uses_deep(device uint *x [[buffer(0)]]) { x[0] = inner::most::deep(); }\n";

/* NULL: not used. */
static MTLFunctionConstant *constant_of(id<MTLLibrary> library, const char *kernel, NSString *name)
{
    const id<MTLFunction> function =
        [[library newFunctionWithName:[NSString stringWithUTF8String:kernel]] autorelease];
    assert_non_null(function);
    return [function.functionConstantsDictionary objectForKey:name];
}

TEST(test_constants_are_required)
{
    static NSString *const names[] = {@"direct", @"called", @"behind", @"asked", @"nobodys"};
    static const struct {
        const char *kernel;
        NSString *uses;
        BOOL required;
    } wanted[] = {
        {"plain", @"", NO},
        {"uses_direct", @"direct", YES},
        {"uses_derived", @"asked", NO},
        {"uses_called", @"called", YES},
        {"uses_member", @"called", YES},
        {"uses_deep", @"behind", YES},
    };
    struct work work;
    work_begin(&work);
    NSError *error = nil;
    const id<MTLLibrary> library =
        [work.device newLibraryWithSource:[NSString stringWithUTF8String:constant_source]
                                  options:nil
                                    error:&error];
    assert_non_null(library);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            MTLFunctionConstant *const constant = constant_of(library, wanted[i].kernel, names[k]);
            assert_int_equal(constant != nil, [names[k] isEqualToString:wanted[i].uses]);
            if (constant)
                assert_int_equal(constant.required, wanted[i].required);
        }
    }
    [library release];
    work_end(&work);
}

static id<MTLComputePipelineState> try_kernel(const struct work *work, id<MTLLibrary> library,
                                              NSString *name, MTLFunctionConstantValues *values,
                                              NSError **error) NS_RETURNS_RETAINED
{
    const id<MTLFunction> function = values ? [library newFunctionWithName:name
                                                            constantValues:values
                                                                     error:error]
                                            : [library newFunctionWithName:name];
    if (!function)
        return nil;
    const id<MTLComputePipelineState> pipeline =
        [work->device newComputePipelineStateWithFunction:function error:error];
    [function release];
    return pipeline;
}

/* Metal specializes with what may be left out, refuses without what may not, and makes no pipeline
 * of what was not specialized. */
TEST(test_required_constants_have_values)
{
    struct work work;
    work_begin(&work);
    NSError *error = nil;
    const int32_t seven = 7;
    MTLFunctionConstantValues *const none = [[MTLFunctionConstantValues alloc] init],
                                     *const one = [[MTLFunctionConstantValues alloc] init];
    [one setConstantValue:&seven type:MTLDataTypeInt atIndex:1];
    const id<MTLLibrary> library =
        [work.device newLibraryWithSource:[NSString stringWithUTF8String:constant_source]
                                  options:nil
                                    error:&error];
    const struct {
        NSString *kernel;
        MTLFunctionConstantValues *values;
        BOOL good;
    } tries[] = {
        {@"plain", nil, YES},       {@"plain", none, YES},        {@"plain", one, YES},
        {@"uses_direct", nil, NO},  {@"uses_direct", none, NO},   {@"uses_direct", one, YES},
        {@"uses_derived", nil, NO}, {@"uses_derived", none, YES}, {@"uses_derived", one, YES},
        {@"uses_called", none, NO}, {@"uses_called", one, NO},    {@"uses_deep", one, NO},
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        error = nil;
        const id<MTLComputePipelineState> pipeline =
            try_kernel(&work, library, tries[i].kernel, tries[i].values, &error);
        assert_int_equal(pipeline != nil, tries[i].good);
        assert_int_equal(error != nil, !tries[i].good);
        [pipeline release];
    }
    [one release];
    [none release];
    [library release];
    work_end(&work);
}
