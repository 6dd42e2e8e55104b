/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of the host Metal catches the bug that it is there for: each planted bug runs in a
 * process of its own, which must end with the rule's name. And every rule has a bug. */
#import "hal/host_metal/tests/planted.h"
#import "hal/host_metal/tests/work.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_BUGS = 256, OUTPUT_BYTES = 16384, WRONG = 42 };

static const struct planted *bugs[MAX_BUGS];
static size_t bug_count;

/* Rules that no test can break, and why. */
static const struct {
    const char *rule, *reason;
} unplanted[] = {
    {"out-of-memory", "bookkeeping memory cannot be made to run out"},
    {"out-of-threads", "threads cannot be made to run out without harm to other tests"},
    {"kernel-failed", "only kernels with bounds checks fail, which the host does not compile"},
    {"string-class", "a subclass of NSString without initWithBytes does not exist"},
};

/* ---- One bug in its own process ----------------------------------------------------------- */

struct outcome {
    int status;
    char output[OUTPUT_BYTES];
};

/* What the child prints, until it ends; one that hangs is ended, and named. */
static void collect(const struct planted *bug, pid_t child, int end, struct outcome *out)
{
    enum { TIMEOUT_MS = 120000 };
    size_t count = 0;
    char rest[512];
    for (;;) {
        struct pollfd ready = {.fd = end, .events = POLLIN};
        const size_t room = sizeof out->output - 1 - count;
        const int events = poll(&ready, 1, TIMEOUT_MS);
        if (events < 0 && errno == EINTR)
            continue;
        if (events <= 0) {
            kill(child, SIGKILL);
            out->output[count] = 0;
            fail_msg("%s hangs: it has said '%s'", bug->name, out->output);
        }
        const ssize_t got =
            room ? read(end, out->output + count, room) : read(end, rest, sizeof rest);
        if (got <= 0)
            break;
        count += room ? (size_t)got : 0;
    }
    out->output[count] = 0;
}

static void run_child(const struct planted *bug, const char *modes, struct outcome *out)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (modes)
            setenv("HOST_METAL", modes, 1);
        else
            unsetenv("HOST_METAL");
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "planted", bug->name, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    collect(bug, child, ends[0], out);
    close(ends[0]);
    assert_int_equal(waitpid(child, &out->status, 0), child);
}

static bool exited_with(const struct outcome *outcome, int code)
{
    return WIFEXITED(outcome->status) && WEXITSTATUS(outcome->status) == code;
}

static void test_planted(void **state)
{
    const struct planted *const bug = *state;
    struct outcome outcome;
    if (!bug->rule) {
        run_child(bug, NULL, &outcome);
        if (!exited_with(&outcome, 0))
            fail_msg("%s shows without HOST_METAL=%s (status %d): %s", bug->name, bug->modes,
                     outcome.status, outcome.output);
        run_child(bug, bug->modes, &outcome);
        if (!exited_with(&outcome, WRONG))
            fail_msg("%s does not show with HOST_METAL=%s (status %d): %s", bug->name, bug->modes,
                     outcome.status, outcome.output);
        return;
    }
    run_child(bug, bug->modes, &outcome);
    char expected[256];
    snprintf(expected, sizeof expected, "Metal (host emulation): %s%s", bug->rule,
             strchr(bug->rule, ':') ? "" : ": ");
#if __has_feature(address_sanitizer)
    if (strcmp(bug->rule, "message-to-released-object") == 0)
        strcpy(expected, "heap-use-after-free");
#endif
    if (!strstr(outcome.output, expected) || exited_with(&outcome, 0))
        fail_msg("%s: expected '%s', got (status %d) '%s'", bug->name, expected, outcome.status,
                 outcome.output);
}

static int run_bug(const char *name)
{
    bool wrong = false;
    for (size_t i = 0; i < bug_count; i++)
        if (strcmp(bugs[i]->name, name) == 0) {
            @autoreleasepool {
                wrong = bugs[i]->run();
            }
            return wrong ? WRONG : 0;
        }
    return 127;
}

