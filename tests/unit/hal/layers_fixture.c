/* SPDX-License-Identifier: Apache-2.0 */
/* A capture of the fake layer, for tests of layers. */
#include "tests/unit/hal/layers_fixture.h"

#include <dlfcn.h>
#include <sched.h>

struct fake_layer *fake;

int load_fake(void **state)
{
    (void)state;
    setenv("HAL_CAPTURE_MODULE", FAKE_LAYER_PATH, 1);
    void *module = dlopen(FAKE_LAYER_PATH, RTLD_NOW | RTLD_LOCAL);
    fake = module ? dlsym(module, FAKE_LAYER_SYMBOL) : NULL;
    return fake ? 0 : -1;
}

int forget(void **state)
{
    (void)state;
    memset(fake, 0, sizeof *fake);
    return 0;
}

void begin(struct hal_device *device)
{
    assert_ok(hal_device_profiling_begin(
        device, &(struct hal_profiling_options){.file = "x.pb.zst"}, HAL_FOREVER));
}

void await(_Atomic uint32_t *word, uint32_t value)
{
    while (atomic_load(word) != value)
        sched_yield();
}

void *wait_for_value(void *argument)
{
    struct waiting *waiting = argument;
    waiting->started = 1;
    const enum hal_status status =
        hal_semaphore_wait(waiting->semaphore, waiting->value, HAL_FOREVER);
    waiting->finished = status == HAL_OK ? 1 : 2;
    return NULL;
}
