/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinding by libunwind, numbering, and the list of modules by the dynamic loader. */
#include "capture/encode/stacks.h"

#include "format/limits.h"
#include "hal/base/mem.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAX_FRAMES = 128, STACK_BUCKETS = 1 << 14, MODULE_BUCKETS = 1 << 10 };

/* ---- Modules ---- */

static void record_module(struct capture_thread *thread, const struct capture_module *module)
{
    const uint64_t bytes = hal_align_up(sizeof(struct trace_module) + module->build_id_bytes, 8);
    const uint32_t path = capture_string(thread, module->path);
    struct trace_module *record = capture_reserve(thread, bytes);
    if (!record)
        return;
    memset(record, 0, bytes);
    *record = (struct trace_module){.head = {.kind = TRACE_MODULE, .bytes = (uint32_t)bytes},
                                    .base = module->base,
                                    .size = module->bytes,
                                    .path = path,
                                    .build_id_bytes = module->build_id_bytes};
    memcpy(record->build_id, module->build_id, module->build_id_bytes);
    capture_publish(thread, bytes);
}

struct module_walk {
    struct capture_stacks *stacks;
    struct capture_thread *thread;
};

static bool visit_module(void *user, const struct capture_module *module)
{
    const struct module_walk *walk = user;
    bool is_new;
    char key[PATH_MAX + 32];
    const int length =
        snprintf(key, sizeof key, "%llx %s", (unsigned long long)module->base, module->path);
    if (capture_table_number(&walk->stacks->modules, key, (size_t)length, &is_new) && is_new)
        record_module(walk->thread, module);
    return true;
}

void capture_modules(struct capture_stacks *stacks, struct capture_thread *thread)
{
    struct module_walk walk = {stacks, thread};
    const uint64_t seen = capture_modules_each(visit_module, &walk);
    atomic_store_explicit(&stacks->modules_seen, seen, memory_order_relaxed);
}

static void refresh_modules(struct capture_stacks *stacks, struct capture_thread *thread)
{
    if (capture_modules_additions() !=
        atomic_load_explicit(&stacks->modules_seen, memory_order_relaxed))
        capture_modules(stacks, thread);
}

/* ---- Stacks ---- */

static void record_stack(struct capture_thread *thread, uint32_t id, void *const *frames,
                         uint32_t count)
{
    const uint64_t bytes = sizeof(struct trace_stack) + count * sizeof(uint64_t);
    struct trace_stack *record = capture_reserve(thread, bytes);
    if (!record)
        return;
    *record = (struct trace_stack){
        .head = {.kind = TRACE_STACK, .bytes = (uint32_t)bytes}, .id = id, .frame_count = count};
    for (uint32_t i = 0; i < count; i++)
        record->frames[i] = (uint64_t)(uintptr_t)frames[i];
    capture_publish(thread, bytes);
}

#ifndef __APPLE__

/* To check whether memory is readable, the library writes to and reads from a pipe opened long ago,
 * by descriptor numbers that the program may have closed and reused for its own files. So the
 * library is not asked. Memory of the calling thread's stack is readable between its current end
 * and its begin; for anything else the system makes a copy. */

struct stack_bounds {
    uintptr_t low, high;
};

static pthread_key_t stack_key;
static int (*write_memory)(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
                           void *cursor);

static void ask_for_stack(struct stack_bounds *out_bounds)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        out_bounds->low = (uintptr_t)low;
        out_bounds->high = out_bounds->low + bytes;
    }
    pthread_attr_destroy(&attributes);
}

/* In a pthread key: additional thread-local memory of a module loaded late confuses LeakSanitizer
 * (it mistakes some addresses of it for a block whose head contains the size). */
static const struct stack_bounds *own_stack(void)
{
    static const struct stack_bounds unknown;
    struct stack_bounds *bounds = pthread_getspecific(stack_key);
    if (bounds)
        return bounds;
    bounds = hal_alloc(1, sizeof *bounds);
    if (!bounds)
        return &unknown;
    ask_for_stack(bounds);
    if (pthread_setspecific(stack_key, bounds) == 0)
        return bounds;
    free(bounds);
    return &unknown;
}

