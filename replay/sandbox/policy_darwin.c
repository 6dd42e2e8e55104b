/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox of macOS. It reports what it cannot do: it has no memory limit, and a locked process
 * can still become the kernel compiler, in the same sandbox. docs/metal.md says which of this was
 * verified on a Mac. */
#include "hal/base/directories.h"
#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "replay/sandbox/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* From libSystem. The header declares them deprecated, but there is no alternative for a program
 * that is not an application bundle; flags 0: the profile is a text. */
int sandbox_init(const char *profile, uint64_t flags, char **error);
void sandbox_free_error(char *error);

/* ---- Paths --------------------------------------------------------------------------------- */

/* Without links, in memory that is never freed: the process has one use. NULL: no such file. */
static const char *real(const char *path)
{
    return path && path[0] ? realpath(path, NULL) : NULL;
}

static const char *beside(const char *program, const char *folder)
{
    char path[PATH_MAX];
    const char *const end = strrchr(program, '/');
    if (!end || snprintf(path, sizeof path, "%.*s/%s", (int)(end - program), program, folder) >=
                    (int)sizeof path)
        return NULL;
    return real(path);
}

static struct replay_own_places find_own(void)
{
    struct replay_own_places own = {0};
    char path[PATH_MAX];
    if (hal_program_path(path, sizeof path) == HAL_OK)
        own.libraries[0] = beside(path, "../lib");
    if (hal_module_path((const void *)(uintptr_t)hal_clock_ns, path, sizeof path) == HAL_OK)
        own.libraries[1] = beside(path, ".");
    if (hal_cache_directory(path, sizeof path))
        own.cache = real(path);
    return own;
}

/* Each with an end, an empty one last. NULL: no memory. */
static char *real_programs(const char *programs)
{
    char *list = NULL;
    size_t bytes;
    FILE *out = open_memstream(&list, &bytes);
    for (; out && programs[0]; programs += strlen(programs) + 1) {
        const char *path = real(programs);
        if (path)
            fwrite(path, 1, strlen(path) + 1, out);
    }
    if (!out || fputc('\0', out) == EOF || fclose(out) != 0)
        return NULL;
    return list;
}

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory for the sandbox's profile");
}

/* ---- Walls --------------------------------------------------------------------------------- */

static enum hal_status enter(const struct replay_policy *policy)
{
    const struct replay_own_places own = find_own();
    char *error = NULL;
    char *profile = replay_sandbox_profile(policy, &own);
    if (!profile)
        return no_memory();
    const bool good = sandbox_init(profile, 0, &error) == 0;
    if (!good)
        hal_fail(HAL_FAILED, "no sandbox: sandbox_init: %s", error ? error : "no reason given");
    if (error)
        sandbox_free_error(error);
    free(profile);
    return good ? HAL_OK : HAL_FAILED;
}

/* With paths as the sandbox sees them. */
static enum hal_status enter_really(const struct replay_policy *policy)
{
    struct replay_policy seen = *policy;
    char *const programs = real_programs(policy->programs);
    const char **given = hal_alloc(policy->given_count, sizeof *given);
    if (!programs || !given) {
        free(programs);
        free((void *)given);
        return no_memory();
    }
    for (size_t i = 0; i < policy->given_count; i++)
        given[i] = real(policy->given[i]);
    seen.trace = real(policy->trace);
    seen.given = given;
    seen.scratch = real(policy->scratch);
    seen.kept = real(policy->kept);
    seen.programs = programs;
    const enum hal_status status = enter(&seen);
    free(programs);
    free((void *)given);
    return status;
}

static void limit(int resource, rlim_t value)
{
    struct rlimit old;
    if (getrlimit(resource, &old) != 0)
        return;
    const rlim_t most = value < old.rlim_max ? value : old.rlim_max;
    setrlimit(resource, &(struct rlimit){most, most});
}

enum hal_status replay_policy_enter(const struct replay_policy *policy,
                                    char out_missing[REPLAY_MISSING_BYTES])
{
    snprintf(out_missing, REPLAY_MISSING_BYTES, "memory (macOS has no limit for it)");
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, 1024);
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
        return hal_fail(HAL_FAILED, "cannot empty standard input: %s", strerror(errno));
    close(nothing);
    return enter_really(policy);
}

/* Memory is not accounted. */
enum hal_status replay_policy_compile(void)
{
    return HAL_OK;
}

/* A sandbox cannot be made tighter: limits of the process do what is left. */
enum hal_status replay_policy_lock(bool has_results, _Atomic uint32_t *out_refused)
{
    (void)out_refused; /* the sandbox reports nothing */
    limit(RLIMIT_NPROC, 0);
    if (!has_results) {
        signal(SIGXFSZ, SIG_IGN);
        limit(RLIMIT_FSIZE, 0);
    }
    return HAL_OK;
}

const char *replay_system_call_name(uint32_t number, char out_name[REPLAY_CALL_BYTES])
{
    snprintf(out_name, REPLAY_CALL_BYTES, "number %u", number);
    return out_name;
}
