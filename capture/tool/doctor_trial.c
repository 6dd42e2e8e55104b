/* SPDX-License-Identifier: Apache-2.0 */
/* The whole way once, on something small: see doctor.h. */
#include "capture/tool/doctor.h"
#include "format/trace.h"
#include "hal/base/moment.h"
#include "hal/base/os.h"
#include "hal/base/text.h"
#include "hal/hal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { COUNT = 4096, GROUP_THREADS = 64, TRIAL_BYTES = COUNT * sizeof(uint32_t) };
enum { REPLAY_LIMIT_S = 120 };

/* Threads wait for each other, so that the kernel exercises the whole compiler. */
static const char kernel_source[] = "#include <metal_stdlib>\n"
                                    "using namespace metal;\n"
                                    "kernel void turn(device uint *numbers [[buffer(0)]],\n"
                                    "                 uint i [[thread_position_in_grid]],\n"
                                    "                 uint t [[thread_position_in_threadgroup]])\n"
                                    "{\n"
                                    "    threadgroup uint all[64];\n"
                                    "    all[t] = numbers[i];\n"
                                    "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
                                    "    numbers[i] = 2 * all[63 - t] + 1;\n"
                                    "}\n";

struct trial {
    struct hal_device *device;
    struct hal_buffer *numbers;
    struct hal_executable *executable;
    struct hal_command_buffer *commands;
    struct hal_semaphore *done;
};

static enum hal_status prepare(struct trial *trial)
{
    const struct hal_entry_point turn = {.name = "turn", .workgroup_size = {GROUP_THREADS, 1, 1}};
    const struct hal_executable_desc executable = {.label = "doctor.metal",
                                                   .format = HAL_FORMAT_MSL,
                                                   .data = kernel_source,
                                                   .bytes = strlen(kernel_source),
                                                   .entry_points = &turn,
                                                   .entry_point_count = 1};
    const struct hal_buffer_desc numbers = {.label = "numbers", .bytes = TRIAL_BYTES};
    const struct hal_command_buffer_desc commands = {.label = "doctor"};
    HAL_TRY(hal_device_open("cpu", &trial->device));
    HAL_TRY(hal_executable_create(trial->device, &executable, &trial->executable));
    HAL_TRY(hal_buffer_create(trial->device, &numbers, &trial->numbers));
    HAL_TRY(hal_semaphore_create(trial->device, "done", 0, &trial->done));
    return hal_command_buffer_create(trial->device, &commands, &trial->commands);
}

static void clean_up(struct trial *trial)
{
    hal_command_buffer_release(trial->commands);
    hal_semaphore_release(trial->done);
    hal_buffer_release(trial->numbers);
    hal_executable_release(trial->executable);
    hal_device_release(trial->device);
}

/* Writes, runs the kernel, reads, and compares. */
static enum hal_status work(struct trial *trial)
{
    const struct hal_binding binding = {trial->numbers, 0, HAL_WHOLE_BUFFER};
    const uint32_t groups[3] = {COUNT / GROUP_THREADS, 1, 1};
    const struct hal_semaphore_value signal = {trial->done, 1};
    const struct hal_submit_desc submit = {
        .signals = &signal, .signal_count = 1, .commands = &trial->commands, .command_count = 1};
    uint32_t numbers[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        numbers[i] = i;
    HAL_TRY(hal_buffer_write(trial->numbers, 0, numbers, sizeof numbers));
    HAL_TRY(hal_command_push_descriptor_set(trial->commands, 0, &binding, 1));
    HAL_TRY(hal_command_dispatch(trial->commands, trial->executable, 0, groups));
    HAL_TRY(hal_command_buffer_end(trial->commands));
    HAL_TRY(hal_queue_submit(trial->device, &submit));
    HAL_TRY(hal_semaphore_wait(trial->done, 1, HAL_FOREVER));
    HAL_TRY(hal_buffer_read(trial->numbers, 0, numbers, sizeof numbers));
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint32_t right = 2 * (i - i % 64 + 63 - i % 64) + 1;
        if (numbers[i] != right)
            return hal_fail(HAL_FAILED, "the kernel stored %u at index %u instead of %u",
                            numbers[i], i, right);
    }
    return HAL_OK;
}

