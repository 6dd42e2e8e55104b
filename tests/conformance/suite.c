/* SPDX-License-Identifier: Apache-2.0 */
/* A running case: checks that end it by a long jump, and the list of what it created. */
#include "tests/conformance/runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

const uint64_t suite_sizes[SUITE_SIZE_COUNT] = {
    1, 2, 3, 4, 15, 16, 17, 255, 256, 4095, 4096, 4097, 65536, SUITE_LARGEST,
};

enum kind {
    DEVICE,
    BUFFER,
    CHANNEL,
    EXECUTABLE,
    COMMANDS,
    SEMAPHORE,
    EVENT,
    SET_LAYOUT,
    PIPELINE_LAYOUT,
    FILE_OF_QUEUES,
    FOLDER,
    MEMORY
};

struct owned {
    struct owned *next; /* created before */
    enum kind kind;
    void *what;
};

struct thread {
    struct thread *next;
    struct suite *suite;
    void (*run)(struct suite *suite, void *user);
    void *user;
    pthread_t thread;
};

struct suite {
    struct suite_run *run;
    struct suite_result *result;
    pthread_mutex_t lock; /* result, owned, state */
    struct owned *owned;
    struct thread *threads; /* of the case's own thread */
    pthread_t self;         /* that thread */
    uint64_t state;         /* of the random sequence */
    char note[256];
};

static _Thread_local jmp_buf *way_out;

/* ---- Checks -------------------------------------------------------------------------------- */

static void stop_threads(struct suite *suite);

/* Threads may use what lies on the case's stack: they end before it is left. */
_Noreturn static void leave(struct suite *suite)
{
    if (pthread_equal(pthread_self(), suite->self))
        stop_threads(suite);
    longjmp(*way_out, 1);
}

/* The first reason counts. */
_Noreturn static void end_case(struct suite *suite, enum suite_outcome outcome, const char *message)
{
    pthread_mutex_lock(&suite->lock);
    if (suite->result->outcome == SUITE_PASSED) {
        suite->result->outcome = outcome;
        snprintf(suite->result->message, sizeof suite->result->message, "%s", message);
    }
    pthread_mutex_unlock(&suite->lock);
    leave(suite);
}

void suite_fail(struct suite *suite, const char *file, int line, const char *format, ...)
{
    char text[SUITE_MESSAGE_BYTES - 512], message[SUITE_MESSAGE_BYTES];
    const char *slash = strrchr(file, '/');
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(message, sizeof message, "%s:%d: %s%s%s", slash ? slash + 1 : file, line, suite->note,
             suite->note[0] ? ": " : "", text);
    end_case(suite, SUITE_FAILED, message);
    abort();
}

void suite_skip(struct suite *suite, const char *reason)
{
    end_case(suite, SUITE_SKIPPED, reason);
    abort();
}

void suite_note(struct suite *suite, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(suite->note, sizeof suite->note, format, arguments);
    va_end(arguments);
}

void suite_check_ok(struct suite *suite, const char *file, int line, const char *what,
                    enum hal_status status)
{
    if (status == HAL_UNSUPPORTED)
        end_case(suite, SUITE_UNSUPPORTED, hal_message());
    if (status != HAL_OK)
        suite_fail(suite, file, line, "%s: %s: %s", what, hal_status_name(status), hal_message());
}

void suite_check_fails(struct suite *suite, const char *file, int line, const char *what,
                       enum hal_status status, enum hal_status wanted, ...)
{
    va_list texts;
    const char *text, *missing = NULL;
    if (status != wanted)
        suite_fail(suite, file, line, "%s: the status is '%s', not '%s': %s", what,
                   hal_status_name(status), hal_status_name(wanted),
                   status == HAL_OK ? "" : hal_message());
    va_start(texts, wanted);
    while (!missing && (text = va_arg(texts, const char *)) != NULL) {
        if (!strstr(hal_message(), text))
            missing = text;
    }
    va_end(texts);
    if (missing)
        suite_fail(suite, file, line, "%s: the message '%s' does not say '%s'", what, hal_message(),
                   missing);
}

void suite_check_u64(struct suite *suite, const char *file, int line, const char *what,
                     uint64_t got, uint64_t wanted)
{
    if (got != wanted)
        suite_fail(suite, file, line, "%s is %llu (0x%llx), not %llu (0x%llx)", what,
                   (unsigned long long)got, (unsigned long long)got, (unsigned long long)wanted,
                   (unsigned long long)wanted);
}

