/* SPDX-License-Identifier: Apache-2.0 */
/* By /proc: a cgroup would need rights that few have. The parent is the subreaper of all, so they
 * are found from its own children on, whatever group or session they have gone into. */
#include "replay/sandbox/account.h"

#include "hal/base/os.h"
#include "hal/base/text.h"
#include "hal/hal.h"

#include <dirent.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 }; /* whose own memory is far over any limit */
#else
enum { SANITIZED = 0 };
#endif

enum {
    MOST_FOUND = 4096,
    PROCESSES_AT_LEAST = 32,
    PROCESSES_OF_ONE = 4, /* a compiler, what it starts, and as many again */
    MOST_THREADS = 2560,  /* two CPU devices may have 1024 each */
    LOOKS_PER_FOLDER = 4  /* folders are looked through more seldom */
};
#define MIB                (UINT64_C(1) << 20)
#define SPARE_MEMORY_BYTES (1024 * MIB) /* the compilers, stacks, what libraries hold */
#define MOST_DISK_BYTES    (1024 * MIB)

/* ---- Finding ------------------------------------------------------------------------------- */

struct found {
    pid_t pids[MOST_FOUND];
    size_t count;
};

static void add_children(const char *path, struct found *found)
{
    char word[32];
    FILE *file = fopen(path, "r");
    while (file && found->count < MOST_FOUND && fscanf(file, "%31s", word) == 1)
        found->pids[found->count++] = (pid_t)strtol(word, NULL, 10);
    if (file)
        fclose(file);
}

/* Each thread has children of its own. */
static void add_children_of(pid_t process, struct found *found)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.32s/children", (int)process, entry->d_name);
        add_children(path, found);
    }
    if (folder)
        closedir(folder);
}

static struct found others; /* existing before */

static bool is_other(pid_t process)
{
    for (size_t i = 0; i < others.count; i++)
        if (others.pids[i] == process)
            return true;
    return false;
}

void replay_account_leave_children(void)
{
    others.count = 0;
    add_children_of(getpid(), &others);
}

/* All that descend from this process, parents first. */
static void find_all(struct found *found)
{
    size_t kept = 0;
    found->count = 0;
    add_children_of(getpid(), found);
    for (size_t i = 0; i < found->count; i++)
        if (!is_other(found->pids[i]))
            found->pids[kept++] = found->pids[i];
    found->count = kept;
    for (size_t i = 0; i < found->count; i++)
        add_children_of(found->pids[i], found);
}

void replay_account_kill(void)
{
    enum { ROUNDS = 1000 };
    static struct found found;
    for (int round = 0; round < ROUNDS; round++) {
        find_all(&found);
        if (!found.count)
            return;
        for (size_t i = 0; i < found.count; i++)
            kill(found.pids[i], SIGKILL);
        for (size_t i = 0; i < found.count; i++)
            (void)!waitpid(found.pids[i], NULL, round ? 0 : WNOHANG);
    }
}

/* ---- Memory -------------------------------------------------------------------------------- */

/* For files without a name, such as shared memory: they may be full without being mapped. */
static uint64_t nameless_bytes_of(pid_t process)
{
    char path[300];
    uint64_t sum = 0;
    struct stat facts;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)process);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (entry->d_name[0] != '.' && fstatat(dirfd(folder), entry->d_name, &facts, 0) == 0 &&
            S_ISREG(facts.st_mode) && facts.st_nlink == 0)
            sum += (uint64_t)facts.st_blocks * 512;
    }
    if (folder)
        closedir(folder);
    return sum;
}

/* The memory in a line of a process's status, in units of `unit` bytes. */
struct fact {
    const char *name;
    uint64_t unit;
    uint64_t value;
};

static void take_fact(const char *line, struct fact *facts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(facts[i].name);
        if (strncmp(line, facts[i].name, length) == 0)
            facts[i].value = strtoull(line + length, NULL, 10) * facts[i].unit;
    }
}

/* Swapped pages are memory, and so is what the system needs for page tables and threads. */
struct use {
    uint64_t bytes, threads;
};

