/* SPDX-License-Identifier: Apache-2.0 */
/* The context switch: callee-saved registers and the stack pointer, nothing else. Floating-point
 * modes and the signal mask belong to the thread. */
#include "hal/compiler/msl/fiber.h"

#include "hal/base/text.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WITH_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_THREAD_SANITIZER 1
#endif
#endif

#ifdef WITH_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WITH_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

/* Saves the registers on the current stack, stores its pointer, and continues on the other. */
void msl_fiber_jump(void **save_stack_pointer, void *stack_pointer);

#if defined(__APPLE__)
#define SYMBOL(name) "_" #name
#else
#define SYMBOL(name) #name
#endif

#if defined(__x86_64__)
enum { SAVED_WORDS = 6, RETURN_WORD = 6 };
__asm__(".text\n"
        ".globl " SYMBOL(msl_fiber_jump) "\n" SYMBOL(msl_fiber_jump) ":\n"
                                                                     "    pushq %rbp\n"
                                                                     "    pushq %rbx\n"
                                                                     "    pushq %r12\n"
                                                                     "    pushq %r13\n"
                                                                     "    pushq %r14\n"
                                                                     "    pushq %r15\n"
                                                                     "    movq %rsp, (%rdi)\n"
                                                                     "    movq %rsi, %rsp\n"
                                                                     "    popq %r15\n"
                                                                     "    popq %r14\n"
                                                                     "    popq %r13\n"
                                                                     "    popq %r12\n"
                                                                     "    popq %rbx\n"
                                                                     "    popq %rbp\n"
                                                                     "    ret\n");
/* As after a call: the return address is 8 bytes below a multiple of 16. */
enum { ENTRY_MISALIGNMENT = 8, FRAME_WORDS = SAVED_WORDS + 1 };
#elif defined(__aarch64__)
enum { SAVED_WORDS = 20, RETURN_WORD = 11 };
__asm__(".text\n"
        ".globl " SYMBOL(msl_fiber_jump) "\n"
                                         ".p2align 2\n" SYMBOL(
                                             msl_fiber_jump) ":\n"
                                                             "    sub sp, sp, #160\n"
                                                             "    stp x19, x20, [sp, #0]\n"
                                                             "    stp x21, x22, [sp, #16]\n"
                                                             "    stp x23, x24, [sp, #32]\n"
                                                             "    stp x25, x26, [sp, #48]\n"
                                                             "    stp x27, x28, [sp, #64]\n"
                                                             "    stp x29, x30, [sp, #80]\n"
                                                             "    stp d8, d9, [sp, #96]\n"
                                                             "    stp d10, d11, [sp, #112]\n"
                                                             "    stp d12, d13, [sp, #128]\n"
                                                             "    stp d14, d15, [sp, #144]\n"
                                                             "    mov x9, sp\n"
                                                             "    str x9, [x0]\n"
                                                             "    mov sp, x1\n"
                                                             "    ldp x19, x20, [sp, #0]\n"
                                                             "    ldp x21, x22, [sp, #16]\n"
                                                             "    ldp x23, x24, [sp, #32]\n"
                                                             "    ldp x25, x26, [sp, #48]\n"
                                                             "    ldp x27, x28, [sp, #64]\n"
                                                             "    ldp x29, x30, [sp, #80]\n"
                                                             "    ldp d8, d9, [sp, #96]\n"
                                                             "    ldp d10, d11, [sp, #112]\n"
                                                             "    ldp d12, d13, [sp, #128]\n"
                                                             "    ldp d14, d15, [sp, #144]\n"
                                                             "    add sp, sp, #160\n"
                                                             "    ret\n");
enum { ENTRY_MISALIGNMENT = 0, FRAME_WORDS = SAVED_WORDS };
#else
#error "no context switch for this processor"
#endif

/* Frames at the same offset of every stack would share a few cache sets. */
enum { COLOURS = 64, COLOUR_BYTES = 320 };

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

