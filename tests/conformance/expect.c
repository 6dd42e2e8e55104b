/* SPDX-License-Identifier: Apache-2.0 */
/* Reads expect/<driver>.txt: cases that a driver does not support, those that are known to fail,
 * and those that cannot tell an injected failure from a wrong result, each with its reason. */
#include "tests/conformance/runner.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>

static const struct {
    const char *word;
    enum suite_outcome outcome;
    bool untold;
} kinds[] = {{"unsupported", SUITE_UNSUPPORTED, false},
             {"fails", SUITE_FAILED, false},
             {"untold", SUITE_PASSED, true}};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static bool add(struct suite_expectations *all, size_t kind, const char *glob, const char *reason)
{
    struct suite_expectation *grown = realloc(all->lines, (all->count + 1) * sizeof *all->lines);
    if (!grown)
        return false;
    all->lines = grown;
    all->lines[all->count] = (struct suite_expectation){.outcome = kinds[kind].outcome,
                                                        .untold = kinds[kind].untold,
                                                        .glob = strdup(glob),
                                                        .reason = strdup(reason)};
    all->count++;
    return grown[all->count - 1].glob && grown[all->count - 1].reason;
}

static bool read_line(struct suite_expectations *all, const char *path, unsigned number, char *line)
{
    char *rest, *kind, *glob;
    line[strcspn(line, "#\n")] = '\0';
    kind = strtok_r(line, " \t", &rest);
    if (!kind)
        return true;
    glob = strtok_r(NULL, " \t", &rest);
    size_t which = 0;
    while (which < KIND_COUNT && strcmp(kind, kinds[which].word) != 0)
        which++;
    if (!glob || which == KIND_COUNT || !rest || !rest[strspn(rest, " \t")]) {
        fprintf(stderr,
                "hal-conformance: %s:%u: not of the form 'unsupported|fails|untold CASES REASON'\n",
                path, number);
        return false;
    }
    return add(all, which, glob, rest + strspn(rest, " \t"));
}

bool suite_expectations_load(const char *path, struct suite_expectations *out)
{
    char line[1024];
    bool good = true;
    FILE *file = fopen(path, "r");
    *out = (struct suite_expectations){0};
    if (!file) {
        fprintf(stderr, "hal-conformance: cannot read '%s': %s\n", path, strerror(errno));
        return false;
    }
    for (unsigned number = 1; good && fgets(line, sizeof line, file); number++)
        good = read_line(out, path, number, line);
    fclose(file);
    if (!good)
        suite_expectations_free(out);
    return good;
}

void suite_expectations_free(struct suite_expectations *expectations)
{
    for (size_t i = 0; i < expectations->count; i++) {
        free(expectations->lines[i].glob);
        free(expectations->lines[i].reason);
    }
    free(expectations->lines);
    *expectations = (struct suite_expectations){0};
}

const struct suite_expectation *suite_expected(struct suite_expectations *expectations,
                                               const char *name)
{
    for (size_t i = 0; i < expectations->count; i++) {
        if (fnmatch(expectations->lines[i].glob, name, 0) == 0) {
            expectations->lines[i].matches++;
            return &expectations->lines[i];
        }
    }
    return NULL;
}
