/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock for files and signals, limits for memory; system_calls_linux.c for everything else. */
#include "hal/base/directories.h"
#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "replay/sandbox/policy.h"
#include "replay/sandbox/system_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* ---- Files --------------------------------------------------------------------------------- */

/* As the kernel has them, which may be newer than the headers. */
struct ruleset {
    uint64_t files, network, scopes;
};
#define RIGHT_READ          ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR))
#define RIGHT_RUN           ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE))
#define RIGHT_OPEN          ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE))
#define RIGHTS_ON_FILES     (RIGHT_OPEN | LANDLOCK_ACCESS_FS_EXECUTE)
#define RIGHTS_OF_VERSION_2 ((UINT64_C(1) << 14) - 1)
enum { RIGHT_TRUNCATE = 1 << 14, SCOPES = 3, VERSION_SCOPES = 6 };

/* What is not there needs no rule. */
static bool allow(int ruleset, const char *path, uint64_t rights)
{
    const int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0)
        return true;
    const struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = file};
    bool added = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    if (!added && errno == EINVAL) { /* a file, for which the rights of folders mean nothing */
        const struct landlock_path_beneath_attr plain = {.allowed_access = rights & RIGHTS_ON_FILES,
                                                         .parent_fd = file};
        added = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &plain, 0) == 0;
    }
    close(file);
    return added;
}

static bool allow_beside(int ruleset, const char *program, const char *folder)
{
    char path[PATH_MAX];
    const char *const end = strrchr(program, '/');
    if (!end || snprintf(path, sizeof path, "%.*s/%s", (int)(end - program), program, folder) >=
                    (int)sizeof path)
        return true;
    return allow(ruleset, path, RIGHT_READ);
}

/* The program that loads programs: it is started whenever one is. */
static const char *find_loader(void)
{
    const ElfW(Phdr) *const headers = (const void *)getauxval(AT_PHDR);
    const size_t count = (size_t)getauxval(AT_PHNUM);
    const char *base = NULL;
    for (size_t i = 0; headers && i < count; i++)
        if (headers[i].p_type == PT_PHDR)
            base = (const char *)headers - headers[i].p_vaddr;
    for (size_t i = 0; base && i < count; i++)
        if (headers[i].p_type == PT_INTERP)
            return base + headers[i].p_vaddr;
    return NULL;
}

static bool allow_system(int ruleset)
{
    static const char *const read[] = {
        "/usr",       "/lib",          "/lib64",        "/etc/ld.so.cache", "/etc/ld.so.preload",
        "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/sys/vm",     "/sys/devices/system",
        "/dev/null",  "/dev/urandom",  "/dev/zero"};
    bool good = allow(ruleset, "/dev/null", RIGHT_OPEN);
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        good = allow(ruleset, read[i], RIGHT_READ) && good;
    return good;
}

/* Read access to our own libraries, at any path, and to the cache. */
static bool allow_own(int ruleset)
{
    char path[PATH_MAX];
    bool good = true;
    if (hal_program_path(path, sizeof path) == HAL_OK)
        good = allow_beside(ruleset, path, "../lib") && good;
    if (hal_module_path((const void *)(uintptr_t)hal_clock_ns, path, sizeof path) == HAL_OK)
        good = allow_beside(ruleset, path, ".") && good;
    if (hal_cache_directory(path, sizeof path))
        good = allow(ruleset, path, RIGHT_READ) && good;
    return good;
}

static bool allow_programs(int ruleset, const char *programs)
{
    const char *const loader = find_loader();
    bool good = !programs[0] || !loader || allow(ruleset, loader, RIGHT_RUN);
    for (; programs[0]; programs += strlen(programs) + 1) {
        good = allow(ruleset, programs, RIGHT_RUN) && good;
        good = allow_beside(ruleset, programs, "../lib") && good;
    }
    return good;
}

/* Renaming from folder to folder, which the cache does, came with version 2. */
static enum hal_status restrict_files(const struct replay_policy *policy, char *missing)
{
    const long version =
        syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 2) {
        return hal_fail(HAL_UNSUPPORTED,
                        "files cannot be protected: Landlock of Linux 5.19 is required, %s; "
                        "--trusted replays without the sandbox, only for traces you trust",
                        version < 0 ? "and not enabled in this kernel"
                                    : "this kernel has an older one");
    }
    if (version < VERSION_SCOPES)
        snprintf(missing, REPLAY_MISSING_BYTES,
                 "signals to other processes while kernels compile (Landlock of Linux 6.12)");
    const uint64_t all = RIGHTS_OF_VERSION_2 | (version >= 3 ? RIGHT_TRUNCATE : 0);
    const struct ruleset attributes = {.files = all, .scopes = SCOPES};
    const size_t bytes = version >= VERSION_SCOPES ? sizeof attributes : sizeof attributes.files;
    const int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, bytes, 0);
    bool good = ruleset >= 0 && allow_system(ruleset) && allow_own(ruleset) &&
                allow_programs(ruleset, policy->programs) &&
                allow(ruleset, policy->trace, RIGHT_READ) && allow(ruleset, policy->scratch, all) &&
                (!policy->kept || allow(ruleset, policy->kept, all));
    for (size_t i = 0; i < policy->given_count; i++)
        good = good && allow(ruleset, policy->given[i], RIGHT_READ);
    good = good && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    const int error = errno;
    if (ruleset >= 0)
        close(ruleset);
    return good ? HAL_OK : hal_fail(HAL_FAILED, "files cannot be protected: %s", strerror(error));
}

/* ---- Limits -------------------------------------------------------------------------------- */

static void limit(int resource, uint64_t value)
{
    struct rlimit old;
    if (getrlimit(resource, &old) != 0)
        return;
    const struct rlimit wanted = {value < old.rlim_max ? value : old.rlim_max,
                                  value < old.rlim_max ? value : old.rlim_max};
    setrlimit(resource, &wanted);
}

/* A sanitizer's shadow counts as memory, so there are no limits with one. */
static void limit_memory(uint64_t bytes)
{
    const uint64_t spare = UINT64_C(8) << 30; /* stacks, the compiler, the libraries */
    if (!bytes)
        bytes = hal_memory_total_bytes();
    if (!SANITIZED && bytes && bytes < UINT64_MAX / 8) {
        limit(RLIMIT_DATA, 2 * bytes + spare);
        limit(RLIMIT_AS, 4 * bytes + 8 * spare);
    }
    /* When memory is short all the same, this process is the one to go. */
    const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        (void)!write(file, "1000", 4);
        close(file);
    }
}

enum hal_status replay_policy_enter(const struct replay_policy *policy,
                                    char out_missing[REPLAY_MISSING_BYTES])
{
    out_missing[0] = '\0';
    limit_memory(policy->memory_bytes);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, 1024);
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
        return hal_fail(HAL_FAILED, "cannot empty standard input: %s", strerror(errno));
    close(nothing);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return hal_fail(HAL_FAILED, "cannot give up privileges: %s", strerror(errno));
    HAL_TRY(restrict_files(policy, out_missing));
    return replay_limit_system_calls();
}
