/* SPDX-License-Identifier: Apache-2.0 */
/* What objects of a device have in common, and the census at exit. */
#import "hal/host_metal/metal.h"

#include <stdatomic.h>

const char *hm_name(HMObject *object)
{
    static _Thread_local char names[4][96];
    static _Thread_local unsigned next;
    char *const name = names[next++ % 4];
    const char *const class = object_getClassName(object);
    if (object->_name)
        snprintf(name, sizeof *names, "%s '%s'", class, object->_name);
    else
        snprintf(name, sizeof *names, "%s without a label", class);
    return name;
}

void hm_check_device(HMObject *object, HMDevice *device, const char *call)
{
    hm_check(object->_device == device, "wrong-device", "%s: %s belongs to another device", call,
             hm_name(object));
}

@implementation HMObject
- (instancetype)hm_initWithDevice:(HMDevice *)device
{
    _device = [device retain];
    return self;
}
- (id<MTLDevice>)device
{
    return _device;
}
- (NSString *)label
{
    @synchronized(self) {
        return [[_label retain] autorelease];
    }
}
- (void)setLabel:(NSString *)label
{
    NSString *const copy = [label copy];
    @synchronized(self) {
        [_label autorelease]; /* a message may just use its bytes */
        _label = copy;
        _name = copy.UTF8String;
    }
}
- (void)dealloc
{
    hm_check(atomic_load(&_uses) == 0, "released-in-flight",
             "%s was released while %ld command buffers that do not retain it were not complete",
             hm_name(self), atomic_load(&_uses));
    [_label release];
    [_device release];
    [super dealloc];
}
@end

/* After everything that was linked against this library: nobody can release anything any more. */
__attribute__((destructor)) static void take_census(void)
{
    if (hm_modes()->no_census)
        return;
    hm_send_late_completions();
    if (!host_metal_wait_until_idle(hm_modes()->patience))
        host_metal_broken("unfinished-at-exit",
                          "command buffers or blocks were not finished %" PRIu64 " s after exit",
                          hm_modes()->patience);
    if (host_metal_object_count(NULL) == 0)
        return;
    fprintf(stderr, "Metal (host emulation): objects that live at exit:\n");
    const size_t count = host_metal_print_census(stderr);
    host_metal_broken("leaked-objects", "%zu objects were never released", count);
}
