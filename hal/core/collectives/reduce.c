/* SPDX-License-Identifier: Apache-2.0 */
/* Moves and reduces the data of a collective. The ranks' values are combined piece by piece, always
 * in rank order and in the same wide type, so that the same contents give the same bytes; a piece
 * is written when all ranks' values have been read, so that in place needs no special case. */
#include "hal/core/collectives/rendezvous.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { PIECE = 512 }; /* elements */

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

/* Integers are kept extended to 64 bits, by their sign or by zeros. */
union piece {
    uint64_t integers[PIECE];
    float floats[PIECE];
    double doubles[PIECE];
};

/* ---- Elements ------------------------------------------------------------------------------ */

uint32_t hal_element_bytes(enum hal_element_type type)
{
    switch (type) {
    case HAL_ELEMENT_I8:
    case HAL_ELEMENT_U8: return 1;
    case HAL_ELEMENT_I16:
    case HAL_ELEMENT_U16:
    case HAL_ELEMENT_F16:
    case HAL_ELEMENT_BF16: return 2;
    case HAL_ELEMENT_I32:
    case HAL_ELEMENT_U32:
    case HAL_ELEMENT_F32: return 4;
    case HAL_ELEMENT_I64:
    case HAL_ELEMENT_U64:
    case HAL_ELEMENT_F64: return 8;
    }
    return 0;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float from_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7FFF;
    if (magnitude >= 0x7C00) /* infinity, NaN */
        return float_of(sign | 0x7F800000 | (magnitude & 0x3FF) << 13);
    if (magnitude < 0x0400) { /* zero and subnormal: multiples of 2^-24 */
        const float value = (float)magnitude * 0x1p-24f;
        return sign ? -value : value;
    }
    return float_of(sign | ((magnitude << 13) + ((127 - 15) << 23)));
}

static uint16_t to_half(float value)
{
    const uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000;
    const uint32_t magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000)
        return (uint16_t)(sign | 0x7E00 | (magnitude >> 13 & 0x1FF));
    if (magnitude >= 0x47800000) /* 2^16 and more */
        return (uint16_t)(sign | 0x7C00);
    if (magnitude < 0x38800000) /* below 2^-14: the sum's last place is 2^-24 */
        return (uint16_t)(sign | (bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f)));
    const uint32_t odd = magnitude >> 13 & 1;
    return (uint16_t)(sign | (magnitude - 0x38000000 + 0xFFF + odd) >> 13);
}

