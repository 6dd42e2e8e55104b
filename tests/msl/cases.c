/* SPDX-License-Identifier: Apache-2.0 */
/* All areas: first what C expects, then the tables. */
#include "tests/msl/suite.h"

#define CASE(name, type, shape, msl, c)                                                            \
    static void expect_##name(const struct suite_launch *launch)                                   \
    {                                                                                              \
        type *const o = launch->o;                                                                 \
        const float *const a = launch->a, *const b = launch->b, *const x = launch->x;              \
        const uint32_t *const u = launch->u, *const w = launch->w;                                 \
        const int32_t *const s = launch->s;                                                        \
        const uint32_t n = launch->n, tn = launch->tn;                                             \
        (void)o, (void)a, (void)b, (void)x, (void)u, (void)w, (void)s, (void)n, (void)tn;          \
        SUITE_OPEN c;                                                                              \
    }
#define WITH(name, type, shape, declarations, msl, c) CASE(name, type, shape, msl, c)
#define KERNEL(name, type, shape, msl, c)             CASE(name, type, shape, msl, c)
#include "tests/msl/areas.h"
#undef CASE
#undef WITH
#undef KERNEL

#define CASE(name, type, shape, msl, c)                                                            \
    {#name, #type, sizeof(type), shape, "()", #msl, expect_##name},
#define WITH(name, type, shape, declarations, msl, c)                                              \
    {#name, #type, sizeof(type), shape, #declarations, #msl, expect_##name},
#define KERNEL(name, type, shape, msl, c)                                                          \
    {#name, #type, sizeof(type), shape, #msl, NULL, expect_##name},
#define SUITE_TABLES
#include "tests/msl/areas.h"

#define AREA(name)                                                                                 \
    {                                                                                              \
#name, suite_##name, sizeof suite_##name / sizeof *suite_##name                            \
    }
const struct suite_area suite_areas[] = {
    AREA(scalars),   AREA(vectors),   AREA(matrices),   AREA(narrow),  AREA(spaces),
    AREA(templates), AREA(constants), AREA(attributes), AREA(math),    AREA(integers),
    AREA(packing),   AREA(atomics),   AREA(together),   AREA(missing), AREA(ways),
    AREA(tiles),     AREA(engines),
};
const size_t suite_area_count = sizeof suite_areas / sizeof *suite_areas;
