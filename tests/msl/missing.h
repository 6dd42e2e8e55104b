/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in an operation, for missing.cases and ways.cases; no include guard: included by
 * each of them, and undone by missing_end.h. */
#define BASE                                                                                       \
    const uint32_t g0 = i / tn * tn + i % tn / 32 * 32;                                            \
    const uint32_t lane = i % tn % 32;                                                             \
    const uint32_t q0 = lane & ~3u;                                                                \
    const uint32_t lanes = tn - i % tn / 32 * 32 < 32 ? tn - i % tn / 32 * 32 : 32;                \
    uint32_t *const r = (uint32_t *)o + 16 * i;                                                    \
    (void)q0, (void)lane, (void)lanes, (void)r
#define IN(k)   ((k) < lanes && (all || w[g0 + (k)] % 3))
#define AT(k)   (IN(k) ? (uint32_t)s[g0 + (k)] : 0)
#define FILL(k) (IN(k) ? (uint32_t)(s[g0 + (k)] / 2) : 0)
#define FOLD(from, to)                                                                             \
    for (uint32_t k = from; k < to; k++)                                                           \
        if (IN(k))
/* After some threads have returned, and in one branch. */
#define IN_TWO_WAYS(name, c, ...)                                                                  \
    CASE(missing_##name##_returned, int, ODD, (if (w[i] % 3 == 0) {                                \
             o[16 * i] = 7;                                                                        \
             return;                                                                               \
         } __VA_ARGS__),                                                                           \
         (const int all = 0; EACH(i) {                                                             \
             BASE;                                                                                 \
             if (w[i] % 3 == 0) {                                                                  \
                 r[0] = 7;                                                                         \
             } else {                                                                              \
                 SUITE_OPEN c                                                                      \
             }                                                                                     \
         }))                                                                                       \
    CASE(missing_##name##_apart, int, ODD,                                                         \
         (if (w[i] % 3 == 0) { o[16 * i] = 7; } else {__VA_ARGS__} o[16 * i + 15] = simd_sum(1);), \
         (const int all = 0; EACH(i) {                                                             \
             BASE;                                                                                 \
             if (w[i] % 3 == 0) {                                                                  \
                 r[0] = 7;                                                                         \
             } else {                                                                              \
                 SUITE_OPEN c                                                                      \
             }                                                                                     \
             r[15] = lanes;                                                                        \
         }))
/* And in all threads that there are. */
#define IN_THREE_WAYS(name, c, ...)                                                                \
    CASE(missing_##name, int, ODD, (__VA_ARGS__), (const int all = 1; EACH(i) {                    \
             BASE;                                                                                 \
             SUITE_OPEN c                                                                          \
         }))                                                                                       \
    IN_TWO_WAYS(name, c, __VA_ARGS__)
