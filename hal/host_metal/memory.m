/* SPDX-License-Identifier: Apache-2.0 */
/* Views of memory through memfd, protection by pages, and an explanation of faults. Where a process
 * can have no memory objects, as in a sandbox, host and kernels share one view, which is not
 * protected. */
#import "hal/host_metal/memory.h"
#import "hal/host_metal/modes.h"
#import "hal/host_metal/runtime/runtime.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <unistd.h>

enum { DIRTY_BYTE = 0xcd, REMEMBERED_SPANS = 4096 };

/* ---- Views -------------------------------------------------------------------------------- */

static _Atomic bool has_no_objects; /* memfd_create is refused */

/* Followed by a page that faults. `file` -1: private memory. */
static uint8_t *map(int file, size_t bytes)
{
    const int kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    uint8_t *const view =
        mmap(NULL, bytes + HM_PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (view == MAP_FAILED)
        return NULL;
    if (mmap(view, bytes, PROT_READ | PROT_WRITE, kind | MAP_FIXED, file, 0) == MAP_FAILED) {
        munmap(view, bytes + HM_PAGE_BYTES);
        return NULL;
    }
    return view;
}

static void unmap(uint8_t *view, size_t bytes)
{
    if (view)
        munmap(view, bytes + HM_PAGE_BYTES);
}

/* One memory object, seen at one or two places. */
static bool map_object(size_t bytes, uint8_t **out_first, uint8_t **out_second)
{
    const int file = memfd_create("host-metal", MFD_CLOEXEC);
    if (file < 0 && errno == ENOSYS) {
        has_no_objects = true;
        *out_first = map(-1, bytes);
        if (out_second)
            *out_second = *out_first;
        return *out_first != NULL;
    }
    if (file < 0)
        return false;
    *out_first = ftruncate(file, (off_t)bytes) == 0 ? map(file, bytes) : NULL;
    bool done = *out_first != NULL;
    if (done && out_second) {
        *out_second = map(file, bytes);
        done = *out_second != NULL;
        if (!done)
            unmap(*out_first, bytes);
    }
    close(file);
    return done;
}

bool hm_memory_create(size_t bytes, enum hm_views views, struct hm_memory *out_memory)
{
    if (bytes == 0 || bytes > SIZE_MAX / 2)
        return false;
    struct hm_memory memory = {.bytes = (bytes + HM_PAGE_BYTES - 1) & ~(size_t)(HM_PAGE_BYTES - 1),
                               .two_copies = views == HM_TWO_COPIES};
    if (!map_object(memory.bytes, &memory.device, views == HM_COHERENT ? &memory.host : NULL))
        return false;
    if (views == HM_TWO_COPIES && !map_object(memory.bytes, &memory.host, NULL)) {
        unmap(memory.device, memory.bytes);
        return false;
    }
    if (hm_modes()->dirty) {
        memset(memory.device, DIRTY_BYTE, memory.bytes);
        if (memory.two_copies)
            memset(memory.host, DIRTY_BYTE, memory.bytes);
    }
    *out_memory = memory;
    return true;
}

/* Addresses of the last destroyed views stay reserved, so that a late kernel finds nothing else
 * there. */
static void retire(uint8_t *view, size_t bytes)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        uint8_t *view;
        size_t bytes;
    } retired[REMEMBERED_SPANS];
    static size_t next;
    if (mmap(view, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) == MAP_FAILED) {
        unmap(view, bytes);
        return;
    }
    pthread_mutex_lock(&lock);
    unmap(retired[next].view, retired[next].bytes);
    retired[next].view = view;
    retired[next].bytes = bytes;
    next = (next + 1) % REMEMBERED_SPANS;
    pthread_mutex_unlock(&lock);
}

void hm_memory_destroy(struct hm_memory *memory)
{
    if (!memory->borrowed) {
        if (memory->host != memory->device)
            unmap(memory->host, memory->bytes);
        retire(memory->device, memory->bytes);
    }
    *memory = (struct hm_memory){.bytes = 0};
}

/* ---- Faults ------------------------------------------------------------------------------- */

struct gone {
    uint8_t *device;
    size_t bytes;
    char label[64];
};

static pthread_mutex_t spans_lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct hm_span *spans;
static struct gone gone[REMEMBERED_SPANS];
static size_t gone_count;
static _Thread_local bool holds_spans; /* this thread: faults meanwhile are not a kernel's */
static _Thread_local bool runs_kernel;
static struct sigaction first_action;  /* what there was before us */
static struct sigaction latest_action; /* what was put before us since; else the same */

static void lock_spans(void)
{
    pthread_mutex_lock(&spans_lock);
    holds_spans = true;
}

static void unlock_spans(void)
{
    holds_spans = false;
    pthread_mutex_unlock(&spans_lock);
}

static const char *name_of(const struct hm_span *span)
{
    return span->label && *span->label ? *span->label : "without a label";
}

static bool inside(const uint8_t *address, const uint8_t *start, size_t bytes)
{
    return address >= start && address < start + bytes;
}

