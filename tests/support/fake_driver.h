/* SPDX-License-Identifier: Apache-2.0 */
/* What lies below a capture that has no real device: a core without objects, and the entries of a
 * driver that succeed and do nothing. A test adds the entries that it is about:
 *     static const struct hal_driver_ops ops = {FAKE_OPS, .queue_submit = submit}; */
#ifndef TESTS_SUPPORT_FAKE_DRIVER_H
#define TESTS_SUPPORT_FAKE_DRIVER_H

#include "hal/driver.h"

extern hal_layer_begin hal_capture_begin;

extern const struct hal_core fake_core;

#define FAKE_OPS                                                                                   \
    .device_query = fake_query, .command_buffer_prepare = fake_prepare,                            \
    .object_destroy = fake_destroy

enum hal_status fake_query(struct hal_driver_device *self, const char *key, int64_t *out_value);
enum hal_status fake_prepare(struct hal_driver_device *self, struct hal_command_buffer *commands);
void fake_destroy(struct hal_driver_device *self, struct hal_object *object);

#endif