enum hal_status msl_stacks_create(size_t count, struct msl_stacks *out_stacks)
{
    const size_t bytes = count * MSL_FIBER_STACK_BYTES;
    char *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return hal_fail(HAL_NO_MEMORY, "no address space for %s of %d bytes: %s",
                        hal_count(count, "stack", "stacks").text, MSL_FIBER_STACK_BYTES,
                        strerror(errno));
    *out_stacks = (struct msl_stacks){memory, count};
    for (size_t i = 0; i < count; i++) {
        if (mprotect(memory + i * MSL_FIBER_STACK_BYTES, page_bytes(), PROT_NONE) == 0)
            continue;
        const int error = errno;
        msl_stacks_destroy(out_stacks);
        return hal_fail(HAL_NO_MEMORY, "no guard pages for %s: %s",
                        hal_count(count, "stack", "stacks").text, strerror(error));
    }
    return HAL_OK;
}

void msl_stacks_destroy(struct msl_stacks *stacks)
{
    if (stacks->memory)
        munmap(stacks->memory, stacks->count * MSL_FIBER_STACK_BYTES);
    *stacks = (struct msl_stacks){0};
}

void msl_fiber_prepare(struct msl_fiber *fiber, const struct msl_stacks *stacks, size_t index,
                       void (*run)(void))
{
    char *const bottom = stacks->memory + index * MSL_FIBER_STACK_BYTES;
    uintptr_t top = (uintptr_t)bottom + MSL_FIBER_STACK_BYTES - index % COLOURS * COLOUR_BYTES;
    top = (top & ~(uintptr_t)63) - 64 - ENTRY_MISALIGNMENT;
    /* Zeros above the entry end a debugger's walk. */
    void **const frame = (void **)(top - sizeof(void *)) - (FRAME_WORDS - 1);
    memset(frame, 0, (FRAME_WORDS + 2) * sizeof *frame);
    memcpy(&frame[RETURN_WORD], &run, sizeof run);
    fiber->stack_pointer = frame;
    fiber->stack_bottom = bottom;
    fiber->stack_bytes = MSL_FIBER_STACK_BYTES;
    fiber->fake_stack = NULL;
#ifdef WITH_ADDRESS_SANITIZER
    ASAN_UNPOISON_MEMORY_REGION(bottom + page_bytes(), MSL_FIBER_STACK_BYTES - page_bytes());
#endif
#ifdef WITH_THREAD_SANITIZER
    if (!fiber->shadow)
        fiber->shadow = __tsan_create_fiber(0);
#endif
}

void msl_fiber_finish(struct msl_fiber *fiber)
{
#ifdef WITH_THREAD_SANITIZER
    if (fiber->shadow && fiber->stack_bottom)
        __tsan_destroy_fiber(fiber->shadow);
#endif
    *fiber = (struct msl_fiber){0};
}

/* Between the two halves of a switch runs the other fiber. */
static void switch_stacks(struct msl_fiber *from, struct msl_fiber *to, void **fake_stack)
{
#ifdef WITH_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(fake_stack, to->stack_bottom, to->stack_bytes);
#else
    (void)fake_stack;
#endif
#ifdef WITH_THREAD_SANITIZER
    if (!from->shadow)
        from->shadow = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->shadow, 0);
#endif
    msl_fiber_jump(&from->stack_pointer, to->stack_pointer);
#ifdef WITH_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}

void msl_fiber_entered(struct msl_fiber *previous)
{
#ifdef WITH_ADDRESS_SANITIZER
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(NULL, &bottom, &bytes);
    if (!previous->stack_bottom) {
        previous->stack_bottom = bottom;
        previous->stack_bytes = bytes;
    }
#else
    (void)previous;
#endif
}

void msl_fiber_switch(struct msl_fiber *from, struct msl_fiber *to)
{
    switch_stacks(from, to, &from->fake_stack);
}

void msl_fiber_leave(struct msl_fiber *from, struct msl_fiber *to)
{
    switch_stacks(from, to, NULL);
}
