/* SPDX-License-Identifier: Apache-2.0 */
/* A capture module for tests: counts every call that passes and forwards it, checks what the core
 * promises about its coming and going, and can be told to misbehave. The test finds the state by
 * loading the module once more and looking up FAKE_LAYER_SYMBOL. */
#ifndef TESTS_SUPPORT_FAKE_LAYER_H
#define TESTS_SUPPORT_FAKE_LAYER_H

#include "hal/driver.h"

#define FAKE_LAYER_SYMBOL "fake_layer"

enum fake_call {
    FAKE_QUERY,
    FAKE_WAIT_IDLE,
    FAKE_BUFFER_CREATE,
    FAKE_MAP,
    FAKE_UNMAP,
    FAKE_FLUSH,
    FAKE_INVALIDATE,
    FAKE_EXECUTABLE_CREATE,
    FAKE_COMMANDS_CREATED,
    FAKE_PREPARE,
    FAKE_SEMAPHORE_CREATE,
    FAKE_SEMAPHORE_QUERY,
    FAKE_SIGNAL,
    FAKE_FAIL,
    FAKE_WAIT,
    FAKE_SUBMIT,
    FAKE_DESTROY,
    FAKE_SCOPE,
    FAKE_RETIRED,
    FAKE_CALL_COUNT,
};

struct fake_layer {
    _Atomic uint32_t calls[FAKE_CALL_COUNT];
    _Atomic uint32_t inside;     /* calls that are in the layer now */
    _Atomic uint32_t in_flight;  /* submissions seen and not retired */
    _Atomic uint32_t violations; /* of the core's promises */
    void *kept;                  /* a layer that left with work in flight */
    _Atomic uint32_t begun, ended, left, flushed;
    uint32_t objects_at_begin;
    bool objects_in_order;
    uint32_t mappings_at_begin;
    struct hal_mapping last_mapping;
    _Atomic uint32_t last_queue; /* of a submission */
    char file[256], mode[32], stacks[32];
    bool force;

    enum hal_status begin_status, end_status; /* what to return */
    void (*while_closed)(void *user);         /* called by begin and by end */
    void (*while_inside)(void *user);         /* called by device_query */
    bool time_dispatches;                     /* asked of every submission */
    void (*on_retired)(void *user, const struct hal_submission_result *result);
    void *user;
    int report; /* a descriptor that end and leave write one byte to, 'e' or 'l'; 0: none */
};

#endif
