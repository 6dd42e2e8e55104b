/* SPDX-License-Identifier: Apache-2.0 */
/* Between the program and the fixture: running one case, and what the user expects of it. */
#ifndef TESTS_CONFORMANCE_RUNNER_H
#define TESTS_CONFORMANCE_RUNNER_H

#include "tests/conformance/suite.h"

#include <pthread.h>

/* How a case ended. */
enum suite_outcome {
    SUITE_PASSED,
    SUITE_FAILED,
    SUITE_SKIPPED,     /* the device's description rules it out */
    SUITE_UNSUPPORTED, /* a call said HAL_UNSUPPORTED */
};

enum { SUITE_MESSAGE_BYTES = 8192 };

struct suite_result {
    enum suite_outcome outcome;
    char message[SUITE_MESSAGE_BYTES];
};

/* What the cases of a run share. */
struct suite_run {
    struct hal_device *device;
    const char *driver; /* its URI without parameters */
    uint64_t seed;
    uint32_t memory; /* of buffers of which a case does not say it; 0: the default */
    pthread_mutex_t lock;
    struct hal_executable *kernels; /* lock; NULL until needed */
};

/* The caller frees the name; NULL: there is none. Removes all that is there. */
char *suite_folder_make(void);
void suite_folder_remove(const char *path);

void suite_run_case(struct suite_run *run, const char *name, const struct suite_case *which,
                    struct suite_result *out_result);
struct suite_run *suite_run_of(struct suite *suite);

/* Lines of "unsupported GLOB reason" and "fails GLOB reason"; '#' begins a comment. */
struct suite_expectation {
    enum suite_outcome outcome; /* PASSED: nothing special, but for --injected */
    bool untold;                /* with --injected, it may find wrong values */
    char *glob, *reason;
    size_t matches;
};

struct suite_expectations {
    struct suite_expectation *lines;
    size_t count;
};

/* False: the file cannot be read or says nonsense, which has been printed. */
bool suite_expectations_load(const char *path, struct suite_expectations *out);
void suite_expectations_free(struct suite_expectations *expectations);

/* The line for this case, counted as used; NULL: it shall pass. */
const struct suite_expectation *suite_expected(struct suite_expectations *expectations,
                                               const char *name);

#endif
