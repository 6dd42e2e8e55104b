/* SPDX-License-Identifier: Apache-2.0 */
/* Foundation, blocks and dispatch, as far as they go. */
#import "hal/host_metal/tests/work.h"

#include <objc/runtime.h>
#include <pthread.h>
#include <time.h>

TEST(test_strings)
{
    NSString *const text =
        [NSString stringWithFormat:@"%@ %d %5.2f %lu %.*s%% %llx %c %@", @"a", -3, 2.5, 7ul, 2,
                                   "bcd", 0xffffffffffull, 'x', nil];
    assert_string_equal(text.UTF8String, "a -3  2.50 7 bc% ffffffffff x (null)");
    assert_int_equal([NSString stringWithUTF8String:"h\xc3\xa9\xf0\x9f\x98\x80"].length, 4);
    assert_true([[NSString stringWithUTF8String:"abc"] isEqualToString:@"abc"]);
    assert_int_equal(@"abc".hash, ([NSString stringWithFormat:@"%s", "abc"].hash));
    assert_string_equal(@"//a/./b//c/".stringByStandardizingPath.UTF8String, "/a/b/c");
    assert_string_equal(@"/a/b.gputrace".pathExtension.UTF8String, "gputrace");
    char *const large = malloc(100001);
    memset(large, 'y', 100000);
    large[100000] = 0;
    assert_int_equal(([NSString stringWithFormat:@"%s%s", large, large].length), 200000);
    free(large);
}

TEST(test_collections)
{
    NSMutableArray *const array = [NSMutableArray array];
    for (int i = 0; i < 100; i++)
        [array addObject:[NSNumber numberWithInt:i]];
    [array removeObjectAtIndex:50];
    [array insertObject:@"fifty" atIndex:50];
    int seen = 0;
    for (id object in array)
        assert_int_equal([array indexOfObject:object], seen++);
    assert_int_equal(seen, 100);
    assert_string_equal([[array objectAtIndex:50] description].UTF8String, "fifty");

    NSMutableDictionary *const dictionary = [NSMutableDictionary dictionary];
    [dictionary setObject:@"one" forKey:[NSNumber numberWithInt:1]];
    [dictionary setObject:@"uno" forKey:[NSNumber numberWithInt:1]];
    assert_int_equal(dictionary.count, 1);
    assert_string_equal([[dictionary objectForKey:[NSNumber numberWithInt:1]] UTF8String], "uno");
    [dictionary removeObjectForKey:[NSNumber numberWithInt:1]];
    assert_null([dictionary objectForKey:[NSNumber numberWithInt:1]]);
}

TEST(test_blocks_retain_what_they_capture)
{
    NSMutableArray *array = [[NSMutableArray alloc] init];
    __block int changed = 0;
    void (^const block)(void) = [^{
      changed += (int)array.count + 1;
    } copy];
    assert_int_equal(array.retainCount, 2);
    void (^const again)(void) = [block copy];
    assert_ptr_equal(block, again);
    [array addObject:@"x"];
    block();
    assert_int_equal(changed, 2);
    [again release];
    assert_int_equal(array.retainCount, 2);
    [block release];
    assert_int_equal(array.retainCount, 1);
    [array release];
}

TEST(test_queue_runs_in_order)
{
    const dispatch_queue_t queue = dispatch_queue_create("test", DISPATCH_QUEUE_SERIAL);
    __block int next = 0, wrong = 0;
    for (int i = 0; i < 2000; i++)
        dispatch_async(queue, ^{
          wrong += next++ != i;
        });
    dispatch_sync(queue, ^{
      wrong += next != 2000;
    });
    assert_int_equal(wrong, 0);
    dispatch_release(queue);
}

__attribute__((noinline)) static void call_nothing(dispatch_queue_t queue)
{
    dispatch_sync(queue, ^{
                  });
}

static void signal_semaphore(void *semaphore)
{
    dispatch_semaphore_signal(semaphore);
}

/* Where the frame of call_nothing was. */
__attribute__((noinline)) static void expect_untouched_frame(dispatch_queue_t queue)
{
    volatile uint8_t room[512];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0xff;
    const dispatch_semaphore_t semaphore = dispatch_semaphore_create(0);
    dispatch_async_f(queue, semaphore, signal_semaphore);
    dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER);
    dispatch_release(semaphore);
    for (size_t i = 0; i < sizeof room; i++)
        assert_int_equal(room[i], 0xff);
}

