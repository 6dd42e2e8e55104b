/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine offers, and the report of hal-capture doctor. */
#include "capture/tool/doctor.h"

#include "capture/pages/pages.h"
#include "format/base/json.h"
#include "format/file/recover.h"
#include "format/file/sidecar.h"
#include "hal/base/directories.h"
#include "hal/base/options.h"
#include "hal/base/os.h"
#include "hal/base/output.h"
#include "hal/base/print.h"
#include "hal/base/store.h"
#include "hal/base/text.h"
#include "hal/hal.h"

#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, EXIT_UNWRITTEN = 3, MAX_FINDINGS = 32 };

struct report {
    struct doctor_finding findings[MAX_FINDINGS];
    size_t count;
};

void doctor_say(struct doctor_finding *finding, enum doctor_verdict verdict, const char *fix,
                const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    finding->verdict = verdict;
    snprintf(finding->fix, sizeof finding->fix, "%s", fix ? fix : "");
}

static struct doctor_finding *add(struct report *report, const char *subject)
{
    struct doctor_finding *finding =
        &report->findings[report->count < MAX_FINDINGS ? report->count++ : MAX_FINDINGS - 1];
    *finding = (struct doctor_finding){.subject = subject};
    return finding;
}

/* ---- The system ---- */

static void look_at_system(struct report *report)
{
    struct utsname system;
    char processor[128];
    hal_processor_name(processor, sizeof processor);
    if (uname(&system) != 0)
        snprintf(system.sysname, sizeof system.sysname, "an unknown system");
    doctor_say(add(report, "system"), DOCTOR_FINE, NULL, "%s %s, %s, %s, %.1f GiB", system.sysname,
               system.release, processor,
               hal_count(hal_processor_count(), "processor", "processors").text,
               (double)hal_memory_total_bytes() / (1 << 30));
}

static void look_at_clock(struct report *report)
{
    enum { CALLS = 10000 };
    uint64_t error_ns;
    const int64_t begin_ns = hal_clock_ns();
    for (int i = 0; i < CALLS; i++)
        (void)hal_clock_ns();
    const double each_ns = (double)(hal_clock_ns() - begin_ns) / CALLS;
    const char *name = hal_clock_name(&error_ns);
    if (strcmp(name, "system") == 0)
        doctor_say(add(report, "clock"), DOCTOR_NOTE,
                   "captures have more overhead; the processor's counter is used if the system "
                   "trusts it (clocksource tsc)",
                   "the system's, %.0f ns per reading", each_ns);
    else
        doctor_say(add(report, "clock"), DOCTOR_FINE, NULL,
                   "the processor's (%s), %.0f ns per reading", name, each_ns);
}

/* Device memory is mapped twice: for the device, and for the host. */
static void look_at_shared_memory(struct report *report)
{
    enum { BYTES = 1 << 20 };
    struct doctor_finding *finding = add(report, "memory");
    int object;
    if (hal_shared_memory("hal-doctor", BYTES, &object) != HAL_OK) {
        doctor_say(finding, DOCTOR_BROKEN, "allow memfd_create, or free shared memory", "%s",
                   hal_message());
        return;
    }
    uint8_t *one = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, object, 0);
    uint8_t *other = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, object, 0);
    if (one == MAP_FAILED || other == MAP_FAILED)
        doctor_say(finding, DOCTOR_BROKEN, "raise the address space limit (ulimit -v)",
                   "shared memory cannot be mapped twice: %s", strerror(errno));
    else
        doctor_say(finding, DOCTOR_FINE, NULL, "shared memory can be mapped twice");
    if (one != MAP_FAILED)
        munmap(one, BYTES);
    if (other != MAP_FAILED)
        munmap(other, BYTES);
    close(object);
}

static void look_at_pages(struct report *report)
{
    struct doctor_finding *finding = add(report, "mappings");
    struct capture_pages pages;
    capture_pages_open(&pages);
    if (pages.works)
        doctor_say(finding, DOCTOR_FINE, NULL,
                   "the system reports written pages (userfaultfd); imported memory is compared");
    else
        doctor_say(finding, DOCTOR_NOTE,
                   "Linux 6.7 or later reports written pages; in a container, allow userfaultfd",
                   "mapped memory is compared at each use, which is slow; host stores into ranges "
                   "of running kernels can be verified only by replaying, on the CPU, a trace "
                   "captured there");
    capture_pages_close(&pages);
}

