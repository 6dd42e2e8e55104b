/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of the layer's function table that layer.c does not define; see hal/driver.h. */
#ifndef CAPTURE_OPS_H
#define CAPTURE_OPS_H

#include "capture/capture.h"

enum hal_status capture_op_buffer_create(struct hal_driver_device *self,
                                         const struct hal_buffer_desc *desc,
                                         struct hal_buffer **out);
enum hal_status capture_op_buffer_import(struct hal_driver_device *self,
                                         const struct hal_buffer_desc *desc, void *pointer,
                                         struct hal_buffer **out);
enum hal_status capture_op_buffer_map(struct hal_driver_device *self, struct hal_buffer *buffer,
                                      struct hal_mapping *out);
void capture_op_mapping_store(struct hal_driver_device *self, const struct hal_mapping *mapping,
                              const void *source);
enum hal_status capture_op_buffer_unmap(struct hal_driver_device *self,
                                        const struct hal_mapping *mapping);
enum hal_status capture_op_mapping_flush(struct hal_driver_device *self,
                                         const struct hal_mapping *mapping, uint64_t offset,
                                         uint64_t bytes);
enum hal_status capture_op_mapping_invalidate(struct hal_driver_device *self,
                                              const struct hal_mapping *mapping, uint64_t offset,
                                              uint64_t bytes);

enum hal_status capture_op_semaphore_create(struct hal_driver_device *self, const char *label,
                                            uint64_t initial_value, struct hal_semaphore **out);
enum hal_status capture_op_semaphore_query(struct hal_driver_device *self,
                                           struct hal_semaphore *semaphore, uint64_t *out_value);
enum hal_status capture_op_semaphore_signal(struct hal_driver_device *self,
                                            struct hal_semaphore *semaphore, uint64_t value);
void capture_op_semaphore_fail(struct hal_driver_device *self, struct hal_semaphore *semaphore,
                               enum hal_status status, const char *message);
enum hal_status capture_op_semaphores_wait(struct hal_driver_device *self, enum hal_wait_mode mode,
                                           const struct hal_semaphore_value *values, size_t count,
                                           int64_t timeout_ns);

uint32_t capture_op_note_command(struct hal_driver_device *self,
                                 const struct hal_command_buffer *commands);

enum hal_status capture_op_queue_submit(struct hal_driver_device *self,
                                        const struct hal_submission *submission);
void capture_op_queue_flush(struct hal_driver_device *self, uint64_t queues);

#endif