TEST(test_queue_leaves_the_callers_frame_alone)
{
    const dispatch_queue_t queue = dispatch_queue_create("test", DISPATCH_QUEUE_SERIAL);
    for (int i = 0; i < 10000; i++) {
        call_nothing(queue);
        expect_untouched_frame(queue);
    }
    dispatch_release(queue);
}

TEST(test_semaphore_times_out)
{
    const dispatch_semaphore_t semaphore = dispatch_semaphore_create(1);
    assert_int_equal(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_NOW), 0);
    const dispatch_time_t soon = dispatch_time(DISPATCH_TIME_NOW, 2000000);
    assert_int_not_equal(dispatch_semaphore_wait(semaphore, soon), 0);
    dispatch_semaphore_signal(semaphore);
    assert_int_equal(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER), 0);
    dispatch_semaphore_signal(semaphore);
    dispatch_release(semaphore);
    assert_int_equal(dispatch_time(DISPATCH_TIME_FOREVER, 5), DISPATCH_TIME_FOREVER);
}

TEST(test_data_gives_its_memory_back)
{
    __block int freed = 0;
    static const char bytes[] = "abc";
    dispatch_data_t data = dispatch_data_create(bytes, 3, nil, ^{
      freed++;
    });
    assert_int_equal(dispatch_data_get_size(data), 3);
    assert_true(dispatch_data_apply(
        data, ^bool(dispatch_data_t region, size_t offset, const void *buffer, size_t size) {
          (void)region;
          return offset == 0 && buffer == bytes && size == 3;
        }));
    dispatch_release(data);
    assert_int_equal(freed, 1);
}

/* The host's protocols and their implementations are in different files. Returns how many methods
 * were looked for. */
static unsigned expect_protocol(id object, Protocol *protocol)
{
    unsigned count = 0, adopted_count = 0;
    struct objc_method_description *const methods =
        protocol_copyMethodDescriptionList(protocol, YES, YES, &count);
    for (unsigned i = 0; i < count; i++)
        if (![object respondsToSelector:methods[i].name])
            fail_msg("%s does not have %s", object_getClassName(object),
                     sel_getName(methods[i].name));
    free(methods);
    Protocol *__unsafe_unretained *const adopted =
        protocol_copyProtocolList(protocol, &adopted_count);
    for (unsigned i = 0; i < adopted_count; i++)
        count += expect_protocol(object, adopted[i]);
    free(adopted);
    return count;
}

static void expect_complete(id object)
{
    unsigned checked = 0;
    for (Class class = [object class]; class; class = class_getSuperclass(class)) {
        unsigned count = 0;
        Protocol *__unsafe_unretained *const protocols = class_copyProtocolList(class, &count);
        for (unsigned i = 0; i < count; i++)
            checked += expect_protocol(object, protocols[i]);
        free(protocols);
    }
    assert_true(checked > 20); /* NSObject alone has fewer */
}

TEST(test_protocols_are_complete)
{
    struct work work;
    work_begin(&work);
    expect_complete(work.device);
    expect_complete(work.queue);
    expect_complete(work.library);
    const id<MTLFunction> function = [work.library newFunctionWithName:@"through"];
    expect_complete(function);
    const id<MTLArgumentEncoder> arguments = [function newArgumentEncoderWithBufferIndex:0];
    expect_complete(arguments);
    const id<MTLComputePipelineState> pipeline = work_pipeline(&work, "add");
    expect_complete(pipeline);
    const id<MTLBuffer> buffer = work_buffer(&work, 4, 0, 0);
    expect_complete(buffer);
    MTLHeapDescriptor *const descriptor = [[MTLHeapDescriptor alloc] init];
    descriptor.size = 65536;
    const id<MTLHeap> heap = [work.device newHeapWithDescriptor:descriptor];
    expect_complete(heap);
    const id<MTLSharedEvent> event = [work.device newSharedEvent];
    expect_complete(event);
    const id<MTLFence> fence = [work.device newFence];
    expect_complete(fence);
    const id<MTLCommandBuffer> commands = [work.queue commandBuffer];
    expect_complete(commands);
    const id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
    expect_complete(blit);
    [blit endEncoding];
    const id<MTLComputeCommandEncoder> compute = [commands computeCommandEncoder];
    expect_complete(compute);
    [compute endEncoding];
    [fence release];
    [event release];
    [heap release];
    [descriptor release];
    [buffer release];
    [pipeline release];
    [arguments release];
    [function release];
    work_end(&work);
}