/* Saved registers can be anywhere in a frame, also where a sanitizer forbids reading. */
__attribute__((no_sanitize("address", "thread"))) static int read_memory(unw_addr_space_t space,
                                                                         unw_word_t address,
                                                                         unw_word_t *value,
                                                                         int write, void *cursor)
{
    if (write)
        return write_memory(space, address, value, write, cursor);
    const struct stack_bounds *stack = own_stack();
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (here >= stack->low && address >= here && address <= stack->high - sizeof *value &&
        stack->high > sizeof *value) {
        memcpy(value, (const void *)address, sizeof *value);
        return 0;
    }
    struct iovec local = {value, sizeof *value}, remote = {(void *)address, sizeof *value};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof *value ? 0 : -1;
}

/* For good: another capture of the process may be walking. */
static void read_without_pipe(void)
{
    unw_accessors_t *accessors = unw_get_accessors(unw_local_addr_space);
    if (pthread_key_create(&stack_key, free) != 0)
        return;
    write_memory = accessors->access_mem;
    accessors->access_mem = read_memory;
}

static void prepare_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_without_pipe);
}

#else

static void prepare_library(void) {}

#endif

/* Only the runtime of ThreadSanitizer has it. */
extern __attribute__((weak)) void __tsan_init(void);

static int unwind_slowly(void **frames)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_word_t address;
    int count = 0;
    if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0)
        return 0;
    while (count < MAX_FRAMES && unw_step(&cursor) > 0 &&
           unw_get_reg(&cursor, UNW_REG_IP, &address) == 0 && address)
        frames[count++] = (void *)(uintptr_t)address;
    return count;
}

/* The fast way keeps a cache per thread, and takes a lock to free it at the very end of the thread,
 * when ThreadSanitizer has forgotten it already and crashes. */
static int unwind(void **frames)
{
#ifdef __APPLE__ /* its libunwind has no other way */
    return unwind_slowly(frames);
#else
    return __tsan_init ? unwind_slowly(frames) : unw_backtrace(frames, MAX_FRAMES);
#endif
}

enum hal_status capture_stacks_init(struct capture_stacks *stacks, const void *hal)
{
    memset(stacks, 0, sizeof *stacks);
    HAL_TRY(capture_table_init(&stacks->stacks, STACK_BUCKETS, TRACE_MAX_STACKS - 1));
    HAL_TRY(capture_table_init(&stacks->modules, MODULE_BUCKETS, TRACE_MAX_MODULES - 1));
    /* Linked into the program, they have no frames that can be told from the rest. */
    stacks->own = capture_modules_range((const void *)&capture_stacks_init);
    stacks->hal = capture_modules_range(hal);
    /* The library sets itself up at its first walk: before there are threads that walk at once. */
    void *frames[MAX_FRAMES];
    prepare_library();
    (void)unwind(frames);
    return HAL_OK;
}

void capture_stacks_finish(struct capture_stacks *stacks)
{
    capture_table_finish(&stacks->stacks);
    capture_table_finish(&stacks->modules);
}

static bool is_in(struct capture_range range, const void *frame)
{
    return (uintptr_t)frame >= range.begin && (uintptr_t)frame < range.end;
}

/* Of the HAL's frames, keeps only the function that was called. */
static int first_told(const struct capture_stacks *stacks, void *const *frames, int found)
{
    int first = 0;
    while (first < found && is_in(stacks->own, frames[first]))
        first++;
    while (first + 1 < found && is_in(stacks->hal, frames[first]) &&
           is_in(stacks->hal, frames[first + 1]))
        first++;
    return first;
}

static uint32_t number(struct capture_stacks *stacks, struct capture_thread *thread,
                       void *const *frames, int found)
{
    const int first = first_told(stacks, frames, found);
    if (found <= first)
        return 0;
    const uint32_t count = (uint32_t)(found - first);
    bool is_new;
    const uint32_t id =
        capture_table_number(&stacks->stacks, frames + first, count * sizeof *frames, &is_new);
    if (!id) {
        capture_stop(thread->stream, HAL_NO_MEMORY, "no space for more than %u different stacks",
                     stacks->stacks.count);
        return 0;
    }
    if (is_new) {
        refresh_modules(stacks, thread);
        record_stack(thread, id, frames + first, count);
    }
    return id;
}

/* With a frame of its own, which cached walks begin at. */
__attribute__((noinline)) uint32_t capture_stack(struct capture_stacks *stacks,
                                                 struct capture_thread *thread)
{
    const void *frame = __builtin_frame_address(0);
    uint32_t id = capture_unwind_cache_find(thread->unwind_cache, frame);
    if (id)
        return id;
    void *frames[MAX_FRAMES];
    const int found = unwind(frames);
    id = number(stacks, thread, frames, found);
    if (id)
        capture_unwind_cache_add(&thread->unwind_cache, frame, frames, found, id);
    return id;
}