static struct use use_of(pid_t process)
{
    enum { SHARED, THREADS, OTHERS, COUNT = 5, THREAD_BYTES = 32 << 10 };
    struct fact facts[COUNT] = {{"RssShmem:", 1024, 0},
                                {"Threads:", 1, 0},
                                {"RssAnon:", 1024, 0},
                                {"VmSwap:", 1024, 0},
                                {"VmPTE:", 1024, 0}};
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        take_fact(line, facts, COUNT);
    if (file)
        fclose(file);
    const uint64_t nameless = nameless_bytes_of(process);
    struct use use = {.bytes = facts[SHARED].value > nameless ? facts[SHARED].value : nameless,
                      .threads = facts[THREADS].value};
    for (size_t i = OTHERS; i < COUNT; i++)
        use.bytes += facts[i].value;
    use.bytes += use.threads * THREAD_BYTES;
    return use;
}

uint64_t replay_account_own_bytes(void)
{
    return use_of(getpid()).bytes;
}

/* ---- Files --------------------------------------------------------------------------------- */

static uint64_t seen_bytes;

static int add_file(const char *path, const struct stat *facts, int type, struct FTW *position)
{
    (void)path;
    (void)position;
    seen_bytes += type == FTW_F ? (uint64_t)facts->st_blocks * 512 : 0;
    return 0;
}

static uint64_t folder_bytes(const struct replay_account *account)
{
    seen_bytes = 0;
    for (size_t i = 0; i < sizeof account->folders / sizeof *account->folders; i++) {
        if (account->folders[i])
            nftw(account->folders[i], add_file, 16, FTW_PHYS);
    }
    return seen_bytes;
}

/* No folder has it. */
static uint64_t printed_bytes(const struct replay_account *account)
{
    struct stat facts;
    return account->printed >= 0 && fstat(account->printed, &facts) == 0
               ? (uint64_t)facts.st_blocks * 512
               : 0;
}

/* ---- All ----------------------------------------------------------------------------------- */

void replay_account_init(struct replay_account *account, uint64_t memory_bytes,
                         uint64_t inherited_bytes)
{
    const uint64_t bytes = memory_bytes ? memory_bytes : hal_memory_total_bytes();
    *account = (struct replay_account){
        .most_processes = PROCESSES_AT_LEAST + PROCESSES_OF_ONE * (size_t)hal_processor_count(),
        .most_disk_bytes = MOST_DISK_BYTES,
        .printed = -1};
    if (!SANITIZED && bytes && bytes < UINT64_MAX / 8)
        account->most_memory_bytes = 2 * bytes + SPARE_MEMORY_BYTES + inherited_bytes;
}

static double in_mib(uint64_t bytes)
{
    return (double)bytes / (double)MIB;
}

enum hal_status replay_account_check(struct replay_account *account)
{
    static struct found found;
    uint64_t bytes = 0, threads = 0;
    find_all(&found);
    if (found.count > account->most_processes)
        return hal_fail(HAL_FAILED, "the replay has %s, the limit is %zu",
                        hal_count(found.count, "process", "processes").text,
                        account->most_processes);
    for (size_t i = 0; i < found.count; i++) {
        const struct use use = use_of(found.pids[i]);
        bytes += use.bytes;
        threads += use.threads;
    }
    if (threads > MOST_THREADS)
        return hal_fail(HAL_FAILED, "the replay has %s, the limit is %d",
                        hal_count(threads, "thread", "threads").text, MOST_THREADS);
    if (account->most_memory_bytes && bytes > account->most_memory_bytes)
        return hal_fail(
            HAL_FAILED,
            "the replay uses %.0f MiB of memory, the limit is %.0f MiB (--memory-limit)",
            in_mib(bytes), in_mib(account->most_memory_bytes));
    if (account->looks++ % LOOKS_PER_FOLDER)
        return HAL_OK;
    bytes = folder_bytes(account) + printed_bytes(account);
    if (account->most_disk_bytes && bytes > account->most_disk_bytes)
        return hal_fail(HAL_FAILED, "the replay has written %.0f MiB, the limit is %.0f MiB",
                        in_mib(bytes), in_mib(account->most_disk_bytes));
    return HAL_OK;
}
