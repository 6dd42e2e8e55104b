/* SPDX-License-Identifier: Apache-2.0 */
/* Private header of the Vulkan driver.
 *
 * HAL semaphores are values on the host, which increase when a submission has retired. Each queue
 * has one Vulkan timeline semaphore, which every submission raises by one: a submission that waits
 * for a value *promised* by another one already passed to the device waits there for that
 * submission's number, without the host. One that waits for anything else is passed to the device
 * later.
 *
 * hal_engine_lock guards what submissions share, across devices. */
#ifndef HAL_VULKAN_VULKAN_H
#define HAL_VULKAN_VULKAN_H

#include "hal/base/fifo.h"
#include "hal/core/engine/engine.h"
#include "hal/drivers/shared/kernels.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

/* ---- The loader (loader.c) ------------------------------------------------------------------ */

/* clang-format off */
#define VULKAN_FUNCTIONS(f)                                                                        \
    f(AllocateCommandBuffers) f(AllocateDescriptorSets) f(AllocateMemory) f(BeginCommandBuffer)    \
    f(BindBufferMemory) f(CmdBindDescriptorSets) f(CmdBindPipeline) f(CmdCopyBuffer)               \
    f(CmdDispatch) f(CmdDispatchIndirect) f(CmdFillBuffer) f(CmdPipelineBarrier)                   \
    f(CmdPushConstants) f(CmdResetEvent) f(CmdResetQueryPool) f(CmdSetEvent) f(CmdUpdateBuffer)                     \
    f(CmdWaitEvents) f(CmdWriteTimestamp)                                                          \
    f(CreateBuffer) f(CreateCommandPool) f(CreateComputePipelines) f(CreateDescriptorPool)         \
    f(CreateDescriptorSetLayout) f(CreateDevice) f(CreateEvent) f(CreateFence) f(CreatePipelineCache)             \
    f(CreatePipelineLayout) f(CreateQueryPool) f(CreateSemaphore) f(CreateShaderModule)            \
    f(DestroyBuffer) f(DestroyCommandPool) f(DestroyDescriptorPool)                                \
    f(DestroyDescriptorSetLayout) f(DestroyDevice) f(DestroyEvent) f(DestroyFence) f(DestroyInstance)              \
    f(DestroyPipeline) f(DestroyPipelineCache) f(DestroyPipelineLayout) f(DestroyQueryPool)        \
    f(DestroySemaphore) f(DestroyShaderModule) f(DeviceWaitIdle) f(EndCommandBuffer)               \
    f(EnumerateDeviceExtensionProperties) f(EnumeratePhysicalDevices)                              \
    f(FlushMappedMemoryRanges) f(FreeMemory) f(GetBufferMemoryRequirements)                        \
    f(GetDeviceQueue) f(GetPhysicalDeviceFeatures2) f(GetPhysicalDeviceMemoryProperties)           \
    f(GetPhysicalDeviceProperties2) f(GetPhysicalDeviceQueueFamilyProperties)                      \
    f(GetPipelineCacheData) f(GetQueryPoolResults) f(GetSemaphoreCounterValue)                     \
    f(InvalidateMappedMemoryRanges) f(MapMemory) f(QueueSubmit) f(ResetCommandPool)                \
    f(UpdateDescriptorSets) f(WaitForFences) f(WaitSemaphores)
/* NULL if the system lacks them. */
#define VULKAN_OPTIONAL_FUNCTIONS(f)                                                               \
    f(CmdBeginDebugUtilsLabelEXT) f(CmdEndDebugUtilsLabelEXT) f(CmdPushDescriptorSetKHR)           \
    f(CreateDebugUtilsMessengerEXT) f(DestroyDebugUtilsMessengerEXT)                               \
    f(GetCalibratedTimestampsEXT) f(GetMemoryHostPointerPropertiesEXT)                             \
    f(GetPhysicalDeviceCalibrateableTimeDomainsEXT) f(SetDebugUtilsObjectNameEXT)
/* clang-format on */

