/* SPDX-License-Identifier: Apache-2.0 */
/* The classes behind Metal's protocols. Methods that Apple does not have begin with hm_.
 *
 * Locks: a queue's (order of its command buffers), a command buffer's (its state), an event's, a
 * heap's, and those inside memory.m; none is held while another one of the same kind is taken, nor
 * while handlers or kernels run. */
#ifndef HOST_METAL_METAL_PRIVATE_H
#define HOST_METAL_METAL_PRIVATE_H

#import "hal/compiler/msl/msl.h"
#import "hal/host_metal/memory.h"
#import "hal/host_metal/modes.h"
#import "hal/host_metal/runtime/runtime.h"
#import <Metal/Metal.h>

#pragma clang diagnostic ignored "-Wobjc-protocol-property-synthesis"
/* HMDevice is spread over several files; a test checks that all its methods exist. */
#pragma clang diagnostic ignored "-Wobjc-protocol-method-implementation"

@class HMBuffer, HMCommandBuffer, HMDevice, HMFence, HMHeap, HMPipeline, HMQueue;

enum {
    HM_MAX_SET_BYTES = 4096,
    HM_COPY_ALIGNMENT = 4,
    HM_MAX_SAMPLES = 4096,
    HM_MAX_SAMPLE_BUFFERS = 32, /* existing at a time in the process */
    HM_DEFAULT_COMMAND_BUFFERS = 64,
    HM_PASS_ATTACHMENTS = 4
};

/* Reports `rule` as broken if `condition` holds; the format begins with the called method. */
#define hm_check(condition, rule, ...)                                                             \
    do {                                                                                           \
        if (!(condition))                                                                          \
            host_metal_broken(rule, __VA_ARGS__);                                                  \
    } while (0)

/* ---- Objects ------------------------------------------------------------------------------ */

/* An object of a device that command buffers may use. */
@interface HMObject : NSObject {
  @public
    HMDevice *_device; /* owned */
    NSString *_label;
    const char *_name;  /* the label's bytes, for messages; or NULL */
    _Atomic long _uses; /* by command buffers that are not complete */
}
- (instancetype)hm_initWithDevice:(HMDevice *)device HM_INITIALIZER;
@property(readonly) id<MTLDevice> device;
@property(nullable, copy, atomic) NSString *label;
@end

/* "HMBuffer 'weights'"; valid until the thread's next call. */
const char *hm_name(HMObject *object);

/* Reports an object that belongs to another device. */
void hm_check_device(HMObject *object, HMDevice *device, const char *call);

@interface HMDevice : NSObject <MTLDevice> {
  @public
    NSString *_name;
    uint64_t _registry_id;
    uint64_t _memory_limit;
    _Atomic uint64_t _allocated;
    _Atomic bool _is_gone; /* every command buffer fails */
    NSArray *_counter_sets;
}
/* Allocates the bytes from the device's memory, or fails. */
- (BOOL)hm_take:(uint64_t)bytes;
- (void)hm_give:(uint64_t)bytes;
@end

uint64_t hm_now_ns(void);
MTLTimestamp hm_device_time(uint64_t ns);

/* ---- Memory ------------------------------------------------------------------------------- */

@interface HMBuffer : HMObject <MTLBuffer> {
  @public
    uint8_t *_host, *_device_bytes;
    NSUInteger _length;
    MTLResourceOptions _options;
    BOOL _two_copies, _has_span, _aliasable;
    struct hm_span _span;
    struct hm_memory _memory; /* its own, if it has no heap */
    struct hm_lent *_lent;    /* or NULL */
    HMHeap *_heap;            /* owned */
    NSUInteger _heap_offset;
    MTLPurgeableState _purgeable;
    void (^_deallocator)(void *, NSUInteger);
}
- (BOOL)hm_isTracked;
- (void)hm_checkRange:(NSRange)range call:(const char *)call;
/* Copies between the two copies of managed memory, if there are two. */
- (void)hm_copyToDevice:(NSRange)range;
- (void)hm_copyToHost;
@end