/* ---- Capture ---- */

static enum hal_status read_trace(const char *path, uint64_t *out_bytes)
{
    struct trace_reader *reader;
    HAL_TRY(trace_reader_open(path, &reader));
    const struct trace_counts *counts = trace_reader_counts(reader);
    const struct trace_health *health = trace_reader_health(reader);
    enum hal_status status = HAL_OK;
    *out_bytes = counts->file_bytes;
    if (health && health->status)
        status = hal_fail(HAL_FAILED, "recording ended early: %s",
                          health->message ? health->message : "the reason is unknown");
    else if (trace_reader_truncated(reader)[0])
        status = hal_fail(HAL_FAILED, "%s", trace_reader_truncated(reader));
    else if (counts->submissions != 1 || counts->dispatches != 1 ||
             counts->host_read_bytes != TRIAL_BYTES)
        status = hal_fail(
            HAL_FAILED, "the trace holds %s, %s and %s read back instead of 1, 1 and %zu",
            hal_count((unsigned long long)counts->submissions, "submission", "submissions").text,
            hal_count((unsigned long long)counts->dispatches, "dispatch", "dispatches").text,
            hal_count((unsigned long long)counts->host_read_bytes, "byte", "bytes").text,
            (size_t)TRIAL_BYTES);
    trace_reader_close(reader);
    return status;
}

static void try_capture(struct trial *trial, const char *path, struct doctor_finding *finding)
{
    const struct hal_profiling_options options = {.file = path};
    uint64_t bytes = 0;
    enum hal_status status = hal_device_profiling_begin(trial->device, &options, HAL_FOREVER);
    if (status == HAL_OK) {
        status = work(trial);
        const enum hal_status end = hal_device_profiling_end(trial->device);
        status = status == HAL_OK ? end : status;
    }
    if (status == HAL_OK)
        status = read_trace(path, &bytes);
    if (status == HAL_OK)
        doctor_say(finding, DOCTOR_FINE, NULL, "a kernel's run recorded in %s, complete",
                   hal_count((unsigned long long)bytes, "byte", "bytes").text);
    else
        doctor_say(finding, DOCTOR_BROKEN,
                   "the message names what is missing: space in TMPDIR, a limit (ulimit -a), or "
                   "the capture module beside libhal",
                   "%s", hal_message());
}

/* ---- Replay ---- */

/* hal-replay is beside this program. */
static enum hal_status start_replay(const char *trace, int *out_output, pid_t *out_process)
{
    char program[PATH_MAX];
    posix_spawn_file_actions_t actions;
    int ends[2];
    HAL_TRY(hal_program_path(program, sizeof program));
    char *name = strrchr(program, '/');
    if (!name || (size_t)(name - program) + sizeof "/hal-replay" > sizeof program)
        return hal_fail(HAL_NOT_FOUND, "hal-replay: this program's path is too long");
    memcpy(name, "/hal-replay", sizeof "/hal-replay");
    if (!hal_pipe(ends))
        return hal_fail(HAL_IO, "cannot make a pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    char *const arguments[] = {program, (char *)(uintptr_t)trace, NULL};
    const int error = posix_spawn(out_process, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *out_output = ends[0];
    if (!error)
        return HAL_OK;
    close(ends[0]);
    return hal_fail(HAL_IO, "cannot run '%s': %s", program, strerror(error));
}

/* Until its end; false: it takes too long, and was killed. */
static bool read_output(int output, pid_t process, char *out_text, size_t bytes)
{
    const int64_t deadline_ns = hal_deadline_ns(REPLAY_LIMIT_S * INT64_C(1000000000));
    size_t used = 0;
    char rest[512];
    for (;;) {
        const int64_t left_ns = deadline_ns - hal_clock_ns();
        struct pollfd ready = {.fd = output, .events = POLLIN};
        if (left_ns <= 0) {
            kill(process, SIGKILL);
            return false;
        }
        if (poll(&ready, 1, (int)(left_ns / 1000000) + 1) <= 0)
            continue;
        const bool fits = used + 1 < bytes;
        const ssize_t got =
            read(output, fits ? out_text + used : rest, fits ? bytes - 1 - used : sizeof rest);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        used += fits ? (size_t)got : 0;
    }
    out_text[used] = '\0';
    return true;
}

/* The first output line with that prefix, cut out of the output; NULL: none. */
static char *find_line(char *text, const char *beginning)
{
    const size_t bytes = strlen(beginning);
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, beginning, bytes) == 0) {
            line[strcspn(line, "\n")] = '\0';
            return line;
        }
    }
    return NULL;
}

