/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a usable clang and remembers what it said about itself. */
#include "hal/compiler/msl/toolchain.h"

#include "hal/base/mem.h"
#include "hal/base/moment.h"
#include "hal/base/os.h"
#include "hal/base/text.h"
#include "hal/compiler/msl/msl.h"
#include "hal/compiler/msl/process.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OLDEST_VERSION = 16 };

static const char *const names[] = {"clang-16", "clang-17", "clang-18", "clang-19", "clang"};
static const char advice[] =
    "install clang 16 or later (Debian: apt-get install clang-16) or set HAL_MSL_CLANG";

/* The processor's name and features as the system resolved them: "-march=native" says neither. */
static void add_processor(struct hal_digest *digest)
{
    char text[4096];
    const int file = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    const ssize_t count = file >= 0 ? read(file, text, sizeof text - 1) : 0;
    if (file >= 0)
        close(file);
    text[count > 0 ? count : 0] = '\0';
    static const char *const lines[] = {"vendor_id", "cpu family",      "model",   "flags",
                                        "Features",  "CPU implementer", "CPU part"};
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line && *line;
         line = strtok_r(NULL, "\n", &rest)) {
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
            if (strncmp(line, lines[i], strlen(lines[i])) == 0)
                hal_digest_add_string(digest, line);
        if (strncmp(line, "processor", 9) == 0 && !strstr(line, ": 0"))
            break;
    }
}

bool msl_processor_is_wide(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

enum hal_status msl_program_identify(const char *path, struct msl_key *out_identity)
{
    struct stat facts;
    if (stat(path, &facts) != 0)
        return hal_fail(HAL_NOT_FOUND, "there is no '%s': %s", path, strerror(errno));
    struct hal_digest digest = hal_digest_begin();
    const struct timespec written = hal_file_written(&facts);
    const uint64_t numbers[] = {(uint64_t)facts.st_dev, (uint64_t)facts.st_ino,
                                (uint64_t)facts.st_size, (uint64_t)written.tv_sec,
                                (uint64_t)written.tv_nsec};
    hal_digest_add_string(&digest, path);
    hal_digest_add(&digest, numbers, sizeof numbers);
    add_processor(&digest);
    return hal_digest_end(&digest, out_identity->bytes);
}

/* "Debian clang version 16.0.6 (...)" -> "clang version 16.0.6"; false when it is too old. */
static bool read_version(const char *text, char *out_version, size_t bytes)
{
    static const char prefix[] = "clang version ";
    const char *const found = strstr(text, prefix);
    if (!found || strtol(found + sizeof prefix - 1, NULL, 10) < OLDEST_VERSION)
        return false;
    size_t length = sizeof prefix - 1;
    while (isdigit((unsigned char)found[length]) || found[length] == '.')
        length++;
    snprintf(out_version, bytes, "%.*s", (int)length, found);
    return true;
}

static enum hal_status ask_version(struct msl_compiler *compiler)
{
    const char *const arguments[] = {compiler->path, "--version", NULL};
    const struct msl_process process = {
        .arguments = arguments, .output_limit = 1 << 16, .time_limit_ns = MSL_COMPILER_LIMIT_NS};
    struct msl_text output = {0}, errors = {0};
    int code = 0;
    enum hal_status status = msl_process_run(&process, &output, &errors, &code);
    if (status == HAL_OK &&
        (code != 0 || !read_version(output.bytes, compiler->version, sizeof compiler->version)))
        status = hal_fail(HAL_NOT_FOUND, "'%s' is not clang %d or later", compiler->path,
                          OLDEST_VERSION);
    msl_text_finish(&output);
    msl_text_finish(&errors);
    return status;
}

/* Knows a compiler by its file; asks it once per machine. */
static enum hal_status examine(const char *path, struct msl_compiler *out_compiler)
{
    char entry[MSL_PATH_BYTES];
    if (!realpath(path, out_compiler->path))
        return hal_fail(HAL_NOT_FOUND, "there is no '%s': %s", path, strerror(errno));
    if (access(out_compiler->path, X_OK) != 0)
        return hal_fail(HAL_NOT_FOUND, "'%s' is not a program", path);
    HAL_TRY(msl_program_identify(out_compiler->path, &out_compiler->identity));
    HAL_TRY(msl_cache_path(NULL, &out_compiler->identity, ".compiler", entry, sizeof entry));
    if (msl_cache_load(entry, &out_compiler->identity, out_compiler->version,
                       sizeof out_compiler->version) == HAL_OK)
        return HAL_OK;
    HAL_TRY(ask_version(out_compiler));
    return msl_cache_store(entry, &out_compiler->identity, out_compiler->version);
}

/* Looks a bare name up on PATH. */
static bool on_path(const char *name, char *out_path, size_t bytes)
{
    const char *directory = getenv("PATH");
    while (directory && *directory) {
        const size_t length = strcspn(directory, ":");
        const int written = snprintf(out_path, bytes, "%.*s/%s", (int)length, directory, name);
        if (length && written > 0 && (size_t)written < bytes && access(out_path, X_OK) == 0)
            return true;
        directory += length + (directory[length] == ':');
    }
    return false;
}

static enum hal_status search(struct msl_compiler *out_compiler)
{
    char path[MSL_PATH_BYTES];
    const char *const wanted = getenv("HAL_MSL_CLANG");
    if (wanted && *wanted) {
        const bool is_path = strchr(wanted, '/') != NULL;
        if (!is_path && !on_path(wanted, path, sizeof path))
            return hal_fail(HAL_NOT_FOUND, "HAL_MSL_CLANG is '%s', which is not on PATH; %s",
                            wanted, advice);
        if (examine(is_path ? wanted : path, out_compiler) == HAL_OK)
            return HAL_OK;
        return hal_fail(HAL_NOT_FOUND, "HAL_MSL_CLANG: %s; %s", hal_message(), advice);
    }
#ifdef HAL_MSL_DEFAULT_CLANG
    if (examine(HAL_MSL_DEFAULT_CLANG, out_compiler) == HAL_OK)
        return HAL_OK;
#endif
    char why[HAL_MESSAGE_BYTES] = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!on_path(names[i], path, sizeof path))
            continue;
        if (examine(path, out_compiler) == HAL_OK)
            return HAL_OK;
        if (!why[0])
            snprintf(why, sizeof why, "%s; ", hal_message());
    }
    return hal_fail(HAL_NOT_FOUND, "no compiler for kernels: %s%s", why, advice);
}

/* A slow machine, or a program of thousands of kernels, may need more. */
static enum hal_status find_limit(int64_t *out_ns)
{
    const int64_t second_ns = 1000000000;
    const char *const text = getenv("HAL_MSL_TIME_LIMIT");
    *out_ns = MSL_COMPILER_LIMIT_NS;
    if (!text || !*text || hal_duration_parse(text, second_ns, 86400 * second_ns, out_ns))
        return HAL_OK;
    return hal_fail(HAL_INVALID, "HAL_MSL_TIME_LIMIT is '%s'; it is a time from 1s to 24h", text);
}

enum hal_status msl_compiler_find(struct msl_compiler *out_compiler)
{
    HAL_TRY(find_limit(&out_compiler->limit_ns));
    out_compiler->linker[0] = '\0';
#if defined(__linux__)
    if (!on_path("ld", out_compiler->linker, sizeof out_compiler->linker))
        out_compiler->linker[0] = '\0';
#endif
    return search(out_compiler);
}