struct vulkan_functions {
#define VULKAN_MEMBER(name) PFN_vk##name name;
    VULKAN_FUNCTIONS(VULKAN_MEMBER)
    VULKAN_OPTIONAL_FUNCTIONS(VULKAN_MEMBER)
#undef VULKAN_MEMBER
};

/* Valid after vulkan_hold. */
extern struct vulkan_functions vk;
extern VkInstance vulkan_instance;
extern bool vulkan_has_debug_utils;

/* Initialises Vulkan on first use. The instance is kept until the process ends: drivers that are
 * unloaded leak memory. HAL_NOT_FOUND: there is no loader, or no driver for it. */
enum hal_status vulkan_hold(void) HAL_CHECKED;

/* Number of validation messages in this process. */
uint32_t vulkan_validation_messages(void);

/* With HAL_VULKAN_VALIDATION=error, vulkan_heard fails a call if an error was reported on its
 * thread since the last vulkan_listen. */
void vulkan_listen(void);
enum hal_status vulkan_heard(enum hal_status status) HAL_CHECKED;

/* Converts a Vulkan failure to a HAL failure; the message ends with Vulkan's result. */
enum hal_status vulkan_fail(VkResult result, const char *format, ...) HAL_PRINTF(2, 3);

/* ---- Memory (heap.c) ------------------------------------------------------------------------ */

struct vulkan_device;

struct vulkan_block {
    struct vulkan_block *next;
    VkDeviceMemory memory;
    uint8_t *data; /* NULL: not accessible to the host */
    uint64_t bytes;
    uint32_t type;
    bool is_shared;          /* may hold several ranges */
    bool is_imported;        /* imported host memory at `data` */
    struct vulkan_gap *gaps; /* sorted by offset */
};

/* A range of a block. */
struct vulkan_memory {
    struct vulkan_block *block;
    uint64_t offset, bytes;
};

struct vulkan_heap {
    pthread_mutex_t lock;
    struct vulkan_block *blocks;
    uint64_t used_bytes, allocated_bytes;
    uint32_t block_count;
};

void vulkan_heap_init(struct vulkan_device *device);
void vulkan_heap_finish(struct vulkan_device *device);

/* Allocates memory with the required properties and, if a type with free space has them, `also`. */
enum hal_status vulkan_memory_take(struct vulkan_device *device, const VkMemoryRequirements *needs,
                                   VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags also,
                                   struct vulkan_memory *out_memory) HAL_CHECKED;
/* Imports host memory in whole pages; not counted as device memory. */
enum hal_status vulkan_memory_import(struct vulkan_device *device,
                                     const VkMemoryRequirements *needs, void *pages, uint64_t bytes,
                                     struct vulkan_memory *out_memory) HAL_CHECKED;
void vulkan_memory_give(struct vulkan_device *device, const struct vulkan_memory *memory);

/* ---- Buffers (memory.c) --------------------------------------------------------------------- */

struct vulkan_buffer {
    struct hal_buffer base;
    VkBuffer buffer;
    struct vulkan_memory memory;
    uint64_t origin; /* begin of the HAL's buffer in Vulkan's: imported pages begin earlier */
    bool is_coherent;
};

static inline struct vulkan_buffer *to_vulkan_buffer(const struct hal_buffer *buffer)
{
    return (struct vulkan_buffer *)(uintptr_t)buffer;
}

/* A Vulkan buffer and offset. */
struct vulkan_place {
    VkBuffer buffer;
    uint64_t offset;
};

static inline struct vulkan_place vulkan_place_of(const struct hal_buffer *base, uint64_t offset)
{
    const struct vulkan_buffer *buffer = to_vulkan_buffer(base);
    return (struct vulkan_place){buffer->buffer, buffer->origin + offset};
}

/* The driver's own memory: host-visible and coherent. */
struct vulkan_staging {
    VkBuffer buffer;
    struct vulkan_memory memory;
    uint8_t *data;
};
enum hal_status vulkan_staging_create(struct vulkan_device *device, uint64_t bytes,
                                      struct vulkan_staging *out_staging) HAL_CHECKED;
