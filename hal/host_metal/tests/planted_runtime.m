/* SPDX-License-Identifier: Apache-2.0 */
/* Objective-C: reference counts, pools, blocks, collections, dispatch. */
#import "hal/host_metal/tests/planted.h"

#include <pthread.h>

/* A bug of one statement. */
#define PLANT(name, ...)                                                                           \
    static bool name(void)                                                                         \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
        return false;                                                                              \
    }

@interface Dying : NSObject
@end
@implementation Dying
- (void)dealloc
{
    [self retain];
    [super dealloc];
}
@end

@protocol Unknown
- (void)doWhatNobodyCan;
@end

static void *without_pool(void *context)
{
    (void)context;
    [NSString stringWithUTF8String:"x"];
    return NULL;
}

/* clang-format off */
PLANT(message_to_released, NSMutableArray *const array = [[NSMutableArray alloc] init]; [array release]; [array addObject:@"x"])
PLANT(retain_in_dealloc, [[[Dying alloc] init] release])
PLANT(selector_unknown, [(id<Unknown>)@"text" doWhatNobodyCan])
PLANT(no_pool, pthread_t thread; pthread_create(&thread, NULL, without_pool, NULL); pthread_join(thread, NULL))
PLANT(pool_retained, [[[NSAutoreleasePool alloc] init] retain])
PLANT(index_beyond, [[NSArray arrayWithObject:@"x"] objectAtIndex:1])
PLANT(nil_in_array, [[NSMutableArray array] addObject:(id _Nonnull)nil])
PLANT(nil_in_dictionary, [[NSMutableDictionary dictionary] setObject:(id _Nonnull)nil forKey:@"x"])
PLANT(changed_while_enumerated, NSMutableArray *const array = [NSMutableArray array]; [array addObject:@"a"]; [array addObject:@"b"]; for (id object in array) [array addObject:object])
PLANT(stack_block_retained, int captured = 1; dispatch_block_t block = ^{ (void)captured; }; [block retain])
PLANT(block_autoreleased, int captured = 1; [[^{ (void)captured; } copy] autorelease])
PLANT(string_of_null, [NSString stringWithUTF8String:(const char *_Nonnull)NULL])
PLANT(string_in_utf16, [[NSString alloc] initWithBytes:"a\0" length:2 encoding:10])
PLANT(format_unknown, [NSString stringWithFormat:[NSString stringWithUTF8String:"%Z"], 1])
PLANT(url_of_nil, [NSURL fileURLWithPath:(NSString *_Nonnull)nil])
PLANT(semaphore_in_use, dispatch_semaphore_t semaphore = dispatch_semaphore_create(2); dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER); dispatch_release(semaphore))
PLANT(priority_positive, dispatch_queue_attr_make_with_qos_class(DISPATCH_QUEUE_SERIAL, QOS_CLASS_DEFAULT, 1))
/* clang-format on */

const struct planted planted_runtime[] = {
    {"message to a released object", "message-to-released-object", NULL, message_to_released},
    {"retained while it dies", "retain-of-dying-object", NULL, retain_in_dealloc},
    {"method that does not exist", "unknown-selector", NULL, selector_unknown},
    {"autorelease without a pool", "no-autorelease-pool", NULL, no_pool},
    {"pool retained", "pool-retained", NULL, pool_retained},
    {"array index beyond the end", "array-index", NULL, index_beyond},
    {"nil in an array", "array-nil", NULL, nil_in_array},
    {"nil in a dictionary", "dictionary-nil", NULL, nil_in_dictionary},
    {"array changed in a loop over it", "array-changed-while-enumerated", NULL,
     changed_while_enumerated},
    {"block on the stack retained", "stack-block-retained", NULL, stack_block_retained},
    {"block autoreleased", "block-autoreleased", NULL, block_autoreleased},
    {"string from NULL", "string-is-null", NULL, string_of_null},
    {"string in UTF-16", "string-encoding", NULL, string_in_utf16},
    {"unknown conversion", "string-format", NULL, format_unknown},
    {"URL from nil", "url-path", NULL, url_of_nil},
    {"semaphore destroyed in use", "semaphore-destroyed-in-use", NULL, semaphore_in_use},
    {"positive relative priority", "dispatch-priority", NULL, priority_positive},
    {.name = NULL},
};
