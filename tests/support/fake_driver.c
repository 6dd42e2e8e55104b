/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fake_driver.h"

enum hal_status fake_query(struct hal_driver_device *self, const char *key, int64_t *out_value)
{
    (void)self;
    (void)out_value;
    return hal_fail(HAL_NOT_FOUND, "the fake driver knows no '%s'", key);
}

enum hal_status fake_prepare(struct hal_driver_device *self, struct hal_command_buffer *commands)
{
    (void)self;
    (void)commands;
    return HAL_OK;
}

void fake_destroy(struct hal_driver_device *self, struct hal_object *object)
{
    (void)self;
    (void)object;
}

static const struct hal_device_info *info_of(const struct hal_device *device)
{
    static const struct hal_device_info info = {.uri = "fake", .driver = "fake", .name = "fake"};
    (void)device;
    return &info;
}

static void no_objects(struct hal_device *device,
                       void (*visit)(void *user, struct hal_object *object), void *user)
{
    (void)device;
    (void)visit;
    (void)user;
}

static void no_mappings(struct hal_device *device,
                        void (*visit)(void *user, const struct hal_mapping *mapping), void *user)
{
    (void)device;
    (void)visit;
    (void)user;
}

const struct hal_core fake_core = {.abi = HAL_DRIVER_ABI,
                                   .bytes = sizeof fake_core,
                                   .device_info = info_of,
                                   .each_object = no_objects,
                                   .each_mapping = no_mappings,
                                   .object_retain = hal_object_retain,
                                   .object_release = hal_object_release};
