/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers for faults and for the alarm. They write with write(2), from a buffer of the stack; what
 * finds names is not made for handlers, but the process is lost anyway. */
#define UNW_LOCAL_ONLY
#include "tests/conformance/watch.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <libunwind.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_HANGS = 4, NAME_BYTES = 128, MOST_FRAMES = 48 };

/* The thread sanitizer's handlers stand before these, and may wait for ever in a process that is
 * dying; it says by itself what happened. */
#if defined(__SANITIZE_THREAD__)
enum { CATCHES_FAULTS = 0 };
#else
enum { CATCHES_FAULTS = 1 };
#endif

static char running[NAME_BYTES]; /* read by handlers; "": none */
static struct sigaction before[NSIG];

/* Sanitizers say all this themselves, and end the process without a signal. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void print(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void print(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const size_t most = sizeof text - 1;
    if (length > 0 && write(STDOUT_FILENO, text, (size_t)length < most ? (size_t)length : most) < 0)
        return;
}

static void say(const char *what)
{
    if (running[0])
        print("%s %s\n", what, running);
}

/* ---- Where it happened ---------------------------------------------------------------------- */

static void print_frame(unw_cursor_t *cursor, int number)
{
    unw_word_t address = 0, offset = 0;
    char name[256] = "?";
    Dl_info module;
    unw_get_reg(cursor, UNW_REG_IP, &address);
    if (unw_get_proc_name(cursor, name, sizeof name, &offset) != 0)
        strcpy(name, "?");
    if (!dladdr((const void *)(uintptr_t)address, &module) || !module.dli_fname)
        print("  #%d 0x%" PRIxPTR " %s\n", number, (uintptr_t)address, name);
    else
        print("  #%d %s+0x%" PRIxPTR " in %s+0x%" PRIxPTR "\n", number, name, (uintptr_t)offset,
              module.dli_fname, (uintptr_t)address - (uintptr_t)module.dli_fbase);
}

/* From the handler outwards: what faulted stands behind the system's frame of the signal. */
static void print_stack(void)
{
    unw_context_t context;
    unw_cursor_t cursor;
    if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0)
        return;
    for (int i = 0; i < MOST_FRAMES; i++) {
        print_frame(&cursor, i);
        if (unw_step(&cursor) <= 0)
            return;
    }
}

static void print_fault(int number, const siginfo_t *info)
{
    char thread[64] = "";
    (void)pthread_getname_np(pthread_self(), thread, sizeof thread);
    if (info->si_code <= 0)
        print("  signal %d, sent to thread '%s'\n", number, thread);
    else
        print("  signal %d, code %d, at address %p, on thread '%s'\n", number, info->si_code,
              info->si_addr, thread);
    if (!__sanitizer_set_death_callback)
        print_stack();
}

/* ---- Handlers ------------------------------------------------------------------------------- */

static void hangs(int number)
{
    (void)number;
    say("HANGS");
    _exit(EXIT_HANGS);
}

/* The fault happens again when this returns, and goes its usual way; a signal that was sent (by
 * abort, too) is sent again. */
static void crashes(int number, siginfo_t *info, void *context)
{
    (void)context;
    sigaction(number, &before[number], NULL); /* also for a fault in here */
    say("CRASHES");
    print_fault(number, info);
    if (info->si_code <= 0)
        raise(number);
}

static void dies(void)
{
    say("DIES");
}

void watch_init(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action = {.sa_sigaction = crashes, .sa_flags = SA_ONSTACK | SA_SIGINFO};
    for (size_t i = 0; CATCHES_FAULTS && i < sizeof faults / sizeof *faults; i++)
        sigaction(faults[i], &action, &before[faults[i]]);
    action.sa_flags = SA_ONSTACK;
    action.sa_handler = hangs;
    sigaction(SIGALRM, &action, NULL);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(dies);
}

void watch_begin(const char *name, unsigned seconds)
{
    snprintf(running, sizeof running, "%s", name);
    alarm(seconds);
}

void watch_end(void)
{
    alarm(0);
    running[0] = '\0';
}