void suite_check_bytes(struct suite *suite, const char *file, int line, const void *got,
                       const void *wanted, uint64_t bytes)
{
    const uint8_t *a = got, *b = wanted;
    uint64_t first = 0, differences = 0;
    if (memcmp(a, b, bytes) == 0)
        return;
    for (uint64_t i = 0; i < bytes; i++) {
        if (a[i] != b[i] && differences++ == 0)
            first = i;
    }
    suite_fail(suite, file, line,
               "%llu of %llu bytes differ, the first at %llu: 0x%02x instead of 0x%02x",
               (unsigned long long)differences, (unsigned long long)bytes,
               (unsigned long long)first, a[first], b[first]);
}

const void *suite_bytes(struct suite *suite, struct hal_buffer *buffer, uint64_t offset,
                        uint64_t bytes)
{
    void *got = suite_memory(suite, bytes);
    suite_read(suite, buffer, offset, got, bytes);
    return got;
}

/* ---- What a case owns ----------------------------------------------------------------------- */

static void release(struct owned *owned)
{
    switch (owned->kind) {
    case DEVICE: hal_device_release(owned->what); break;
    case BUFFER: hal_buffer_release(owned->what); break;
    case CHANNEL: hal_channel_release(owned->what); break;
    case EXECUTABLE: hal_executable_release(owned->what); break;
    case COMMANDS: hal_command_buffer_release(owned->what); break;
    case SEMAPHORE: hal_semaphore_release(owned->what); break;
    case EVENT: hal_event_release(owned->what); break;
    case SET_LAYOUT: hal_set_layout_release(owned->what); break;
    case PIPELINE_LAYOUT: hal_pipeline_layout_release(owned->what); break;
    case FILE_OF_QUEUES: hal_file_release(owned->what); break;
    case FOLDER:
        suite_folder_remove(owned->what);
        free(owned->what);
        break;
    case MEMORY: free(owned->what); break;
    }
    free(owned);
}

static void *own(struct suite *suite, enum kind kind, void *what)
{
    struct owned *owned = malloc(sizeof *owned);
    if (!owned)
        abort();
    *owned = (struct owned){.kind = kind, .what = what};
    pthread_mutex_lock(&suite->lock);
    owned->next = suite->owned;
    suite->owned = owned;
    pthread_mutex_unlock(&suite->lock);
    return what;
}

void *suite_memory(struct suite *suite, size_t bytes)
{
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (!memory)
        abort();
    return own(suite, MEMORY, memory);
}

const char *suite_folder(struct suite *suite)
{
    char *path = suite_folder_make();
    if (!path)
        suite_fail(suite, __FILE__, __LINE__, "no temporary folder");
    return own(suite, FOLDER, path);
}

char *suite_path(struct suite *suite, const char *folder, const char *name)
{
    const size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = suite_memory(suite, bytes);
    snprintf(path, bytes, "%s/%s", folder, name);
    return path;
}

struct hal_file *suite_file(struct suite *suite, const char *path, uint32_t mode)
{
    struct hal_file *file;
    check_ok(suite, hal_file_open(path, mode, &file));
    return own(suite, FILE_OF_QUEUES, file);
}

struct suite_run *suite_run_of(struct suite *suite)
{
    return suite->run;
}

struct hal_device *suite_device(const struct suite *suite)
{
    return suite->run->device;
}

const struct hal_device_info *suite_info(const struct suite *suite)
{
    return hal_device_get_info(suite->run->device);
}

struct hal_device *suite_open(struct suite *suite, const char *parameters)
{
    char uri[256];
    struct hal_device *device;
    snprintf(uri, sizeof uri, "%s%s%s", suite->run->driver, parameters[0] ? "?" : "", parameters);
    check_ok(suite, hal_device_open(uri, &device));
    return own(suite, DEVICE, device);
}

struct hal_buffer *suite_buffer_of(struct suite *suite, struct hal_device *device,
                                   const struct hal_buffer_desc *desc)
{
    struct hal_buffer *buffer;
    check_ok(suite, hal_buffer_create(device, desc, &buffer));
    return own(suite, BUFFER, buffer);
}

void suite_need_import(struct suite *suite)
{
    static _Alignas(4096) uint8_t memory[4096];
    struct hal_buffer *buffer = NULL;
    const struct hal_buffer_desc desc = {.label = "asking", .bytes = sizeof memory};
    const enum hal_status status =
        hal_buffer_import(suite_device(suite), &desc, memory, NULL, NULL, &buffer);
    if (status == HAL_UNSUPPORTED)
        suite_skip(suite, "the device imports no memory of the host");
    check_ok(suite, status);
    hal_buffer_release(buffer);
}