/* ---- Every rule has a bug ----------------------------------------------------------------- */

/* A planted rule may have a call behind it. */
static bool is_rule(const struct planted *bug, const char *rule)
{
    const size_t length = strlen(rule);
    return strncmp(bug->rule, rule, length) == 0 &&
           (bug->rule[length] == 0 || bug->rule[length] == ':');
}

static bool is_planted(const char *rule)
{
    for (size_t i = 0; i < bug_count; i++)
        if (bugs[i]->rule && is_rule(bugs[i], rule))
            return true;
    for (size_t i = 0; i < sizeof unplanted / sizeof *unplanted; i++)
        if (strcmp(unplanted[i].rule, rule) == 0)
            return true;
    return false;
}

static char *read_source(const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    const long bytes = ftell(file);
    rewind(file);
    char *const text = calloc(1, (size_t)bytes + 1);
    assert_int_equal(fread(text, 1, (size_t)bytes, file), bytes);
    fclose(file);
    return text;
}

/* All sources of a folder, one behind the other. */
static char *read_folder(const char *folder)
{
    size_t bytes = 1;
    char *all = calloc(1, 1);
    DIR *const directory = opendir(folder);
    assert_non_null(directory);
    for (const struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        const char *const dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".m") != 0)
            continue;
        char *const text = read_source(folder, entry->d_name);
        bytes += strlen(text);
        all = realloc(all, bytes);
        assert_non_null(all);
        strcat(all, text);
        free(text);
    }
    closedir(directory);
    return all;
}

/* The first string literal behind `position` that is a rule: small letters and at least one dash,
 * followed by a comma. NULL: the call has none before its end. */
static const char *find_rule(const char *position, char rule[64])
{
    const char *const end = strstr(position, ");");
    for (const char *quote = strchr(position, '"'); quote && quote < end;
         quote = strchr(quote, '"')) {
        const char *const begin = quote + 1;
        const size_t length = strspn(begin, "abcdefghijklmnopqrstuvwxyz-");
        if (length && length < 64 && begin[length] == '"' && begin[length + 1] == ',' &&
            memchr(begin, '-', length)) {
            memcpy(rule, begin, length);
            rule[length] = 0;
            return begin;
        }
        quote = strchr(begin, '"');
        if (!quote)
            break;
        quote++;
    }
    return NULL;
}

static size_t check_calls(const char *text, const char *call, const char *name)
{
    size_t found = 0;
    char rule[64];
    for (const char *at = strstr(text, call); at; at = strstr(at + 1, call)) {
        if (!find_rule(at, rule))
            continue;
        found++;
        if (!is_planted(rule))
            fail_msg("%s: no bug is planted for the rule '%s'", name, rule);
    }
    return found;
}

static size_t check_folder(const char *folder)
{
    size_t found = 0;
    DIR *const directory = opendir(folder);
    assert_non_null(directory);
    for (const struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        const char *const dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".m") != 0)
            continue;
        char *const text = read_source(folder, entry->d_name);
        found += check_calls(text, "hm_check(", entry->d_name);
        found += check_calls(text, "host_metal_broken(", entry->d_name);
        free(text);
    }
    closedir(directory);
    return found;
}

/* The rule, and the bugs that it has caught: each is the first one with its rule. */
static void print_caught(size_t first)
{
    char rule[64];
    snprintf(rule, sizeof rule, "%.*s", (int)strcspn(bugs[first]->rule, ":"), bugs[first]->rule);
    for (size_t i = 0; i < first; i++)
        if (bugs[i]->rule && is_rule(bugs[i], rule))
            return;
    print_message("caught: %s", rule);
    for (size_t i = first; i < bug_count; i++)
        if (bugs[i]->rule && is_rule(bugs[i], rule))
            print_message("%s%s", i == first ? " (" : "; ", bugs[i]->name);
    print_message(")\n");
}

