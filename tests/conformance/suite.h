/* SPDX-License-Identifier: Apache-2.0 */
/* What the cases of the conformance suite share: checks that end a case, and objects that go away
 * with it.
 *
 * A case is a function in a const table. It creates what it needs with the suite_... functions,
 * does what it is about with the plain HAL, and checks the result. The first check that does not
 * hold ends the case (from a thread of suite_thread: that thread). Whatever was created through
 * the suite is released afterwards, in reverse order, when the device is idle again; semaphores of
 * a failed case are failed first, so that nothing waits for them for ever.
 *
 * Values that a check expects come from plain C or are written down; never from the HAL. */
#ifndef TESTS_CONFORMANCE_SUITE_H
#define TESTS_CONFORMANCE_SUITE_H

#include "hal/hal.h"

#include <stdlib.h>
#include <string.h>

struct suite; /* a running case */

struct suite_case {
    const char *name;
    void (*run)(struct suite *suite, uint64_t argument);
    uint64_t argument;
};

struct suite_area {
    const char *name;
    const struct suite_case *cases;
    size_t count;
};

extern const struct suite_area area_bindings;
extern const struct suite_area area_buffers;
extern const struct suite_area area_caches;
extern const struct suite_area area_caching;
extern const struct suite_area area_channels;
extern const struct suite_area area_command_buffers;
extern const struct suite_area area_command_errors;
extern const struct suite_area area_constants;
extern const struct suite_area area_descriptions;
extern const struct suite_area area_devices;
extern const struct suite_area area_dispatch;
extern const struct suite_area area_errors;
extern const struct suite_area area_events;
extern const struct suite_area area_executables;
extern const struct suite_area area_failures;
extern const struct suite_area area_faults;
extern const struct suite_area area_files;
extern const struct suite_area area_groups;
extern const struct suite_area area_imports;
extern const struct suite_area area_indirect;
extern const struct suite_area area_layouts;
extern const struct suite_area area_losses;
extern const struct suite_area area_preparing;
extern const struct suite_area area_profiling;
extern const struct suite_area area_queues;
extern const struct suite_area area_reflection;
extern const struct suite_area area_rules;
extern const struct suite_area area_semaphores;
extern const struct suite_area area_sharing;
extern const struct suite_area area_spirv;
extern const struct suite_area area_stress;
extern const struct suite_area area_subspans;
extern const struct suite_area area_sync;
extern const struct suite_area area_threads;
extern const struct suite_area area_transfers;
extern const struct suite_area area_transient_limits;
extern const struct suite_area area_transient_programs;
extern const struct suite_area area_transients;
extern const struct suite_area area_uses;
extern const struct suite_area area_variants;

#define SUITE_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Sixteen cases that differ in their argument, 0 to 15. */
#define SUITE_SIXTEEN(prefix, run)                                                                 \
    {prefix "0", run, 0}, {prefix "1", run, 1}, {prefix "2", run, 2}, {prefix "3", run, 3},        \
        {prefix "4", run, 4}, {prefix "5", run, 5}, {prefix "6", run, 6}, {prefix "7", run, 7},    \
        {prefix "8", run, 8}, {prefix "9", run, 9}, {prefix "10", run, 10},                        \
        {prefix "11", run, 11}, {prefix "12", run, 12}, {prefix "13", run, 13},                    \
        {prefix "14", run, 14},                                                                    \
    {                                                                                              \
        prefix "15", run, 15                                                                       \
    }

/* Sizes at which implementations change their ways. */
extern const uint64_t suite_sizes[];
enum { SUITE_SIZE_COUNT = 14, SUITE_LARGEST = (1 << 20) + 1 };

/* Nothing that a case waits for takes longer, or it has failed. */
#define SUITE_TIMEOUT_NS INT64_C(60000000000)

/* ---- Checks -------------------------------------------------------------------------------- */

void suite_fail(struct suite *suite, const char *file, int line, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));

/* The device cannot run this case, as its own description says (which is no failure). */
void suite_skip(struct suite *suite, const char *reason) __attribute__((noreturn));

/* Said in front of the messages of the checks that follow: which of many tries it is. Only by the
 * case's own thread, and while it has no others. */