struct hal_buffer *suite_own_buffer(struct suite *suite, struct hal_buffer *buffer)
{
    return own(suite, BUFFER, buffer);
}

void suite_own_channel(struct suite *suite, struct hal_channel *channel)
{
    (void)own(suite, CHANNEL, channel);
}

struct hal_buffer *suite_buffer(struct suite *suite, const char *label, uint64_t bytes)
{
    return suite_buffer_of(
        suite, suite_device(suite),
        &(struct hal_buffer_desc){.label = label, .bytes = bytes, .memory = suite->run->memory});
}

struct hal_buffer *suite_coherent_buffer(struct suite *suite, const char *label, uint64_t bytes)
{
    const uint32_t memory =
        HAL_MEMORY_DEVICE_LOCAL | HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT;
    return suite_buffer_of(
        suite, suite_device(suite),
        &(struct hal_buffer_desc){.label = label, .bytes = bytes, .memory = memory});
}

struct hal_semaphore *suite_semaphore_of(struct suite *suite, struct hal_device *device,
                                         const char *label, uint64_t value)
{
    struct hal_semaphore *semaphore;
    check_ok(suite, hal_semaphore_create(device, label, value, &semaphore));
    return own(suite, SEMAPHORE, semaphore);
}

struct hal_semaphore *suite_semaphore(struct suite *suite, const char *label, uint64_t value)
{
    return suite_semaphore_of(suite, suite_device(suite), label, value);
}

const struct hal_submit_desc *suite_step_to(struct suite_step *step,
                                            struct hal_semaphore *semaphore, uint64_t value)
{
    step->wait = (struct hal_semaphore_value){semaphore, value - 1};
    step->signal = (struct hal_semaphore_value){semaphore, value};
    step->desc = (struct hal_submit_desc){
        .waits = &step->wait, .wait_count = value > 1, .signals = &step->signal, .signal_count = 1};
    return &step->desc;
}

struct hal_command_buffer *suite_commands_of(struct suite *suite, struct hal_device *device,
                                             const char *label, enum hal_command_buffer_mode mode)
{
    struct hal_command_buffer *commands;
    const struct hal_command_buffer_desc desc = {.label = label, .mode = mode};
    check_ok(suite, hal_command_buffer_create(device, &desc, &commands));
    return own(suite, COMMANDS, commands);
}

struct hal_command_buffer *suite_commands(struct suite *suite, const char *label,
                                          enum hal_command_buffer_mode mode)
{
    return suite_commands_of(suite, suite_device(suite), label, mode);
}

struct hal_executable *suite_executable(struct suite *suite, const struct hal_executable_desc *desc)
{
    struct hal_executable *executable;
    check_ok(suite, hal_executable_create(suite_device(suite), desc, &executable));
    return own(suite, EXECUTABLE, executable);
}

struct hal_event *suite_event(struct suite *suite, struct hal_device *device, const char *label)
{
    struct hal_event *event;
    check_ok(suite, hal_event_create(device, label, &event));
    return own(suite, EVENT, event);
}

struct hal_set_layout *suite_set_layout(struct suite *suite, const char *label,
                                        const struct hal_layout_binding *bindings, size_t count)
{
    struct hal_set_layout *layout;
    const struct hal_set_layout_desc desc = {
        .label = label, .bindings = bindings, .binding_count = count};
    check_ok(suite, hal_set_layout_create(suite_device(suite), &desc, &layout));
    return own(suite, SET_LAYOUT, layout);
}

struct hal_pipeline_layout *suite_pipeline_layout(struct suite *suite, const char *label,
                                                  struct hal_set_layout *const *sets, size_t count,
                                                  uint32_t constant_bytes)
{
    struct hal_pipeline_layout *layout;
    const struct hal_pipeline_layout_desc desc = {
        .label = label, .sets = sets, .set_count = count, .constant_bytes = constant_bytes};
    check_ok(suite, hal_pipeline_layout_create(suite_device(suite), &desc, &layout));
    return own(suite, PIPELINE_LAYOUT, layout);
}

/* ---- Threads -------------------------------------------------------------------------------- */