static void look_at_cache(struct report *report)
{
    struct doctor_finding *finding = add(report, "cache");
    char path[PATH_MAX];
    if (!hal_cache_directory(path, sizeof path))
        doctor_say(finding, DOCTOR_NOTE, "set HAL_CACHE_DIR, XDG_CACHE_HOME or HOME",
                   "the environment names no folder: every process compiles its kernels again");
    else if (!hal_make_directories(path) || access(path, W_OK) != 0)
        doctor_say(finding, DOCTOR_NOTE, "make it writable, or set HAL_CACHE_DIR",
                   "'%s': %s: every process compiles its kernels again", path, strerror(errno));
    else
        doctor_say(finding, DOCTOR_FINE, NULL, "'%s', at most %llu MiB", path,
                   (unsigned long long)(hal_store_limit_bytes() >> 20));
}

struct sidecars {
    size_t count;
    uint64_t bytes;
};

static void count_sidecar(void *user, const struct trace_sidecar_info *info)
{
    struct sidecars *left = user;
    left->count += !info->in_use;
    left->bytes += info->in_use ? 0 : info->bytes;
}

/* Killed captures leave theirs, which use memory until they are removed. */
static void look_at_sidecars(struct report *report)
{
    struct doctor_finding *finding = add(report, "sidecars");
    struct sidecars left = {0};
    const char *own = getenv("HAL_DEVICE_PROFILING_SIDECAR");
    const char *folder = own && own[0] ? own : TRACE_SIDECAR_FOLDER;
    if (trace_sidecars_each(folder, count_sidecar, &left) != HAL_OK)
        doctor_say(finding, DOCTOR_NOTE, NULL, "%s", hal_message());
    else if (left.count)
        doctor_say(finding, DOCTOR_NOTE,
                   folder == own ? "hal-trace recover --list FOLDER" : "hal-trace recover --list",
                   "%zu using %.1f MiB in %s, left by captures that have ended", left.count,
                   (double)left.bytes / (1 << 20), folder);
    else
        doctor_say(finding, DOCTOR_FINE, NULL, "none left by captures that have ended");
}

/* What hal-view will find. */
static void look_at_terminal(struct report *report)
{
    struct doctor_finding *finding = add(report, "terminal");
    const char *name = getenv("TERM"), *characters;
    setlocale(LC_CTYPE, "");
    characters = nl_langinfo(CODESET);
    if (strcmp(characters, "UTF-8") != 0)
        doctor_say(finding, DOCTOR_NOTE, "set LC_ALL=C.UTF-8, or hal-view --utf8",
                   "the locale's encoding is %s: hal-view draws with ASCII", characters);
    else
        doctor_say(finding, DOCTOR_FINE, NULL, "%s, UTF-8", name && name[0] ? name : "none");
    setlocale(LC_CTYPE, "C");
}

/* ---- Devices ---- */

struct devices {
    struct report *report;
    const char *driver;
    unsigned count;
};

static bool look_at_device(void *user, const struct hal_device_entry *entry)
{
    struct devices *devices = user;
    struct doctor_finding *finding = add(devices->report, devices->driver);
    struct hal_device *device;
    char formats[128] = "";
    devices->count++;
    if (hal_device_open(entry->uri, &device) != HAL_OK) {
        doctor_say(finding, DOCTOR_BROKEN, NULL, "'%s': %s", entry->uri, hal_message());
        return true;
    }
    const struct hal_device_info *info = hal_device_get_info(device);
    for (size_t i = 0, used = 0; i < info->format_count && used < sizeof formats; i++)
        used += (size_t)snprintf(formats + used, sizeof formats - used, "%s%s", i ? ", " : "",
                                 hal_executable_format_name(info->formats[i]));
    doctor_say(finding, info->format_count ? DOCTOR_FINE : DOCTOR_NOTE, NULL, "%s: %s, %s, runs %s",
               info->uri, info->name, hal_count(info->queue_count, "queue", "queues").text,
               info->format_count ? formats : "no kernels");
    hal_device_release(device);
    return true;
}

static bool look_at_driver(void *user, const struct hal_driver_info *driver)
{
    struct devices devices = {user, driver->name, 0};
    const enum hal_status status = hal_devices_list(driver->name, look_at_device, &devices);
    if (status != HAL_OK)
        doctor_say(add(user, driver->name), DOCTOR_NOTE, NULL, "%s", hal_message());
    else if (!devices.count)
        doctor_say(add(user, driver->name), DOCTOR_NOTE,
                   strcmp(driver->name, "vulkan") == 0
                       ? "install the GPU's Vulkan driver, or mesa-vulkan-drivers"
                       : NULL,
                   "no device");
    return true;
}

/* ---- The report ---- */

static const char *verdict_name(enum doctor_verdict verdict)
{
    static const char *const names[] = {
        [DOCTOR_FINE] = "fine", [DOCTOR_NOTE] = "note", [DOCTOR_BROKEN] = "broken"};
    return names[verdict];
}