void suite_note(struct suite *suite, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define check(suite, condition)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            suite_fail(suite, __FILE__, __LINE__, "%s does not hold", #condition);                 \
    } while (0)

void suite_check_ok(struct suite *suite, const char *file, int line, const char *what,
                    enum hal_status status);
#define check_ok(suite, expression)                                                                \
    suite_check_ok(suite, __FILE__, __LINE__, #expression, (expression))

/* The call fails with `wanted`, and its message has all of the texts (up to a NULL). */
void suite_check_fails(struct suite *suite, const char *file, int line, const char *what,
                       enum hal_status status, enum hal_status wanted, ...)
    __attribute__((sentinel));
#define check_fails(suite, expression, ...)                                                        \
    suite_check_fails(suite, __FILE__, __LINE__, #expression, (expression), __VA_ARGS__, NULL)

void suite_check_u64(struct suite *suite, const char *file, int line, const char *what,
                     uint64_t got, uint64_t wanted);
#define check_u64(suite, got, wanted)                                                              \
    suite_check_u64(suite, __FILE__, __LINE__, #got, (uint64_t)(got), (uint64_t)(wanted))

/* Names the first byte that differs. */
void suite_check_bytes(struct suite *suite, const char *file, int line, const void *got,
                       const void *wanted, uint64_t bytes);
#define check_bytes(suite, got, wanted, bytes)                                                     \
    suite_check_bytes(suite, __FILE__, __LINE__, got, wanted, bytes)

/* The buffer holds exactly these bytes from `offset`. */
const void *suite_bytes(struct suite *suite, struct hal_buffer *buffer, uint64_t offset,
                        uint64_t bytes);
#define check_buffer(suite, buffer, offset, wanted, bytes)                                         \
    check_bytes(suite, suite_bytes(suite, buffer, offset, bytes), wanted, bytes)

/* ---- Objects that end with the case --------------------------------------------------------- */

/* The device of the whole run; borrowed. */
struct hal_device *suite_device(const struct suite *suite);
const struct hal_device_info *suite_info(const struct suite *suite);

/* One more device, of the run's driver with other parameters: "threads=1&queues=2" or "". */
struct hal_device *suite_open(struct suite *suite, const char *parameters);

struct hal_buffer *suite_buffer(struct suite *suite, const char *label, uint64_t bytes);
struct hal_buffer *suite_buffer_of(struct suite *suite, struct hal_device *device,
                                   const struct hal_buffer_desc *desc);
/* Skips the case where the device cannot use the host's memory as its own. */
void suite_need_import(struct suite *suite);

/* Releases the buffer (a subspan, ...) with the case. */
struct hal_buffer *suite_own_buffer(struct suite *suite, struct hal_buffer *buffer);
void suite_own_channel(struct suite *suite, struct hal_channel *channel);
/* One whose memory is the same for host and device at any time, whatever --memory says. */
struct hal_buffer *suite_coherent_buffer(struct suite *suite, const char *label, uint64_t bytes);
struct hal_semaphore *suite_semaphore(struct suite *suite, const char *label, uint64_t value);
struct hal_semaphore *suite_semaphore_of(struct suite *suite, struct hal_device *device,
                                         const char *label, uint64_t value);

/* What a submission is told that signals `value` of the semaphore and waits for the value before.
 */
struct suite_step {
    struct hal_semaphore_value wait, signal;
    struct hal_submit_desc desc;
};
const struct hal_submit_desc *suite_step_to(struct suite_step *step,
                                            struct hal_semaphore *semaphore, uint64_t value);
struct hal_command_buffer *suite_commands(struct suite *suite, const char *label,
                                          enum hal_command_buffer_mode mode);
struct hal_command_buffer *suite_commands_of(struct suite *suite, struct hal_device *device,
                                             const char *label, enum hal_command_buffer_mode mode);
struct hal_executable *suite_executable(struct suite *suite,
                                        const struct hal_executable_desc *desc);

struct hal_event *suite_event(struct suite *suite, struct hal_device *device, const char *label);

struct hal_set_layout *suite_set_layout(struct suite *suite, const char *label,
                                        const struct hal_layout_binding *bindings, size_t count);
struct hal_pipeline_layout *suite_pipeline_layout(struct suite *suite, const char *label,
                                                  struct hal_set_layout *const *sets, size_t count,
                                                  uint32_t constant_bytes);

/* A folder under TMPDIR, which goes with all that is in it; the name of something there; a file for
 * queues. */
const char *suite_folder(struct suite *suite);
char *suite_path(struct suite *suite, const char *folder, const char *name);
struct hal_file *suite_file(struct suite *suite, const char *path, uint32_t mode);

/* Zeroed memory. */
void *suite_memory(struct suite *suite, size_t bytes);

/* Starts a thread; suite_join, or the case's end, waits for all of them. */
void suite_thread(struct suite *suite, void (*run)(struct suite *suite, void *user), void *user);
void suite_join(struct suite *suite);

/* ---- Short ways ----------------------------------------------------------------------------- */

void suite_write(struct suite *suite, struct hal_buffer *buffer, uint64_t offset, const void *data,
                 uint64_t bytes);
void suite_read(struct suite *suite, struct hal_buffer *buffer, uint64_t offset, void *out_data,
                uint64_t bytes);

/* The host writes `byte` everywhere. */
void suite_clear(struct suite *suite, struct hal_buffer *buffer, uint8_t byte);

static inline struct hal_semaphore_value suite_at(struct hal_semaphore *semaphore, uint64_t value)
{
    return (struct hal_semaphore_value){semaphore, value};
}
#define SUITE_NONE suite_at(NULL, 0)

/* Submits to the queues. */
enum hal_status suite_submit(struct suite *suite, uint64_t queues,
                             struct hal_command_buffer *commands, struct hal_semaphore_value wait,
                             struct hal_semaphore_value signal) HAL_CHECKED;
void suite_wait(struct suite *suite, struct hal_semaphore *semaphore, uint64_t value);

/* Submits an ended command buffer and waits; suite_run ends it before. */
void suite_submit_and_wait(struct suite *suite, struct hal_command_buffer *commands);
void suite_run(struct suite *suite, struct hal_command_buffer *commands);

/* The same sequence for the same case and --seed. */
uint32_t suite_random(struct suite *suite);
uint32_t suite_random_below(struct suite *suite, uint32_t limit);
/* Repeats after 16 KiB or so, so that captured runs stay small. */
void suite_random_bytes(struct suite *suite, void *out_data, size_t bytes);
uint64_t suite_seed(const struct suite *suite);

/* ---- Kernels -------------------------------------------------------------------------------- */

/* Entry points of suite_kernels, in kernels.metal. */
enum suite_kernel {
    KERNEL_COPY,          /* out[i] = in[i]; groups of 64 */
    KERNEL_INCREMENT,     /* x[i] += 1; groups of 64 */
    KERNEL_AFFINE,        /* x[i] = x[i] * c0 + c1; groups of 64 */
    KERNEL_NUMBER,        /* out[i] = c0 + i; groups of 64 */
    KERNEL_BOUNDED,       /* i < c0: out[i] = i + 1; groups of 32 */
    KERNEL_POSITIONS,     /* everything that a thread knows of the grid; groups of 3 x 2 x 2 */
    KERNEL_COUNT_THREADS, /* adds 1 to out[0] atomically; groups of 64 */
    KERNEL_GATHER,        /* buffer 30 = sum of i * buffers 0 to 29 */
    KERNEL_BYTES,         /* out[i] = in[i] ^ 0x5A, bytes; groups of 16 */
    KERNEL_ROTATE,        /* x[i] of each group of 128 goes to the next thread's place */
    KERNEL_REDUCE,        /* out[group] = sum of the group's 256 */
    KERNEL_TRANSPOSE,     /* out = in transposed by tiles of 16 x 16, c0 columns */
    KERNEL_SCAN,          /* prefix sums in each group of 256 */
    KERNEL_HISTOGRAM,     /* out[in[i] % 16] += 1 through threadgroup memory; groups of 64 */
    KERNEL_SIMD,          /* simdgroup functions of x[i], 12 words each; groups of 64 */
    KERNEL_WORDS,         /* out[i] = constants word i; one group of 1024 */
    KERNEL_MIXED_TYPES,   /* char, ushort, half, long and float4 arguments */
    KERNEL_WRITE_ONE,     /* out[c0] = c1; one thread */
    KERNEL_CHAIN,         /* x[0] = x[0] * 3 + c0; one thread */
    KERNEL_SPIN,          /* c0 steps of a generator on x[i]; groups of 64 */
    KERNEL_TOTAL,
};

/* Compiled for the run when first needed. */
struct hal_executable *suite_kernels(struct suite *suite);
const struct hal_executable_desc *suite_kernels_desc(void);

/* What a binding of these kernels begins at a multiple of. */
uint64_t suite_alignment(struct suite *suite);

/* ---- Kernels of a case's own ----------------------------------------------------------------- */

bool suite_runs(const struct suite *suite, enum hal_executable_format format);
/* Skips the case on other devices. */
void suite_need(struct suite *suite, enum hal_executable_format format);

/* The modules of spirv.comp and cases.comp that stand for a source in MSL. Those of spirv.comp have
 * one entry point, "main". */
enum suite_module {
    MODULE_ADDER,
    MODULE_ANSWER,
    MODULE_CASES, /* cases.comp */
    MODULE_GREEDY,
    MODULE_LARGEST,
    MODULE_PLUS_ONE,
    MODULE_PLUS_TEN,
    MODULE_SHOW,
    MODULE_TELL,
};

/* The source on devices that run MSL, the module on others. */
struct hal_executable_variant suite_variant(struct suite *suite, const char *msl,
                                            enum suite_module module);
/* The entry point's name in what suite_variant gives. */
const char *suite_entry(const struct suite *suite, const char *name);

/* Pushes these buffers (whole, at bindings 0, 1, ...) and constants, and dispatches. */
struct suite_launch {
    enum suite_kernel kernel;
    uint32_t groups[3];
    struct hal_buffer *buffers[3];
    uint32_t constants[2];
    uint32_t constant_count;
};
void suite_dispatch(struct suite *suite, struct hal_command_buffer *commands,
                    const struct suite_launch *launch);
/* The same in a command buffer of its own, which is run. */
void suite_launch_alone(struct suite *suite, const struct suite_launch *launch);

/* Random bytes; a buffer that begins with those bytes. */
uint32_t *suite_random_words(struct suite *suite, size_t count);
struct hal_buffer *suite_buffer_with(struct suite *suite, const char *label, const void *data,
                                     uint64_t bytes);

#endif