TEST(test_every_rule_has_a_bug)
{
    for (size_t i = 0; i < bug_count; i++)
        if (bugs[i]->rule)
            print_caught(i);
    assert_true(check_folder(HOST_METAL_SOURCES) > 80);
    assert_true(check_folder(HOST_METAL_SOURCES "/runtime") > 15);
}

/* ---- Every call of the driver has a bug -------------------------------------------------- */

/* A selector's first part, as messages begin with it. */
static size_t call_length(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

/* Whether sources of the driver send a message that begins so, or use a property of that name. */
static bool driver_calls(const char *driver, const char *call, size_t length)
{
    for (const char *at = strstr(driver, call); at; at = strstr(at + 1, call)) {
        const char before = at[-1], after = at[length];
        if ((before == ' ' && (after == ':' || after == ']')) || before == '.')
            return true;
    }
    return false;
}

static bool call_is_planted(const char *call)
{
    char wanted[128];
    const int length = snprintf(wanted, sizeof wanted, ": %s", call);
    for (size_t i = 0; i < bug_count; i++) {
        const char *const found = bugs[i]->rule ? strstr(bugs[i]->rule, wanted) : NULL;
        if (found && call_length(found + length) == 0)
            return true;
    }
    return false;
}

/* What the sources of the host give to their checks as the name of a call. */
static size_t check_call_names(const char *text, const char *before, const char *driver)
{
    size_t found = 0;
    for (const char *at = strstr(text, before); at; at = strstr(at + 1, before)) {
        char call[64] = "";
        const char *const begin = at + strlen(before);
        const size_t length = call_length(begin);
        if (!length || length >= sizeof call)
            continue;
        memcpy(call, begin, length);
        if (!driver_calls(driver, call, length))
            continue;
        found++;
        if (!call_is_planted(call))
            fail_msg("the driver calls %s, for which no bug is planted", call);
    }
    return found;
}

static void test_every_call_of_the_driver_has_a_bug(void **state)
{
    static const char *const sources[] = {"buffer.m",  "command_buffer.m", "compute_encoder.m",
                                          "encoder.m", "event.m",          "counters.m"};
    static const char *const marks[] = {" call:\"",         "call[] = \"",
                                        "hm_checkOpen:\"",  "hm_checkNotCommitted:\"",
                                        "hm_checkReady:\"", "hm_checkShared:\""};
    (void)state;
    size_t found = 0;
    char *const driver = read_folder(HOST_METAL_SOURCES "/../../hal/drivers/metal");
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        char *const text = read_source(HOST_METAL_SOURCES, sources[i]);
        for (size_t k = 0; k < sizeof marks / sizeof *marks; k++)
            found += check_call_names(text, marks[k], driver);
        free(text);
    }
    free(driver);
    assert_true(found > 20);
}

static void add(const struct planted *list)
{
    for (; list->name; list++)
        bugs[bug_count++] = list;
}

int main(int argc, char **argv)
{
    add(planted_calls);
    add(planted_order);
    add(planted_memory);
    add(planted_runtime);
    add(planted_modes);
    add(planted_counters);
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    const bool all = argc == 2; /* what each call refuses is the same with them, and takes longer */
#else
    const bool all = true;
#endif
    if (all)
        add(planted_driver);
    if (argc == 2)
        return run_bug(argv[1]);
    for (size_t i = 0; i < bug_count; i++)
        test_add(&(struct CMUnitTest){.name = bugs[i]->name,
                                      .test_func = test_planted,
                                      .initial_state = (void *)(uintptr_t)bugs[i]},
                 __FILE__, __LINE__);
    if (all)
        test_add(&(struct CMUnitTest)cmocka_unit_test(test_every_call_of_the_driver_has_a_bug),
                 __FILE__, __LINE__);
    return test_run();
}