MTLStorageMode hm_storage_mode(MTLResourceOptions options);
void hm_check_options(MTLResourceOptions options, const char *call);
NSUInteger hm_heap_alignment(void);

@interface HMHeap : HMObject <MTLHeap> {
  @public
    pthread_mutex_t _lock;
    struct hm_memory _memory;
    NSUInteger _size;
    MTLResourceOptions _options;
    MTLHeapType _type;
    struct hm_heap_span {
        NSUInteger offset, bytes;
        HMBuffer *buffer; /* not owned: it removes itself */
    } * _spans;           /* sorted by offset */
    size_t _span_count, _span_capacity;
}
- (void)hm_remove:(HMBuffer *)buffer;
/* The buffers currently in it, retained and autoreleased. */
- (NSArray *)hm_buffers;
@end

/* ---- Functions ---------------------------------------------------------------------------- */

/* Shared by a library, its functions and their pipelines. */
@interface HMSource : NSObject {
  @public
    char *_text;
    size_t _bytes;
    enum msl_math _math;
    unsigned _pipelines;      /* being created: pipeline.m */
    BOOL _pipelines_have_met; /* two were being created at the same time */
}
@end

@interface HMLibrary : HMObject <MTLLibrary> {
  @public
    HMSource *_source;
    struct msl_library *_library;
    NSArray *_names;
}
+ (HMLibrary *)hm_libraryWithSource:(HMSource *)source
                             device:(HMDevice *)device
                              error:(NSError **)error NS_RETURNS_RETAINED;
@end

@interface HMFunction : HMObject <MTLFunction> {
  @public
    HMLibrary *_owner; /* owned: its code */
    NSString *_name_string;
    const struct msl_function *_function;
    struct msl_constant *_constants;
    size_t _constant_count;
    BOOL _needs_constants; /* for reflection only, cannot run */
    /* Versions for sizes of threadgroups, created on first dispatch. */
    pthread_mutex_t _lock;
    struct hm_version {
        uint32_t size[3];
        struct msl_library *library;
        const struct msl_function *function;
    } * _versions;
    size_t _version_count, _version_capacity;
}
- (const struct msl_function *)hm_functionForSize:(const uint32_t[3])size;
@end

@interface HMPipeline : HMObject <MTLComputePipelineState> {
  @public
    HMFunction *_function;
    const struct msl_function_info *_info;
    NSUInteger _max_threads;
    BOOL _multiple_of_width, _indirect;
    uint8_t _alignment[MSL_MAX_BUFFERS]; /* of offsets: the type's, 1 if unknown */
}
@end

@interface MTLFunctionConstant ()
/* By name: those used by the kernel. */
+ (NSDictionary<NSString *, MTLFunctionConstant *> *)hm_constantsOf:(HMLibrary *)library
                                                             kernel:(NSString *)kernel;
@end

@interface MTLFunctionConstantValues ()
/* Values for a kernel, owned by the caller; NULL: a type differs from the source's, or one is
 * missing. */
- (struct msl_constant *)hm_constantsFor:(HMLibrary *)library
                                  kernel:(NSString *)kernel
                                   count:(size_t *)out_count
                                   error:(NSError **)error;
@end

/* Whether one of the descriptor's archives contains it. */
bool hm_is_archived(MTLComputePipelineDescriptor *descriptor);

struct hm_layout;
id<MTLArgumentEncoder> hm_make_argument_encoder(HMDevice *device,
                                                const struct hm_layout *layout) NS_RETURNS_RETAINED;