static uint16_t to_brain(float value)
{
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/* ---- Pieces -------------------------------------------------------------------------------- */

static bool is_signed(enum hal_element_type type)
{
    return type == HAL_ELEMENT_I8 || type == HAL_ELEMENT_I16 || type == HAL_ELEMENT_I32 ||
           type == HAL_ELEMENT_I64;
}

static bool is_integer(enum hal_element_type type)
{
    return type <= HAL_ELEMENT_U64;
}

/* From memory of any alignment: what the host imports need not be aligned. */
static void load(enum hal_element_type type, const uint8_t *from, size_t count, union piece *out)
{
    const uint32_t bytes = hal_element_bytes(type);
    if (type == HAL_ELEMENT_F32) {
        memcpy(out->floats, from, count * sizeof *out->floats);
    } else if (type == HAL_ELEMENT_F64) {
        memcpy(out->doubles, from, count * sizeof *out->doubles);
    } else if (!is_integer(type)) {
        for (size_t i = 0; i < count; i++) {
            uint16_t half;
            memcpy(&half, from + 2 * i, sizeof half);
            out->floats[i] =
                type == HAL_ELEMENT_F16 ? from_half(half) : float_of((uint32_t)half << 16);
        }
    } else {
        const uint32_t unused = 64 - 8 * bytes;
        const bool extends = is_signed(type);
        for (size_t i = 0; i < count; i++) {
            uint64_t value = 0;
            memcpy(&value, from + i * bytes, bytes); /* little-endian */
            out->integers[i] = extends ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
        }
    }
}

static void store(enum hal_element_type type, const union piece *piece, size_t count, uint8_t *to)
{
    const uint32_t bytes = hal_element_bytes(type);
    if (type == HAL_ELEMENT_F32) {
        memcpy(to, piece->floats, count * sizeof *piece->floats);
    } else if (type == HAL_ELEMENT_F64) {
        memcpy(to, piece->doubles, count * sizeof *piece->doubles);
    } else if (!is_integer(type)) {
        for (size_t i = 0; i < count; i++) {
            const uint16_t half =
                type == HAL_ELEMENT_F16 ? to_half(piece->floats[i]) : to_brain(piece->floats[i]);
            memcpy(to + 2 * i, &half, sizeof half);
        }
    } else {
        for (size_t i = 0; i < count; i++)
            memcpy(to + i * bytes, &piece->integers[i], bytes);
    }
}

/* ---- Reductions ---------------------------------------------------------------------------- */

/* Whether `b` replaces `a` as their minimum (or maximum): NaNs win, and -0 is below +0. */
static bool replaces(double a, double b, bool minimum)
{
    if (isnan(a) || isnan(b))
        return !isnan(a);
    if (a == b)
        return signbit(minimum ? b : a) && !signbit(minimum ? a : b);
    return minimum ? b < a : b > a;
}

static void combine_integers(enum hal_element_type type, enum hal_reduction reduction,
                             uint64_t *sum, const uint64_t *values, size_t count)
{
    const uint64_t flip = is_signed(type) ? UINT64_C(1) << 63 : 0; /* orders as unsigned do */
    for (size_t i = 0; i < count; i++) {
        const uint64_t a = sum[i], b = values[i];
        switch (reduction) {
        case HAL_REDUCTION_PRODUCT: sum[i] = a * b; break;
        case HAL_REDUCTION_MINIMUM: sum[i] = (b ^ flip) < (a ^ flip) ? b : a; break;
        case HAL_REDUCTION_MAXIMUM: sum[i] = (b ^ flip) > (a ^ flip) ? b : a; break;
        case HAL_REDUCTION_NONE:
        case HAL_REDUCTION_AVERAGE:
        case HAL_REDUCTION_SUM: sum[i] = a + b; break;
        }
    }
}

static void combine_floats(enum hal_reduction reduction, float *sum, const float *values,
                           size_t count)
{
    const bool minimum = reduction == HAL_REDUCTION_MINIMUM;
    if (minimum || reduction == HAL_REDUCTION_MAXIMUM) {
        for (size_t i = 0; i < count; i++)
            sum[i] = replaces((double)sum[i], (double)values[i], minimum) ? values[i] : sum[i];
    } else if (reduction == HAL_REDUCTION_PRODUCT) {
        for (size_t i = 0; i < count; i++)
            sum[i] *= values[i];
    } else {
        for (size_t i = 0; i < count; i++)
            sum[i] += values[i];
    }
}

static void combine_doubles(enum hal_reduction reduction, double *sum, const double *values,
                            size_t count)
{
    const bool minimum = reduction == HAL_REDUCTION_MINIMUM;
    if (minimum || reduction == HAL_REDUCTION_MAXIMUM) {
        for (size_t i = 0; i < count; i++)
            sum[i] = replaces(sum[i], values[i], minimum) ? values[i] : sum[i];
    } else if (reduction == HAL_REDUCTION_PRODUCT) {
        for (size_t i = 0; i < count; i++)
            sum[i] *= values[i];
    } else {
        for (size_t i = 0; i < count; i++)
            sum[i] += values[i];
    }
}

static void combine(const struct hal_move *move, union piece *sum, const union piece *values,
                    size_t count)
{
    if (is_integer(move->type))
        combine_integers(move->type, move->reduction, sum->integers, values->integers, count);
    else if (move->type == HAL_ELEMENT_F64)
        combine_doubles(move->reduction, sum->doubles, values->doubles, count);
    else
        combine_floats(move->reduction, sum->floats, values->floats, count);
}

/* Sums of up to HAL_MAX_RANKS integers of 64 bits, divided: they need more bits. */
static void average_integers(const struct hal_move *move, const uint8_t *const *from, size_t count,
                             union piece *out)
{
    assert(move->rank_count > 0);
    wide sums[PIECE] = {0};
    union piece values;
    const wide ranks = (wide)move->rank_count;
    const bool has_sign = is_signed(move->type);
    for (uint32_t rank = 0; rank < move->rank_count; rank++) {
        load(move->type, from[rank], count, &values);
        for (size_t i = 0; i < count; i++)
            sums[i] += has_sign ? (wide)(int64_t)values.integers[i]
                                : (wide)(unsigned_wide)values.integers[i];
    }
    for (size_t i = 0; i < count; i++)
        out->integers[i] = (uint64_t)(sums[i] / ranks);
}

static void reduce(const struct hal_move *move, const uint8_t *const *from, size_t count,
                   union piece *out)
{
    union piece values;
    if (is_integer(move->type) && move->reduction == HAL_REDUCTION_AVERAGE) {
        average_integers(move, from, count, out);
        return;
    }
    load(move->type, from[0], count, out);
    for (uint32_t rank = 1; rank < move->rank_count; rank++) {
        load(move->type, from[rank], count, &values);
        combine(move, out, &values, count);
    }
    for (size_t i = 0; move->reduction == HAL_REDUCTION_AVERAGE && i < count; i++) {
        if (move->type == HAL_ELEMENT_F64)
            out->doubles[i] /= (double)move->rank_count;
        else
            out->floats[i] /= (float)move->rank_count;
    }
}

/* Elements [begin, begin + count) of what all send, reduced, to `to` from its element 0 on. */
static void reduce_range(const struct hal_move *move, uint64_t begin, uint8_t *const *to,
                         uint32_t to_count)
{
    const uint64_t bytes = hal_element_bytes(move->type);
    const uint8_t *from[HAL_MAX_RANKS] = {move->sent[0]};
    union piece sum;
    for (uint64_t done = 0; done < move->count;) {
        const uint64_t left = move->count - done;
        const size_t count = left < PIECE ? (size_t)left : PIECE;
        for (uint32_t rank = 0; rank < move->rank_count; rank++)
            from[rank] = (const uint8_t *)move->sent[rank] + (begin + done) * bytes;
        reduce(move, from, count, &sum);
        for (uint32_t i = 0; i < to_count; i++)
            store(move->type, &sum, count, to[i] + done * bytes);
        done += count;
    }
}

/* ---- Collectives --------------------------------------------------------------------------- */

static void copy(void *to, const void *from, uint64_t bytes)
{
    if (bytes && to && to != from)
        memcpy(to, from, (size_t)bytes);
}

void hal_move_data(const struct hal_move *move)
{
    const uint64_t bytes = move->count * hal_element_bytes(move->type);
    uint8_t *targets[HAL_MAX_RANKS];
    for (uint32_t rank = 0; rank < move->rank_count; rank++)
        targets[rank] = move->received[rank];
    if (bytes == 0)
        return;
    switch (move->operation) {
    case HAL_COLLECTIVE_ALL_REDUCE: reduce_range(move, 0, targets, move->rank_count); break;
    case HAL_COLLECTIVE_REDUCE_SCATTER:
        for (uint32_t rank = 0; rank < move->rank_count; rank++)
            reduce_range(move, rank * move->count, &targets[rank], 1);
        break;
    case HAL_COLLECTIVE_ALL_GATHER:
        for (uint32_t rank = 0; rank < move->rank_count; rank++) {
            for (uint32_t from = 0; from < move->rank_count; from++)
                copy(targets[rank] + from * bytes, move->sent[from], bytes);
        }
        break;
    case HAL_COLLECTIVE_BROADCAST:
    case HAL_COLLECTIVE_SEND:
    case HAL_COLLECTIVE_RECEIVE:
        for (uint32_t rank = 0; rank < move->rank_count; rank++)
            copy(targets[rank], move->sent[move->root], bytes);
        break;
    }
}

/* ---- Names --------------------------------------------------------------------------------- */

const char *hal_collective_name(enum hal_collective operation)
{
    switch (operation) {
    case HAL_COLLECTIVE_ALL_REDUCE: return "all-reduce";
    case HAL_COLLECTIVE_ALL_GATHER: return "all-gather";
    case HAL_COLLECTIVE_REDUCE_SCATTER: return "reduce-scatter";
    case HAL_COLLECTIVE_BROADCAST: return "broadcast";
    case HAL_COLLECTIVE_SEND: return "send";
    case HAL_COLLECTIVE_RECEIVE: return "receive";
    }
    return "unknown";
}

const char *hal_element_name(enum hal_element_type type)
{
    static const char *const names[] = {
        [HAL_ELEMENT_I8] = "i8",     [HAL_ELEMENT_U8] = "u8",   [HAL_ELEMENT_I16] = "i16",
        [HAL_ELEMENT_U16] = "u16",   [HAL_ELEMENT_I32] = "i32", [HAL_ELEMENT_U32] = "u32",
        [HAL_ELEMENT_I64] = "i64",   [HAL_ELEMENT_U64] = "u64", [HAL_ELEMENT_F16] = "f16",
        [HAL_ELEMENT_BF16] = "bf16", [HAL_ELEMENT_F32] = "f32", [HAL_ELEMENT_F64] = "f64"};
    return type >= HAL_ELEMENT_I8 && type <= HAL_ELEMENT_F64 ? names[type] : "unknown";
}

const char *hal_reduction_name(enum hal_reduction reduction)
{
    switch (reduction) {
    case HAL_REDUCTION_NONE: return "none";
    case HAL_REDUCTION_SUM: return "sum";
    case HAL_REDUCTION_PRODUCT: return "product";
    case HAL_REDUCTION_MINIMUM: return "minimum";
    case HAL_REDUCTION_MAXIMUM: return "maximum";
    case HAL_REDUCTION_AVERAGE: return "average";
    }
    return "unknown";
}
