/* SPDX-License-Identifier: Apache-2.0 */
/* A device of a test program's own: fixtures around all of its cases. Header only. */
#ifndef TESTS_SUPPORT_OWN_DEVICE_H
#define TESTS_SUPPORT_OWN_DEVICE_H

#include "tests/support/hal_fixture.h"

static struct hal_device *device;

static inline int open_device(void **state)
{
    (void)state;
    return hal_device_open("cpu?threads=1", &device) == HAL_OK ? 0 : -1;
}

static inline int close_device(void **state)
{
    (void)state;
    hal_device_release(device);
    return 0;
}

#endif
