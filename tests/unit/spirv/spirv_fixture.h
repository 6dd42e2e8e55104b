/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of SPIR-V: one dispatch of one module over buffers in several descriptor sets. */
#ifndef TESTS_UNIT_SPIRV_FIXTURE_H
#define TESTS_UNIT_SPIRV_FIXTURE_H

#include "tests/support/hal_fixture.h"

enum { SPIRV_MAX_PLACES = 8 };

/* A buffer with these contents, which are replaced by what the kernel leaves. */
struct spirv_place {
    uint32_t set, binding;
    void *data;
    size_t bytes;
};

/* Zero: workgroup_size and groups are {64, 1, 1} and {1, 1, 1}, the entry point is "main". */
struct spirv_launch {
    const uint32_t *words;
    size_t bytes;
    const char *entry;
    uint32_t workgroup_size[3], groups[3];
    const struct hal_constant *constants;
    size_t constant_count;
    const void *push;
    uint32_t push_bytes;
    struct spirv_place places[SPIRV_MAX_PLACES];
    bool with_layout; /* the executable says which bindings there are: those in `places` */
};
#define SPIRV_MODULE(name) .words = (name), .bytes = sizeof(name)

/* The whole array `data` at that place. */
#define SPIRV_PLACE(set, binding, data)                                                            \
    {                                                                                              \
        (set), (binding), (data), sizeof(data)                                                     \
    }

/* Fails the test, with the message, unless everything works. */
void spirv_launch(const struct spirv_launch *launch);

/* What creating the executable says. */
enum hal_status spirv_status(const struct spirv_launch *launch);

int spirv_set_up(void **state);
int spirv_tear_down(void **state);

/* Random numbers; the seed is printed once, HALTRACE_SEED sets it. */
uint32_t spirv_random(void);
void spirv_fill_random(uint32_t *words, size_t count);

/* IEEE half precision by the compiler's own arithmetic. */
float spirv_from_half(uint16_t bits);

#endif
