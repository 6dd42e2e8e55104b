/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of captured contents share: one trace in a folder of its own, buffers, small work. One
 * thread. */
#ifndef TESTS_SUPPORT_CONTENTS_H
#define TESTS_SUPPORT_CONTENTS_H

#include "tests/support/captured.h"
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"

enum { KIB = 1024, MIB = 1024 * KIB, BYTES = 256 * KIB };

extern struct test_folder contents_folder;
extern char contents_path[PATH_MAX]; /* of the trace */

/* Of the group. */
int contents_setup(void **state);
int contents_teardown(void **state);

/* Of each test: no trace is there, and written pages are found by the system, or by comparison. */
int contents_by_pages(void **state);
int contents_by_comparison(void **state);

void contents_random(uint8_t *data, size_t bytes, uint64_t *random);
struct hal_buffer *contents_buffer(struct hal_device *device, uint32_t memory, uint64_t bytes);
struct hal_mapping contents_map(struct hal_buffer *buffer, uint32_t mode, uint64_t offset,
                                uint64_t bytes);

/* The ticket of the n-th event of that kind, which must be there. */
uint64_t contents_ticket(const struct captured *captured, enum trace_event_kind kind, size_t n);

/* The n-th read of what the device wrote into memory that stays mapped; NULL: there is none. */
const struct trace_content_event *contents_observed(const struct captured *captured, size_t n);

/* Submits commands that read or write the buffer, and waits. */
void contents_fill(struct hal_device *device, struct hal_buffer *buffer, uint64_t offset,
                   uint64_t bytes, uint8_t value);
void contents_copy(struct hal_device *device, struct hal_buffer *source, uint64_t offset,
                   struct hal_buffer *target, uint64_t bytes);

#endif