NSError *hm_library_error(MTLLibraryError code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- Order -------------------------------------------------------------------------------- */

@interface HMFence : HMObject <MTLFence>
@end

@interface HMEvent : HMObject <MTLSharedEvent> {
  @public
    pthread_mutex_t _lock;
    pthread_cond_t _changed;
    uint64_t _value;
    BOOL _shared;
    struct hm_notification {
        uint64_t value;
        dispatch_queue_t queue;
        MTLSharedEventNotificationBlock block;
    } * _notifications;
    size_t _count, _capacity;
}
- (void)hm_signal:(uint64_t)value fromHost:(BOOL)from_host;
- (void)hm_wait:(uint64_t)value;
@end

@interface HMCounterSampleBuffer : HMObject <MTLCounterSampleBuffer> {
  @public
    _Atomic uint64_t *_samples;
    NSUInteger _count;
    MTLStorageMode _storage;
}
- (void)hm_sample:(NSUInteger)index time:(uint64_t)ns;
@end

/* ---- Command buffers ---------------------------------------------------------------------- */

struct hm_access {
    HMBuffer *buffer;
    unsigned access; /* HM_READ, HM_WRITE */
};
struct hm_accesses {
    struct hm_access *items;
    size_t count, capacity;
};
void hm_add_access(struct hm_accesses *accesses, HMBuffer *buffer, unsigned access);

enum hm_command_kind {
    HM_COMMAND_FILL,
    HM_COMMAND_COPY,
    HM_COMMAND_SYNCHRONIZE,
    HM_COMMAND_DISPATCH,
    HM_COMMAND_BARRIER,
    HM_COMMAND_RESOLVE,
    HM_COMMAND_SAMPLE
};

/* One command of an encoder. The command buffer keeps or watches the objects. */
struct hm_command {
    enum hm_command_kind kind;
    HMBuffer *target, *source; /* fill, copy, synchronize, resolve; source: indirect arguments */
    NSUInteger target_offset, source_offset, bytes;
    uint8_t value;
    HMPipeline *pipeline; /* dispatch */
    const struct msl_function *function;
    struct msl_launch launch;
    void *buffers[MSL_MAX_BUFFERS];
    uint32_t group_bytes[MSL_MAX_THREADGROUP_ARGUMENTS];
    HMCounterSampleBuffer *samples;
    bool barrier;                /* of a sample */
    struct hm_accesses accesses; /* its accesses; for a barrier: what it covers (none: all) */
};

enum { HM_PASS_START, HM_PASS_END };
struct hm_sampling {
    HMCounterSampleBuffer *buffer;
    NSUInteger index[2]; /* at its begin and end */
};

/* A debug group begins or ends before a command. */
struct hm_group_mark {
    size_t command;
    char *name; /* NULL: ends */
};

/* The work of one encoder, or one operation on an event. */
enum hm_step_kind { HM_STEP_PASS, HM_STEP_WAIT, HM_STEP_SIGNAL };
struct hm_step {
    enum hm_step_kind kind;
    HMEvent *event;
    uint64_t value;

    char *label;
    BOOL concurrent; /* dispatches; blits always are */
    struct hm_command *commands;
    size_t command_count, command_capacity;
    struct hm_accesses accesses;
    HMFence **waits, **updates;
    size_t wait_count, wait_capacity, update_count, update_capacity;
    struct hm_sampling samplings[HM_PASS_ATTACHMENTS];
    void **blocks; /* constants */
    size_t block_count, block_capacity;
    struct hm_group_mark *marks;
    size_t mark_count, mark_capacity;
    MTLCommandEncoderErrorState state;
};

void hm_step_destroy(struct hm_step *step);

/* Grows the array by one element. */
void hm_grow(void **items, size_t count, size_t *capacity, size_t item_bytes);

@interface HMCommandBuffer : HMObject <MTLCommandBuffer> {
  @public
    HMQueue *_queue; /* owned */
    BOOL _retains, _encoding;
    MTLCommandBufferErrorOption _error_options;
    pthread_mutex_t _lock; /* guards the following, up to _error */
    pthread_cond_t _changed;
    MTLCommandBufferStatus _status;
    BOOL _handlers_done, _late;
    uint64_t _begin_ns, _end_ns;
    NSError *_error;

    NSMutableArray *_scheduled_handlers, *_completed_handlers;
    struct hm_step **_steps;
    size_t _step_count, _step_capacity;
    HMObject **_used;
    size_t _used_count, _used_capacity;
    long _debug_groups;
}
- (instancetype)hm_initWithQueue:(HMQueue *)queue retains:(BOOL)retains HM_INITIALIZER;
/* Keeps the object until the commands are complete, or watches that the application does. */
- (void)hm_use:(HMObject *)object;
- (void)hm_encoderEnded;
- (BOOL)hm_waits; /* for an event, anywhere */
- (void)hm_sendCompletion;
@end

/* During a capture, executed work is added to its document. */
void hm_notes_begin(const char *path);
void hm_notes_add(HMCommandBuffer *buffer);
void hm_notes_end(void);

/* At exit: sends the completion handlers delayed by HOST_METAL=latehandlers. */
void hm_send_late_completions(void);

/* A command buffer being executed by hm_execute. */
struct hm_run {
    HMCommandBuffer *buffer;
    size_t fail_at;            /* index of the failing pass; SIZE_MAX: none */
    uint64_t begin_ns, end_ns; /* of its first and last step: output */
    size_t pass_count;         /* so far */
    bool failed;
};

/* Maximum number run together. */
enum { HM_MAX_RUNS = 8 };

/* From scheduling to completion; handlers run on another thread. */
void hm_run_buffers(HMQueue *queue, HMCommandBuffer *const *buffers, size_t count);

/* Executes the steps of consecutive command buffers of a queue. Only the first may wait for events,
 * since the others' completion would come after that. */
void hm_execute(HMQueue *queue, struct hm_run *runs, size_t count);

@interface HMQueue : HMObject <MTLCommandQueue> {
  @public
    pthread_mutex_t _lock;
    pthread_cond_t _room;
    NSMutableArray *_order; /* enqueued, not committed, or following such a one */
    NSMutableArray *_ready; /* committed, not yet running */
    NSUInteger _limit, _unfinished;
    dispatch_queue_t _execution, _completion;
    struct msl_worker *_worker; /* of _execution's thread */
}
- (void)hm_enqueue:(HMCommandBuffer *)buffer;
- (void)hm_pump;
- (void)hm_bufferFinished;
@end

/* ---- Encoders ----------------------------------------------------------------------------- */

@interface HMEncoder : HMObject <MTLCommandEncoder> {
  @public
    HMCommandBuffer *_buffer; /* owned */
    struct hm_step *_step;    /* the command buffer's */
    BOOL _ended;
    long _debug_groups;
}
- (instancetype)hm_initWithBuffer:(HMCommandBuffer *)buffer HM_INITIALIZER;
- (void)hm_checkOpen:(const char *)call;
- (struct hm_command *)hm_command:(enum hm_command_kind)kind;
- (void)hm_addAccess:(HMBuffer *)buffer
              access:(unsigned)access
             command:(struct hm_command *)command;
- (void)hm_sampleAt:(NSUInteger)attachment
             buffer:(id<MTLCounterSampleBuffer>)buffer
              start:(NSUInteger)start
                end:(NSUInteger)end;
- (void)hm_sample:(id<MTLCounterSampleBuffer>)buffer
            index:(NSUInteger)index
          barrier:(BOOL)barrier
               at:(MTLCounterSamplingPoint)point
             call:(const char *)call;
- (void)hm_waitForFence:(id<MTLFence>)fence;
- (void)hm_updateFence:(id<MTLFence>)fence;
@end

@interface HMBlitEncoder : HMEncoder <MTLBlitCommandEncoder>
@end

@interface HMComputeEncoder : HMEncoder <MTLComputeCommandEncoder> {
  @public
    MTLDispatchType _type;
    HMPipeline *_pipeline; /* owned, like the bindings */
    struct hm_binding {
        HMBuffer *buffer;
        NSUInteger offset;
        void *bytes; /* owned by the step */
    } _bindings[MSL_MAX_BUFFERS];
    uint32_t _group_bytes[MSL_MAX_THREADGROUP_ARGUMENTS];
    struct hm_accesses _named; /* by useResource and useHeap */
}
@end

#endif
