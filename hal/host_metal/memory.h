/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of buffers and heaps: the host's and the device's views of it, which are different
 * addresses, and who may reach the device's view at the moment. */
#ifndef HOST_METAL_MEMORY_H
#define HOST_METAL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HM_PAGE_BYTES = 4096, HM_READ = 1, HM_WRITE = 2 };

/* Whole pages with one protection. */
struct hm_span {
    uint8_t *device;
    size_t bytes;
    unsigned readers, writers; /* running encoders */
    const char *const *label;  /* for messages: where the name is kept */
    struct hm_span *next;
};

struct hm_memory {
    uint8_t *host;   /* NULL: private */
    uint8_t *device; /* a page without access follows */
    size_t bytes;    /* whole pages */
    bool two_copies; /* host and device must be copied */
    bool borrowed;   /* the application's: one address for both */
};

enum hm_views { HM_DEVICE_ONLY, HM_COHERENT, HM_TWO_COPIES };

/* False: there is no such memory. */
bool hm_memory_create(size_t bytes, enum hm_views views, struct hm_memory *out_memory);
void hm_memory_destroy(struct hm_memory *memory);

/* A span of memory that kernels may reach while it is opened. In the mode useresource it is closed
 * otherwise. */
void hm_span_add(struct hm_span *span);
void hm_span_remove(struct hm_span *span);
void hm_span_open(struct hm_span *span, unsigned access);
void hm_span_close(struct hm_span *span, unsigned access);

/* The application's memory and a copy of it for the device (lent.m); neither is owned. */
struct hm_lent;
struct hm_lent *hm_lent_create(uint8_t *host, uint8_t *device, size_t bytes);
void hm_lent_destroy(struct hm_lent *lent);
void hm_lent_to_device(struct hm_lent *lent);
void hm_lent_to_host(struct hm_lent *lent);

/* Around a kernel, on the thread that runs it: a fault between them is the kernel's. */
void hm_kernel_begin(void);
void hm_kernel_end(void);

#endif