static void *run_thread(void *argument)
{
    struct thread *thread = argument;
    jmp_buf out;
    way_out = &out;
    if (setjmp(out) == 0)
        thread->run(thread->suite, thread->user);
    return NULL;
}

void suite_thread(struct suite *suite, void (*run)(struct suite *suite, void *user), void *user)
{
    struct thread *thread = malloc(sizeof *thread);
    if (!thread)
        abort();
    *thread = (struct thread){.next = suite->threads, .suite = suite, .run = run, .user = user};
    if (pthread_create(&thread->thread, NULL, run_thread, thread) != 0)
        abort();
    suite->threads = thread;
}

static void join_all(struct suite *suite)
{
    while (suite->threads) {
        struct thread *thread = suite->threads;
        suite->threads = thread->next;
        pthread_join(thread->thread, NULL);
        free(thread);
    }
}

static bool has_failed(struct suite *suite)
{
    pthread_mutex_lock(&suite->lock);
    const bool failed = suite->result->outcome != SUITE_PASSED;
    pthread_mutex_unlock(&suite->lock);
    return failed;
}

void suite_join(struct suite *suite)
{
    join_all(suite);
    if (has_failed(suite))
        leave(suite);
}

/* ---- Running -------------------------------------------------------------------------------- */

static void fail_semaphores(struct suite *suite)
{
    pthread_mutex_lock(&suite->lock);
    struct owned *owned = suite->owned;
    pthread_mutex_unlock(&suite->lock);
    for (; owned; owned = owned->next) {
        if (owned->kind == SEMAPHORE)
            hal_semaphore_fail(owned->what, HAL_FAILED, "the case has failed");
    }
}

/* Of a case that has failed: nobody waits for what will not come. */
static void stop_threads(struct suite *suite)
{
    fail_semaphores(suite);
    join_all(suite);
}

static uint64_t hash(const char *text, uint64_t seed)
{
    uint64_t state = seed * 0x9E3779B97F4A7C15U + 0xCBF29CE484222325U;
    for (; *text; text++)
        state = (state ^ (uint8_t)*text) * 0x100000001B3U;
    return state;
}

static void call(struct suite *suite, const struct suite_case *which)
{
    jmp_buf out;
    way_out = &out;
    if (setjmp(out) == 0)
        which->run(suite, which->argument);
    way_out = NULL;
}

void suite_run_case(struct suite_run *run, const char *name, const struct suite_case *which,
                    struct suite_result *out_result)
{
    struct suite suite = {
        .run = run, .result = out_result, .self = pthread_self(), .state = hash(name, run->seed)};
    out_result->outcome = SUITE_PASSED;
    out_result->message[0] = '\0';
    pthread_mutex_init(&suite.lock, NULL);
    call(&suite, which);
    if (has_failed(&suite))
        fail_semaphores(&suite);
    join_all(&suite);
    if (hal_device_wait_idle(run->device, SUITE_TIMEOUT_NS) != HAL_OK &&
        out_result->outcome == SUITE_PASSED) {
        out_result->outcome = SUITE_FAILED;
        snprintf(out_result->message, sizeof out_result->message,
                 "the device is not idle afterwards: %s", hal_message());
    }
    while (suite.owned) {
        struct owned *owned = suite.owned;
        suite.owned = owned->next;
        release(owned);
    }
    pthread_mutex_destroy(&suite.lock);
}

/* ---- Random numbers -------------------------------------------------------------------------- */

uint32_t suite_random(struct suite *suite)
{
    pthread_mutex_lock(&suite->lock);
    suite->state = suite->state * 6364136223846793005U + 1442695040888963407U;
    const uint32_t value = (uint32_t)(suite->state >> 33);
    pthread_mutex_unlock(&suite->lock);
    return value;
}

uint32_t suite_random_below(struct suite *suite, uint32_t limit)
{
    return (uint32_t)((uint64_t)suite_random(suite) * limit >> 31);
}

void suite_random_bytes(struct suite *suite, void *out_data, size_t bytes)
{
    static const size_t period = 16381; /* a prime: no power of two of bytes is skipped unseen */
    uint8_t *data = out_data;
    uint64_t state = (uint64_t)suite_random(suite) << 31 | suite_random(suite);
    for (size_t i = 0; i < bytes && i < period; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        data[i] = (uint8_t)(state >> 56);
    }
    for (size_t i = period; i < bytes; i++)
        data[i] = data[i - period];
}

uint64_t suite_seed(const struct suite *suite)
{
    return suite->run->seed;
}