/* The process is lost anyway: here only async-signal-safe functions would be a virtue. */
static void explain(const uint8_t *address, const char *verb)
{
    for (const struct hm_span *span = spans; span; span = span->next) {
        if (inside(address, span->device, span->bytes) && span->readers + span->writers == 0)
            host_metal_broken("use-resource-missing",
                              "a kernel %s byte %zu of buffer %s, which no running encoder bound "
                              "or named with useResource or useHeap",
                              verb, (size_t)(address - span->device), name_of(span));
        if (inside(address, span->device, span->bytes))
            host_metal_broken("use-resource-read-only",
                              "a kernel %s byte %zu of buffer %s, which its encoder named for "
                              "reading only",
                              verb, (size_t)(address - span->device), name_of(span));
        if (inside(address, span->device + span->bytes, HM_PAGE_BYTES))
            host_metal_broken("kernel-out-of-bounds",
                              "a kernel %s %zu bytes behind the end of buffer %s", verb,
                              (size_t)(address - span->device) - span->bytes, name_of(span));
    }
    const size_t count = gone_count < REMEMBERED_SPANS ? gone_count : REMEMBERED_SPANS;
    for (size_t i = 0; i < count; i++)
        if (inside(address, gone[i].device, gone[i].bytes))
            host_metal_broken("kernel-used-released-buffer",
                              "a kernel %s byte %zu of buffer %s, which is released", verb,
                              (size_t)(address - gone[i].device), gone[i].label);
    if (runs_kernel)
        host_metal_broken("kernel-wild-address", "a kernel %s address %p, where no buffer is", verb,
                          (const void *)address);
}

/* Processors other than this one report it elsewhere, or not at all. */
static const char *verb_of(const void *context)
{
#if defined(__x86_64__)
    return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2 ? "wrote" : "read";
#else
    (void)context;
    return "reached for";
#endif
}

static void hand_on(const struct sigaction *action, int signal, siginfo_t *info, void *context)
{
    const struct sigaction nothing = {.sa_handler = SIG_DFL};
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(signal, info, context);
    else if (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN)
        action->sa_handler(signal);
    else
        sigaction(signal, &nothing, NULL); /* and fault again */
}

/* Other handlers are called if there is no buffer there. Handlers may form a ring: one that was
 * installed after ours calls ours, which then calls the previous one, which handles a fault that
 * belongs to none. */
static _Thread_local bool inside_handler;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    if (inside_handler) {
        hand_on(&first_action, signal, info, context);
        return;
    }
    inside_handler = true;
    if (!holds_spans) {
        lock_spans();
        explain(info->si_addr, verb_of(context));
        unlock_spans();
    }
    hand_on(&latest_action, signal, info, context);
    inside_handler = false;
}

/* Test programs install handlers after ours: this puts ours first again. */
static void watch_faults(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool watched;
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK}, now;
    action.sa_sigaction = on_fault;
    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&lock);
    if (sigaction(SIGSEGV, NULL, &now) == 0 &&
        (!(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != on_fault)) {
        latest_action = now;
        if (!watched)
            first_action = now;
        watched = true;
        sigaction(SIGSEGV, &action, NULL);
    }
    pthread_mutex_unlock(&lock);
}

/* Threads inherit what the committing one has blocked, and a blocked fault ends the process without
 * any handler. */
static void unblock_faults(void)
{
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
}

void hm_kernel_begin(void)
{
    watch_faults();
    unblock_faults();
    inside_handler = false; /* a handler may have jumped out of ours */
    runs_kernel = true;
}

void hm_kernel_end(void)
{
    runs_kernel = false;
}

/* ---- Spans -------------------------------------------------------------------------------- */

static void protect(const struct hm_span *span)
{
    if (!hm_modes()->use_resource || has_no_objects)
        return;
    const int access = span->writers   ? PROT_READ | PROT_WRITE
                       : span->readers ? PROT_READ
                                       : PROT_NONE;
    if (mprotect(span->device, span->bytes, access) != 0)
        host_metal_broken("out-of-memory", "cannot protect %zu bytes of a buffer", span->bytes);
}

void hm_span_add(struct hm_span *span)
{
    lock_spans();
    span->next = spans;
    spans = span;
    protect(span);
    unlock_spans();
}

void hm_span_remove(struct hm_span *span)
{
    lock_spans();
    struct hm_span **link = &spans;
    while (*link != span)
        link = &(*link)->next;
    *link = span->next;
    struct gone *const entry = &gone[gone_count++ % REMEMBERED_SPANS];
    entry->device = span->device;
    entry->bytes = span->bytes;
    snprintf(entry->label, sizeof entry->label, "%s", name_of(span));
    if (hm_modes()->use_resource) /* a heap's memory lives on */
        (void)mprotect(span->device, span->bytes, PROT_READ | PROT_WRITE);
    unlock_spans();
}

static void count(struct hm_span *span, unsigned access, bool open)
{
    const unsigned step = open ? 1 : UINT32_MAX;
    lock_spans();
    const bool was_readable = span->readers + span->writers > 0, was_writable = span->writers > 0;
    if (access & HM_WRITE)
        span->writers += step;
    else
        span->readers += step;
    if (was_readable != (span->readers + span->writers > 0) || was_writable != (span->writers > 0))
        protect(span);
    unlock_spans();
}

void hm_span_open(struct hm_span *span, unsigned access)
{
    count(span, access, true);
}

void hm_span_close(struct hm_span *span, unsigned access)
{
    count(span, access, false);
}