static bool print_json(const struct report *report)
{
    struct trace_text text = {0};
    for (size_t i = 0; i < report->count; i++) {
        const struct doctor_finding *finding = &report->findings[i];
        trace_json_open(&text, '{');
        trace_json_member_text(&text, "subject", finding->subject);
        trace_json_member_text(&text, "verdict", verdict_name(finding->verdict));
        trace_json_member_text(&text, "text", finding->text);
        trace_json_member_text(&text, "fix", finding->fix);
        trace_json_close(&text, '}');
        trace_text_append(&text, "\n", 1);
        text.needs_comma = false;
    }
    const bool done = !text.is_failed && fwrite(text.data, 1, text.bytes, stdout) == text.bytes;
    trace_text_finish(&text);
    return done;
}

static void print_text(const struct report *report)
{
    unsigned counts[3] = {0};
    for (size_t i = 0; i < report->count; i++) {
        const struct doctor_finding *finding = &report->findings[i];
        counts[finding->verdict]++;
        struct trace_text text = {0};
        trace_text_label(&text, finding->text, strlen(finding->text));
        hal_print(stdout, "%-7s %-9s %.*s\n", verdict_name(finding->verdict), finding->subject,
                  (int)text.bytes, text.data ? text.data : "");
        if (finding->fix[0])
            hal_print(stdout, "%17s to fix it: %s\n", "", finding->fix);
        trace_text_finish(&text);
    }
    if (counts[DOCTOR_BROKEN])
        hal_print(stdout, "\n%u broken\n", counts[DOCTOR_BROKEN]);
    else
        hal_print(stdout,
                  "\n"
                  "everything that is required works%s\n",
                  counts[DOCTOR_NOTE] ? "; the notes list possible improvements" : "");
}

static void examine(struct report *report)
{
    char folder[PATH_MAX];
    look_at_system(report);
    hal_drivers_list(look_at_driver, report);
    if (hal_temporary_folder("hal-doctor", folder, sizeof folder) == HAL_OK) {
        struct doctor_finding trials[DOCTOR_TRIALS] = {{0}};
        doctor_try_everything(folder, trials);
        rmdir(folder);
        for (size_t i = 0; i < DOCTOR_TRIALS; i++)
            *add(report, trials[i].subject) = trials[i];
    } else {
        doctor_say(add(report, "capture"), DOCTOR_BROKEN, "set TMPDIR to a folder with free space",
                   "not tried: %s", hal_message());
    }
    look_at_pages(report);
    look_at_shared_memory(report);
    look_at_sidecars(report);
    look_at_clock(report);
    look_at_cache(report);
    look_at_terminal(report);
}

static int fail(int exit_status)
{
    hal_print(stderr, "hal-capture: %s\n", hal_message());
    return exit_status;
}

static int report_all(bool json)
{
    struct report report = {.count = 0};
    hal_flags_ignore_profiling(); /* nothing that is asked of captures touches those made here */
    examine(&report);
    int exit_status = 0;
    for (size_t i = 0; i < report.count; i++)
        exit_status |= report.findings[i].verdict == DOCTOR_BROKEN;
    if (!json)
        print_text(&report);
    else if (!print_json(&report))
        exit_status = EXIT_UNWRITTEN;
    return hal_output_end() == HAL_OK ? exit_status : fail(EXIT_UNWRITTEN);
}

int capture_doctor(char **argv, void (*print_version)(void))
{
    static const struct hal_option table[] = {
        {.name = "json",
         .help = "print a JSON line for each finding: subject, verdict (fine, note, broken), text, "
                 "fix"},
        {0}};
    const struct hal_command_line line = {
        .program = "hal-capture",
        .verb = "doctor",
        .usage =
            "usage: hal-capture doctor [--json]\n"
            "Tries out what capturing, replaying and showing need on this machine: devices, the "
            "kernel\n"
            "compiler, a capture, its replay, and what of the system makes them fast and safe; "
            "says how\n"
            "to fix what does not work. (hal-capture -- doctor captures a program of that "
            "name.)\n",
        .notes = "Exit status: 0 all that is needed works, 1 something is broken, 2 usage.\n",
        .options = table,
        .print_version = print_version,
    };
    struct hal_words words;
    bool json = false;
    if (hal_command_line_parse(&line, argv, &json, &words) != HAL_OK)
        return fail(EXIT_USAGE);
    if (words.asked != HAL_ASKED_NOTHING)
        return hal_command_line_answer(&line, words.asked) == HAL_OK ? 0 : fail(EXIT_UNWRITTEN);
    if (!words.count)
        return report_all(json);
    (void)hal_fail(HAL_INVALID, "doctor: unexpected argument '%s'", words.words[0]);
    return fail(EXIT_USAGE);
}