void vulkan_staging_destroy(struct vulkan_device *device, struct vulkan_staging *staging);

enum hal_status vulkan_buffer_create(struct hal_driver_device *self,
                                     const struct hal_buffer_desc *desc, struct hal_buffer **out);
enum hal_status vulkan_buffer_import(struct hal_driver_device *self,
                                     const struct hal_buffer_desc *desc, void *pointer,
                                     struct hal_buffer **out);
void vulkan_buffer_destroy(struct vulkan_device *device, struct vulkan_buffer *buffer);
enum hal_status vulkan_buffer_map(struct hal_driver_device *self, struct hal_buffer *base,
                                  struct hal_mapping *out);
enum hal_status vulkan_buffer_unmap(struct hal_driver_device *self,
                                    const struct hal_mapping *mapping);
enum hal_status vulkan_mapping_flush(struct hal_driver_device *self,
                                     const struct hal_mapping *mapping, uint64_t offset,
                                     uint64_t bytes);
enum hal_status vulkan_mapping_invalidate(struct hal_driver_device *self,
                                          const struct hal_mapping *mapping, uint64_t offset,
                                          uint64_t bytes);

/* ---- Executables (executable.c) ------------------------------------------------------------- */

/* The binding of that buffer; the HAL's bindings are below. */
enum { VULKAN_CARRIED_BINDING = HAL_MAX_BINDINGS };

struct vulkan_entry {
    VkPipeline pipeline;
    VkPipelineLayout layout;
    VkDescriptorSetLayout sets[HAL_MAX_SETS]; /* VK_NULL_HANDLE: empty, before the last one */
    uint32_t set_count;
    bool is_pushed; /* set 0 uses push descriptors */
    uint32_t constant_bytes;
    bool carries_constants; /* too many to push: they are in a buffer, in set 0 */
    uint32_t binding_count;
    struct spirv_binding bindings[SPIRV_MAX_BINDINGS]; /* sorted by set and binding */
};

struct vulkan_executable {
    struct hal_executable base;
    struct vulkan_entry *entries;
    size_t entry_count;
    struct spirv_translation *translation;
    struct hal_constant_info *constants; /* for reflection */
    struct hal_entry_binding *bindings;  /* SPIRV_MAX_BINDINGS per entry */
};

static inline struct vulkan_executable *to_vulkan_executable(const struct hal_executable *base)
{
    return (struct vulkan_executable *)(uintptr_t)base;
}

/* Executable caches (archive.c): an executable's pipelines in a file of the cache's directory. */
enum hal_status vulkan_cache_open(struct hal_driver_device *self, const char *wanted,
                                  char *out_path, size_t bytes);
enum hal_status vulkan_cache_measure(struct hal_driver_device *self, const char *directory,
                                     uint64_t *out_bytes, uint64_t *out_entries);

enum hal_status vulkan_executable_create(struct hal_driver_device *self,
                                         const struct hal_executable_desc *desc,
                                         struct hal_executable **out);
void vulkan_executable_destroy(struct vulkan_device *device, struct vulkan_executable *executable);
enum hal_status vulkan_executable_reflect(struct hal_driver_device *self,
                                          struct hal_executable *base,
                                          struct hal_executable_info *out_info);
enum hal_status vulkan_entry_reflect(struct hal_driver_device *self, struct hal_executable *base,
                                     uint32_t entry, struct hal_entry_info *out_info);

/* demands.c. HAL_UNSUPPORTED: a capability is missing. HAL_INVALID: too much shared memory. */
struct spirv_module;
enum hal_status vulkan_check_demands(const struct vulkan_device *device,
                                     const struct spirv_module *module) HAL_CHECKED;
enum hal_status vulkan_check_shared(const struct vulkan_device *device,
                                    const struct spirv_module *module,
                                    const char *name) HAL_CHECKED;

/* Creates the layouts and the pipeline of an entry whose bindings and constants are set. */
enum hal_status vulkan_entry_create(struct vulkan_device *device, VkPipelineCache cache,
                                    VkShaderModule module, const char *name,
                                    struct vulkan_entry *entry) HAL_CHECKED;