static void check_replay(char *output, int state, struct doctor_finding *finding)
{
    const char *const fix = "hal-replay runs untrusted kernels in a sandbox, which this system "
                            "does not fully support; a container's rules may forbid Landlock";
    const char *missing;
    if (WIFSIGNALED(state)) {
        doctor_say(finding, DOCTOR_BROKEN, NULL, "signal %d ended hal-replay", WTERMSIG(state));
    } else if (WEXITSTATUS(state) != 0) {
        for (size_t end = strlen(output); end && output[end - 1] == '\n'; end--)
            output[end - 1] = '\0';
        const char *last = strrchr(output, '\n');
        doctor_say(finding, DOCTOR_BROKEN, "hal-replay --trusted can still replay your own traces",
                   "hal-replay ended with exit status %d: %s", WEXITSTATUS(state),
                   last ? last + 1 : output);
    } else if ((missing = find_line(output, "sandbox: "))) {
        doctor_say(finding, DOCTOR_NOTE, fix, "the results are identical, but %s", missing);
    } else {
        doctor_say(finding, DOCTOR_FINE, NULL, "the results are identical, in the sandbox");
    }
}

static void try_replay(const char *trace, struct doctor_finding *finding)
{
    char output[4096];
    int pipe_end = -1, state = 0;
    pid_t process;
    if (start_replay(trace, &pipe_end, &process) != HAL_OK) {
        doctor_say(finding, DOCTOR_BROKEN, "install hal-replay beside hal-capture", "%s",
                   hal_message());
        return;
    }
    const bool ended = read_output(pipe_end, process, output, sizeof output);
    close(pipe_end);
    while (waitpid(process, &state, 0) < 0 && errno == EINTR)
        continue;
    if (ended)
        check_replay(output, state, finding);
    else
        doctor_say(finding, DOCTOR_BROKEN, NULL, "hal-replay did not end within %d s",
                   REPLAY_LIMIT_S);
}

void doctor_try_everything(const char *folder, struct doctor_finding out_findings[DOCTOR_TRIALS])
{
    struct doctor_finding *compiler = &out_findings[0], *capture = &out_findings[1],
                          *replay = &out_findings[2];
    struct trial trial = {0};
    char path[PATH_MAX], programs[4 * PATH_MAX];
    const int64_t begin_ns = hal_clock_ns();
    compiler->subject = "compiler";
    capture->subject = "capture";
    replay->subject = "replay";
    doctor_say(capture, DOCTOR_BROKEN, NULL, "not tested: it requires a kernel");
    doctor_say(replay, DOCTOR_BROKEN, NULL, "not tested: it requires a trace");
    snprintf(path, sizeof path, "%s/doctor.pb.zst", folder);
    if (hal_kernel_programs(programs, sizeof programs) != HAL_OK || prepare(&trial) != HAL_OK) {
        doctor_say(compiler, DOCTOR_BROKEN,
                   "install clang-16 or later, or set HAL_MSL_CLANG to one", "%s", hal_message());
    } else {
        doctor_say(compiler, DOCTOR_FINE, NULL, "%s compiled a kernel, which was loaded in %s",
                   programs, hal_duration_text(hal_clock_ns() - begin_ns).text);
        try_capture(&trial, path, capture);
        if (capture->verdict == DOCTOR_FINE)
            try_replay(path, replay);
    }
    clean_up(&trial);
    unlink(path);
}
