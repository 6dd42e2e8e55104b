/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of buffers and heaps: the views of host and device, at different addresses, and current
 * access rights to the device's view. */
#ifndef HOST_METAL_MEMORY_H
#define HOST_METAL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HM_PAGE_BYTES = 4096, HM_READ = 1, HM_WRITE = 2 };

/* Complete pages with one protection. */
struct hm_span {
    uint8_t *device;
    size_t bytes;
    unsigned readers, writers; /* running encoders */
    const char *const *label;  /* for messages: pointer to the name */
    struct hm_span *next;
};

struct hm_memory {
    uint8_t *host;   /* NULL: private */
    uint8_t *device; /* followed by an inaccessible page */
    size_t bytes;    /* whole pages */
    bool two_copies; /* separate host and device copies */
    bool borrowed;   /* the application's memory: one address for both */
};

enum hm_views { HM_DEVICE_ONLY, HM_COHERENT, HM_TWO_COPIES };

/* False: out of memory. */
bool hm_memory_create(size_t bytes, enum hm_views views, struct hm_memory *out_memory);
void hm_memory_destroy(struct hm_memory *memory);

/* A memory span that kernels may access while it is open. In useresource mode it is closed
 * otherwise. */
void hm_span_add(struct hm_span *span);
void hm_span_remove(struct hm_span *span);
void hm_span_open(struct hm_span *span, unsigned access);
void hm_span_close(struct hm_span *span, unsigned access);

/* The application's memory and a copy for the device (lent.m); owns neither. */
struct hm_lent;
struct hm_lent *hm_lent_create(uint8_t *host, uint8_t *device, size_t bytes);
void hm_lent_destroy(struct hm_lent *lent);
void hm_lent_to_device(struct hm_lent *lent);
void hm_lent_to_host(struct hm_lent *lent);

/* Call around a kernel, on its thread: faults in between are the kernel's. */
void hm_kernel_begin(void);
void hm_kernel_end(void);

#endif