void vulkan_entry_destroy(struct vulkan_device *device, struct vulkan_entry *entry);

/* ---- Command buffers (program.c, count_check.c) ---------------------------------------------- */

/* A reusable pool with one command buffer. */
struct vulkan_command_pool {
    struct vulkan_command_pool *next;
    VkCommandPool pool;
    VkCommandBuffer commands;
};
enum hal_status vulkan_command_pool_take(struct vulkan_device *device,
                                         struct vulkan_command_pool **out_pool) HAL_CHECKED;
void vulkan_command_pool_give(struct vulkan_device *device, struct vulkan_command_pool *pool);
void vulkan_command_pools_free(struct vulkan_device *device);

/* A kernel copies the counts of an indirect dispatch, replacing those that exceed a limit by zeros.
 * Written by the kernel; layout as in count_check.comp. */
struct vulkan_checked_counts {
    uint32_t counts[3];
    uint32_t is_refused;
    uint32_t given[3];
    uint32_t reserved;
};

struct vulkan_count_check {
    const struct hal_entry_point *entry;
    uint32_t dispatch; /* its index in the command buffer */
};

struct vulkan_program {
    const struct hal_command_buffer *commands; /* translated from */
    struct vulkan_command_pool *command_pool;
    VkDescriptorPool pool;         /* VK_NULL_HANDLE: only push descriptors */
    struct vulkan_staging staging; /* data of updates and of unaligned ends of fills */
    struct vulkan_staging checked; /* a struct vulkan_checked_counts for each check */
    struct vulkan_count_check *checks;
    size_t check_count;
    VkEvent *events; /* one per signal */
    size_t event_count;
    VkQueryPool times; /* VK_NULL_HANDLE: not timed */
    uint32_t *timed;   /* indices of the timed dispatches: queries 2 i and 2 i + 1 */
    uint32_t timed_count;
    bool is_empty;
    bool is_exclusive; /* its checks and events serve one run at a time */
    bool is_busy;      /* guarded by the engine's lock */
};

/* The purpose of a program. */
enum vulkan_program_kind { VULKAN_PLAIN, VULKAN_TIMED };

enum hal_status vulkan_program_create(struct vulkan_device *device,
                                      const struct hal_command_buffer *commands,
                                      enum vulkan_program_kind kind,
                                      struct vulkan_program **out_program) HAL_CHECKED;
void vulkan_program_destroy(struct vulkan_device *device, struct vulkan_program *program);

/* Call after it has run: checks that the counts of indirect dispatches were within the limits. */
enum hal_status vulkan_program_check(const struct vulkan_device *device,
                                     const struct vulkan_program *program) HAL_CHECKED;

/* times.c: call around a dispatch, which is separated from its neighbours if it is timed. */
void vulkan_time_begin(struct vulkan_program *program, VkCommandBuffer target);
void vulkan_time_end(struct vulkan_program *program, VkCommandBuffer target, uint32_t dispatch);
enum hal_status vulkan_times_create(struct vulkan_device *device, struct vulkan_program *program,
                                    uint32_t dispatches, VkCommandBuffer target) HAL_CHECKED;
void vulkan_times_destroy(struct vulkan_device *device, struct vulkan_program *program);
/* Call after it has ended: appends the known times, with this number for the command buffer. */
size_t vulkan_times_read(struct vulkan_device *device, const struct vulkan_program *program,
                         uint32_t command_buffer, struct hal_dispatch_time *out_times);

enum hal_status vulkan_count_check_create(struct vulkan_device *device) HAL_CHECKED;

/* ---- Queues (queue.c) ----------------------------------------------------------------------- */

/* Surrounds a submission: a timestamp before it, a timestamp and a barrier to the host after it. */
struct vulkan_slot {
    struct vulkan_slot *next;
    VkCommandBuffer before, after;
    VkQueryPool queries;
    uint32_t first_query;
};

struct vulkan_slot_chunk;

struct vulkan_hardware_queue {
    pthread_mutex_t lock; /* around vkQueueSubmit */
    VkQueue queue;
};

