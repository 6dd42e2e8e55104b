/* SPDX-License-Identifier: Apache-2.0 */
/* Block formats, one number at a time, written from their description and not from the kernels. */
#include "tests/msl/engine_blocks.h"

#include "tests/unit/msl/msl_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double half_at(const uint8_t *bytes)
{
    uint16_t bits;
    memcpy(&bits, bytes, sizeof bits);
    return (double)fixture_from_half(bits);
}

static double value_f32(const uint8_t *block, size_t i)
{
    float value;
    memcpy(&value, block + 4 * i, sizeof value);
    return (double)value;
}

static double value_f16(const uint8_t *block, size_t i)
{
    return half_at(block + 2 * i);
}

static double value_bf16(const uint8_t *block, size_t i)
{
    const uint32_t bits = (uint32_t)block[2 * i + 1] << 24 | (uint32_t)block[2 * i] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* Elements 0 to 15 are the lower halves of the bytes, 16 to 31 the upper ones. */
static int nibble(const uint8_t *q, size_t i)
{
    return i < 16 ? q[i] & 15 : q[i - 16] >> 4;
}

static int fifth(const uint8_t *high, size_t i)
{
    return (high[i / 8] >> (i % 8) & 1) * 16;
}

static double value_n4(const uint8_t *block, size_t i)
{
    return half_at(block) * (nibble(block + 2, i) - 8);
}

static double value_n4m(const uint8_t *block, size_t i)
{
    return half_at(block) * nibble(block + 4, i) + half_at(block + 2);
}

static double value_n5(const uint8_t *block, size_t i)
{
    return half_at(block) * (nibble(block + 6, i) + fifth(block + 2, i) - 16);
}

static double value_n5m(const uint8_t *block, size_t i)
{
    return half_at(block) * (nibble(block + 8, i) + fifth(block + 4, i)) + half_at(block + 2);
}

static double value_b8(const uint8_t *block, size_t i)
{
    return half_at(block) * (int8_t)block[2 + i];
}

static double value_f4(const uint8_t *block, size_t i)
{
    static const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const int code = nibble(block + 1, i);
    return ldexp(magnitudes[code & 7], block[0] - 127) * (code & 8 ? -1 : 1);
}

/* Group g of 32: its bytes are those of the pair of groups, the odd one has the upper halves. */
static double value_k4(const uint8_t *block, size_t i)
{
    const size_t group = i / 32;
    const uint8_t scales = block[4 + group], byte = block[12 + group / 2 * 32 + i % 32];
    const int four = group % 2 ? byte >> 4 : byte & 15;
    return half_at(block) * (scales & 15) * four - half_at(block + 2) * (scales >> 4);
}

static double value_k6(const uint8_t *block, size_t i)
{
    const int low = i < 128 ? block[i] & 15 : block[i - 128] >> 4;
    const int high = block[128 + i % 64] >> (i / 64 * 2) & 3;
    return half_at(block + 208) * (int8_t)block[192 + i / 16] * (low + 16 * high - 32);
}

static double value_k2(const uint8_t *block, size_t i)
{
    const int two = block[16 + i % 64] >> (i / 64 * 2) & 3;
    const uint8_t scales = block[i / 16];
    return half_at(block + 80) * (scales & 15) * two - half_at(block + 82) * (scales >> 4);
}

static double value_t3(const uint8_t *block, size_t i)
{
    int byte = block[i / 5];
    for (size_t k = i % 5; k < 4; k++)
        byte /= 3;
    return half_at(block + 52) * (byte % 3 - 1);
}

#define NONE SIZE_MAX
const struct engine_format engine_formats[] = {
    {"f32", 16, 64, {NONE, NONE}, value_f32},   {"f16", 16, 32, {NONE, NONE}, value_f16},
    {"bf16", 16, 32, {NONE, NONE}, value_bf16}, {"n4", 32, 18, {0, NONE}, value_n4},
    {"n4m", 32, 20, {0, 2}, value_n4m},         {"n5", 32, 22, {0, NONE}, value_n5},
    {"n5m", 32, 24, {0, 2}, value_n5m},         {"b8", 32, 34, {0, NONE}, value_b8},
    {"f4", 32, 17, {NONE, NONE}, value_f4},     {"k4", 256, 140, {0, 2}, value_k4},
    {"k6", 256, 210, {208, NONE}, value_k6},    {"k2", 256, 84, {80, 82}, value_k2},
    {"t3", 256, 54, {52, NONE}, value_t3},      {NULL, 0, 0, {NONE, NONE}, NULL},
};

const struct engine_format *engine_format(const char *name)
{
    const struct engine_format *it = engine_formats;
    while (it->name && strcmp(it->name, name) != 0)
        it++;
    return it->name ? it : NULL;
}

static void put_half(uint8_t *at, float value)
{
    const uint16_t bits = fixture_to_half(value);
    memcpy(at, &bits, sizeof bits);
}

/* Plain numbers are made from numbers, blocks from bytes. */
static void fill_block(const struct engine_format *format, uint8_t *block)
{
    for (size_t i = 0; i < format->bytes; i++)
        block[i] = (uint8_t)(fixture_random() >> 4);
    if (strcmp(format->name, "t3") == 0)
        for (size_t i = 0; i < 52; i++)
            block[i] = (uint8_t)(block[i] % 243);
    if (strcmp(format->name, "f4") == 0)
        block[0] = (uint8_t)(124 + block[0] % 4);
    for (size_t i = 0; i < 2; i++)
        if (format->halves[i] != NONE)
            put_half(block + format->halves[i], 0.1f * fixture_random_float());
    for (size_t i = 0; i < format->numbers; i++) {
        const float value = fixture_random_float();
        if (strcmp(format->name, "f32") == 0)
            memcpy(block + 4 * i, &value, sizeof value);
        else if (strcmp(format->name, "f16") == 0)
            put_half(block + 2 * i, value);
        else if (strcmp(format->name, "bf16") == 0)
            memcpy(block + 2 * i, (const uint8_t *)&value + 2, 2);
    }
}

uint8_t *engine_random_blocks(const struct engine_format *format, size_t numbers)
{
    const size_t count = numbers / format->numbers;
    uint8_t *const blocks = malloc(count * format->bytes);
    for (size_t i = 0; blocks && i < count; i++)
        fill_block(format, blocks + i * format->bytes);
    return blocks;
}

double engine_value(const struct engine_format *format, const uint8_t *blocks, size_t i)
{
    return format->value(blocks + i / format->numbers * format->bytes, i % format->numbers);
}

double engine_half(double value)
{
    return (double)fixture_from_half(fixture_to_half((float)value));
}

double engine_bfloat(double value)
{
    int exponent;
    const double fraction = frexp(value, &exponent); /* eight bits of it stay */
    return ldexp(nearbyint(ldexp(fraction, 8)), exponent - 8);
}
