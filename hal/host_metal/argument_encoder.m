/* SPDX-License-Identifier: Apache-2.0 */
/* Argument encoders: device addresses and constants, written where the struct has them. */
#import "hal/host_metal/metal.h"
#import "hal/host_metal/reflect.h"

enum { ARGUMENT_ALIGNMENT = 16 };

@interface HMArgumentEncoder : HMObject <MTLArgumentEncoder> {
  @public
    struct hm_layout _layout;
    HMBuffer *_target; /* owned */
    NSUInteger _offset;
}
@end

@implementation HMArgumentEncoder
- (NSUInteger)encodedLength
{
    return (_layout.bytes + ARGUMENT_ALIGNMENT - 1) / ARGUMENT_ALIGNMENT * ARGUMENT_ALIGNMENT;
}
- (NSUInteger)alignment
{
    return ARGUMENT_ALIGNMENT;
}
- (void)setArgumentBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset
{
    HMBuffer *const target = (HMBuffer *)buffer;
    if (target) {
        hm_check_device(target, _device, "setArgumentBuffer:offset:");
        hm_check(offset % ARGUMENT_ALIGNMENT == 0, "argument-buffer-alignment",
                 "setArgumentBuffer:offset: %lu is not a multiple of %d", offset,
                 ARGUMENT_ALIGNMENT);
        [target hm_checkRange:NSMakeRange(offset, self.encodedLength)
                         call:"setArgumentBuffer:offset:"];
        hm_check(target->_host != NULL, "storage-mode",
                 "setArgumentBuffer:offset: %s has private storage", hm_name(target));
    }
    [target retain];
    [_target release];
    _target = target;
    _offset = offset;
}
- (void)setArgumentBuffer:(id<MTLBuffer>)buffer
              startOffset:(NSUInteger)start
             arrayElement:(NSUInteger)element
{
    [self setArgumentBuffer:buffer offset:start + element * self.encodedLength];
}
/* The member with `index`, which must exist, and its position. */
- (uint8_t *)hm_member:(NSUInteger)index
               pointer:(bool)is_pointer
                offset:(size_t *)out_offset
                  call:(const char *)call
{
    hm_check(_target, "argument-encoder", "%s before setArgumentBuffer", call);
    for (size_t i = 0; i < _layout.count; i++) {
        const struct hm_member *const member = &_layout.members[i];
        if (index < member->id || index >= member->id + member->count)
            continue;
        hm_check(member->is_pointer == is_pointer, "argument-encoder",
                 "%s: [[id(%lu)]] is %s buffer", call, index, member->is_pointer ? "a" : "no");
        *out_offset = _offset + member->offset + (index - member->id) * member->bytes;
        return _target->_host + *out_offset;
    }
    host_metal_broken("argument-encoder", "%s: there is no [[id(%lu)]]", call, index);
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index
{
    static const char call[] = "setBuffer:offset:atIndex: (argument encoder)";
    size_t place = 0;
    uint8_t *const member = [self hm_member:index pointer:true offset:&place call:call];
    HMBuffer *const pointee = (HMBuffer *)buffer;
    uint64_t address = 0;
    if (pointee) {
        hm_check_device(pointee, _device, call);
        hm_check(offset < pointee->_length, "range-out-of-bounds",
                 "%s: offset %lu of %s, which has %lu bytes", call, offset, hm_name(pointee),
                 pointee->_length);
        address = pointee.gpuAddress + offset;
    }
    memcpy(member, &address, sizeof address);
    /* What an encoder writes needs no didModifyRange. */
    [_target hm_copyToDevice:NSMakeRange(place, sizeof address)];
}
- (void)setBuffers:(const id<MTLBuffer> *)buffers
           offsets:(const NSUInteger *)offsets
         withRange:(NSRange)range
{
    for (NSUInteger i = 0; i < range.length; i++)
        [self setBuffer:buffers[i] offset:offsets[i] atIndex:range.location + i];
}
- (void *)constantDataAtIndex:(NSUInteger)index
{
    size_t place = 0;
    return [self hm_member:index pointer:false offset:&place call:"constantDataAtIndex"];
}
- (void)dealloc
{
    [_target release];
    [super dealloc];
}
@end

id<MTLArgumentEncoder> hm_make_argument_encoder(HMDevice *device, const struct hm_layout *layout)
{
    HMArgumentEncoder *const encoder = [[HMArgumentEncoder alloc] hm_initWithDevice:device];
    encoder->_layout = *layout;
    return encoder;
}

static int by_index(const void *a, const void *b)
{
    const NSUInteger first = (*(MTLArgumentDescriptor *const *)a).index;
    const NSUInteger second = (*(MTLArgumentDescriptor *const *)b).index;
    return first < second ? -1 : first > second;
}

@implementation HMDevice (Arguments)
/* Members are in index order. */
- (id<MTLArgumentEncoder>)newArgumentEncoderWithArguments:(NSArray *)arguments
{
    static const char call[] = "newArgumentEncoderWithArguments";
    hm_check(arguments.count > 0 && arguments.count <= HM_MAX_MEMBERS, "argument-encoder",
             "%s: %lu arguments; 1 to %d are supported", call, arguments.count, HM_MAX_MEMBERS);
    MTLArgumentDescriptor *sorted[HM_MAX_MEMBERS];
    for (NSUInteger i = 0; i < arguments.count; i++)
        sorted[i] = [arguments objectAtIndex:i];
    qsort(sorted, arguments.count, sizeof *sorted, by_index);
    struct hm_layout layout = {.alignment = 1};
    for (NSUInteger i = 0; i < arguments.count; i++) {
        const size_t bytes = hm_data_type_bytes((unsigned)sorted[i].dataType);
        hm_check(bytes, "argument-encoder", "%s: index %lu has the data type %lu", call,
                 sorted[i].index, sorted[i].dataType);
        hm_check(i == 0 ||
                     sorted[i].index >= layout.members[i - 1].id + layout.members[i - 1].count,
                 "argument-encoder", "%s: index %lu is there twice", call, sorted[i].index);
        hm_layout_add(
            &layout,
            (struct hm_member){.id = (uint32_t)sorted[i].index,
                               .count = sorted[i].arrayLength ? (uint32_t)sorted[i].arrayLength : 1,
                               .bytes = bytes,
                               .is_pointer = sorted[i].dataType == MTLDataTypePointer,
                               .data_type = (unsigned)sorted[i].dataType},
            bytes);
    }
    return hm_make_argument_encoder(self, &layout);
}
@end