struct vulkan_queue {
    struct vulkan_device *device;
    uint32_t index;
    struct vulkan_hardware_queue *hardware; /* may serve several queues */
    VkSemaphore timeline;
    uint64_t last_number;        /* guarded by the hardware's lock */
    struct hal_fifo submissions; /* passed to the device; guarded by the engine's lock */
    pthread_cond_t submitted;
    pthread_t thread;
    bool has_thread;
    bool is_stuck; /* for the queue's thread: a submission did not end */
};

enum hal_status vulkan_queues_start(struct vulkan_device *device) HAL_CHECKED;
void vulkan_queues_stop(struct vulkan_device *device);

extern const struct hal_engine_ops vulkan_engine_ops; /* submission.c */

/* ---- Slots and the clock (slot.c) ----------------------------------------------------------- */

enum hal_status vulkan_slot_take(struct vulkan_device *device,
                                 struct vulkan_slot **out_slot) HAL_CHECKED;
void vulkan_slot_give(struct vulkan_device *device, struct vulkan_slot *slot);
void vulkan_slots_free(struct vulkan_device *device);

/* Converts device ticks to the host's clock; now_ns: a later moment. */
int64_t vulkan_clock_ns(struct vulkan_device *device, uint64_t ticks, int64_t now_ns);

/* When the ended submission in the slot began and ended; 0: unknown. */
void vulkan_slot_times(struct vulkan_device *device, const struct vulkan_slot *slot,
                       int64_t *out_begin_ns, int64_t *out_end_ns);
void vulkan_clock_start(struct vulkan_device *device);

/* ---- Host calls (host.c) -------------------------------------------------------------------- */

/* For the engine. Data that the host cannot access is copied to accessible memory, and back. */
enum hal_status vulkan_host_call(struct hal_work *work);

/* ---- Device (device.c) ---------------------------------------------------------------------- */

/* Features that the device has, which are enabled. */
struct vulkan_features {
    VkPhysicalDeviceFeatures v10;
    VkPhysicalDeviceVulkan11Features v11;
    VkPhysicalDeviceVulkan12Features v12;
};

struct vulkan_device {
    struct hal_engine engine;
    VkPhysicalDevice physical;
    VkDevice device;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceLimits limits;
    VkPhysicalDeviceMemoryProperties memories;
    struct vulkan_features features;
    uint32_t subgroup_size;
    VkSubgroupFeatureFlags subgroup_operations;
    uint64_t max_allocation_bytes;
    uint64_t import_alignment; /* of pages and their number; 0: host memory cannot be imported */
    bool has_push, has_calibrated;
    uint32_t max_push_descriptors;
    uint32_t family, timestamp_bits;
    struct vulkan_heap heap;
    struct vulkan_hardware_queue *hardware;
    uint32_t hardware_count;
    struct vulkan_queue *queues;
    uint32_t queue_count;
    VkPipelineCache pipelines;
    struct vulkan_entry count_check;
    struct vulkan_command_pool *between; /* a full barrier */

    pthread_mutex_t spare_lock;
    struct vulkan_command_pool *command_pools;
    struct vulkan_slot *slots;
    struct vulkan_slot_chunk *chunks;

    pthread_mutex_t clock_lock;
    uint64_t clock_ticks;
    int64_t clock_ns, clock_time_ns; /* at those ticks; when it was read */

    /* Guarded by the engine's lock. */
    struct hal_fifo blocked; /* submissions waiting for a program that runs once at a time */
    struct vulkan_submission *abandoned; /* never completed by the device */
    bool is_given_up;                    /* there are abandoned submissions */
    bool is_stopping;

    struct vulkan_device *next_kept;

    int64_t watchdog_ns; /* time limit of a submission; 0: none */
};

static inline struct vulkan_device *to_vulkan_device(struct hal_driver_device *self)
{
    return (struct vulkan_device *)self;
}

/* Sets an object's name for Vulkan's tools. */
void vulkan_name(struct vulkan_device *device, VkObjectType type, uint64_t handle,
                 const char *label);

#endif
