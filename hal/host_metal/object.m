/* SPDX-License-Identifier: Apache-2.0 */
/* What objects of a device have in common. */
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
