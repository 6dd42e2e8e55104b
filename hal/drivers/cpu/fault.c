/* SPDX-License-Identifier: Apache-2.0 */
/* Faulting kernels. Before a worker runs a kernel, it saves a recovery point; if a memory access,
 * an instruction or a division inside the kernel's own code faults, the signal handler recovers,
 * and the run fails instead of the process. Every other fault is passed to the previous handler:
 * one in a library function that a kernel calls, for instance, may have left a lock held. A handler
 * that the application installs later comes first, and decides. Under the sanitizers, which want to
 * report the fault themselves, nothing is installed. */
#undef _FORTIFY_SOURCE /* the way back may lead from one stack to another */
#include "hal/base/mem.h"
#include "hal/drivers/cpu/cpu.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ucontext.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(IS_SANITIZED)
#define CATCHES_FAULTS 0
#elif defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define CATCHES_FAULTS 1
#else
#define CATCHES_FAULTS 0
#endif

bool cpu_faults_caught(void)
{
    return CATCHES_FAULTS;
}

#if CATCHES_FAULTS

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { SIGNAL_COUNT = sizeof signals / sizeof signals[0], HANDLER_STACK_BYTES = 64 * 1024 };

static struct sigaction before[SIGNAL_COUNT];

/* The kernel that runs on this thread, and the way back. Read by the handler on the same thread. */
struct guard {
    sigjmp_buf back;
    const struct msl_function_info *kernel;
    int signal;
    const void *address;
};
static _Thread_local struct guard *volatile running __attribute__((tls_model("initial-exec")));

static uintptr_t faulting_instruction(const void *context)
{
    const ucontext_t *registers = context;
#if defined(__x86_64__)
    return (uintptr_t)registers->uc_mcontext.gregs[REG_RIP];
#else
    return (uintptr_t)registers->uc_mcontext.pc;
#endif
}

/* By kill or raise: nothing went wrong where the thread is. */
static bool was_sent(const siginfo_t *info)
{
    return info->si_code <= 0;
}

static void hand_on(size_t index, int number, siginfo_t *info, void *context)
{
    const struct sigaction *old = &before[index];
    if (old->sa_flags & SA_SIGINFO) {
        old->sa_sigaction(number, info, context);
    } else if (old->sa_handler == SIG_IGN && was_sent(info)) {
        return;
    } else if (old->sa_handler == SIG_DFL || old->sa_handler == SIG_IGN) {
        struct sigaction fatal = {.sa_handler = SIG_DFL};
        sigaction(number, &fatal, NULL); /* the instruction faults again, for good */
        if (was_sent(info))
            raise(number);
    } else {
        old->sa_handler(number);
    }
}

/* Asynchronous-signal-safe. */
static void handle(int number, siginfo_t *info, void *context)
{
    struct guard *guard = running;
    const uintptr_t at = faulting_instruction(context);
    if (guard && !was_sent(info) && at >= guard->kernel->code_begin &&
        at < guard->kernel->code_end) {
        running = NULL;
        guard->signal = number;
        guard->address = info->si_addr;
        siglongjmp(guard->back, 1);
    }
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        if (signals[i] == number)
            hand_on(i, number, info, context);
    }
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = handle,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        sigaction(signals[i], &action, &before[i]);
}

void cpu_faults_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
}

/* Kernels overflow stacks, too: the handler has one of its own. */
void *cpu_faults_enter_thread(void)
{
    sigset_t set;
    void *stack =
        mmap(NULL, HANDLER_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return NULL; /* blocked signals end the process, as without all this */
    const stack_t own = {.ss_sp = stack, .ss_size = HANDLER_STACK_BYTES};
    sigaltstack(&own, NULL);
    sigemptyset(&set);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        sigaddset(&set, signals[i]);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return stack;
}

void cpu_faults_leave_thread(void *entered)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    if (!entered)
        return;
    sigaltstack(&none, NULL);
    munmap(entered, HANDLER_STACK_BYTES);
}

static const char *what_happened(int number)
{
    switch (number) {
    case SIGFPE: return "divided by zero or similar (SIGFPE)";
    case SIGILL: return "executed an illegal instruction or a trap (SIGILL)";
    case SIGBUS: return "accessed memory that does not exist (SIGBUS)";
    default: return "accessed memory outside of its buffers (SIGSEGV)";
    }
}

enum hal_status cpu_kernel_run(const struct msl_function *function, struct msl_worker *worker,
                               const struct msl_launch *launch, uint64_t first, uint64_t last)
{
    struct guard guard = {.kernel = msl_function_get_info(function)};
    if (sigsetjmp(guard.back, 0) == 0) {
        running = &guard;
        const enum hal_status status = msl_function_run(function, worker, launch, first, last);
        running = NULL;
        return status;
    }
    return hal_fail(HAL_FAILED, "kernel '%s' %s at address %p", guard.kernel->name,
                    what_happened(guard.signal), guard.address);
}

#else

void cpu_faults_watch(void) {}

void *cpu_faults_enter_thread(void)
{
    return NULL;
}

void cpu_faults_leave_thread(void *entered)
{
    (void)entered;
}

enum hal_status cpu_kernel_run(const struct msl_function *function, struct msl_worker *worker,
                               const struct msl_launch *launch, uint64_t first, uint64_t last)
{
    return msl_function_run(function, worker, launch, first, last);
}

#endif
