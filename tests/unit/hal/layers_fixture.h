/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of layers: a capture of tests/support/fake_layer.h. */
#ifndef TESTS_UNIT_LAYERS_FIXTURE_H
#define TESTS_UNIT_LAYERS_FIXTURE_H

#include "tests/support/fake_layer.h"
#include "tests/support/hal_fixture.h"

extern struct fake_layer *fake; /* of the module */

/* The group's; each test's. */
int load_fake(void **state);
int forget(void **state);

void begin(struct hal_device *device);

/* Polls until `word` has that value: no test waits for time to pass. */
void await(_Atomic uint32_t *word, uint32_t value);

/* What a thread waits for. */
struct waiting {
    struct hal_semaphore *semaphore;
    uint64_t value;
    _Atomic uint32_t started, finished;
};
void *wait_for_value(void *argument);

#endif
