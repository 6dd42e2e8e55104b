/* SPDX-License-Identifier: Apache-2.0 */
/* Application memory under buffers, in the mode useresource: pages of the program cannot be
 * protected from kernels only, so kernels access a copy, which can. When an encoder begins, the
 * host's writes since then are copied there, and when it ends, what kernels have written is copied
 * back; both sides are compared with their last common state. */
#import "hal/host_metal/memory.h"
#import "hal/host_metal/runtime/runtime.h"

struct hm_lent {
    uint8_t *host, *device; /* neither is owned */
    uint8_t *agreed;
    size_t bytes;
};

static pthread_mutex_t lent_lock = PTHREAD_MUTEX_INITIALIZER; /* of all copying */

/* The pages may hold what is not the buffer's and what other threads write just now. */
__attribute__((no_sanitize("thread", "address"))) static void bring(const uint8_t *from,
                                                                    uint8_t *to, uint8_t *agreed,
                                                                    size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        const uint8_t value = *(const volatile uint8_t *)(from + i);
        if (value == agreed[i])
            continue;
        *(volatile uint8_t *)(to + i) = value;
        agreed[i] = value;
    }
}

struct hm_lent *hm_lent_create(uint8_t *host, uint8_t *device, size_t bytes)
{
    struct hm_lent *const lent = host_metal_allocate(sizeof *lent);
    *lent = (struct hm_lent){host, device, host_metal_allocate(bytes), bytes};
    memset(lent->agreed, 0, bytes);
    memset(lent->device, 0, bytes);
    hm_lent_to_device(lent);
    return lent;
}

void hm_lent_destroy(struct hm_lent *lent)
{
    free(lent->agreed);
    free(lent);
}

void hm_lent_to_device(struct hm_lent *lent)
{
    pthread_mutex_lock(&lent_lock);
    bring(lent->host, lent->device, lent->agreed, lent->bytes);
    pthread_mutex_unlock(&lent_lock);
}

void hm_lent_to_host(struct hm_lent *lent)
{
    pthread_mutex_lock(&lent_lock);
    bring(lent->device, lent->host, lent->agreed, lent->bytes);
    pthread_mutex_unlock(&lent_lock);
}
