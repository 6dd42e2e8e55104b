/* SPDX-License-Identifier: Apache-2.0 */
/* What the C of a case computes with: floats as bits, and rounding to the narrow types. */
#include "tests/msl/suite.h"

#include "tests/unit/msl/msl_fixture.h"

uint16_t suite_half_bits(float value)
{
    return fixture_to_half(value);
}

float suite_half(float value)
{
    return fixture_from_half(fixture_to_half(value));
}

uint32_t suite_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

float suite_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* By the two neighbours: which is nearer, else which is even. */
float suite_bfloat(float value)
{
    const uint32_t down = suite_bits(value) & 0xffff0000u;
    if (isnan(value) || isinf(value))
        return isnan(value) ? NAN : value;
    const double below = (double)suite_float(down);
    const double above = (down & 0x7f800000u) == 0x7f000000u && (down & 0x7f0000u) == 0x7f0000u
                             ? copysign(0x1p128, (double)value)
                             : (double)suite_float(down + 0x10000u);
    const double to_below = fabs((double)value - below), to_above = fabs(above - (double)value);
    const bool up = to_above < to_below || (to_above == to_below && (down >> 16 & 1));
    return up ? suite_float(down + 0x10000u) : suite_float(down);
}

/* The nearest of a number and its two neighbours in steps of 1 << `shift` of its bits, else the
 * even one. */
static float nearest(double value, float guess, unsigned shift)
{
    const uint32_t bits = suite_bits(guess), step = UINT32_C(1) << shift;
    const float others[] = {suite_float(bits - step), suite_float(bits + step)};
    float best = guess;
    for (size_t i = 0; i < 2; i++) {
        const double distance = fabs((double)others[i] - value), least = fabs((double)best - value);
        if (distance < least || (distance == least && (suite_bits(best) >> shift & 1)))
            best = others[i];
    }
    return best;
}

/* Of normal numbers. */
float suite_half_of_double(double value)
{
    const float guess = suite_half((float)value);
    if (fabs(value) < 0x1p-14)
        return suite_half((float)value); /* its bits do not step by that much */
    return isfinite(guess) ? nearest(value, guess, 13) : guess;
}

float suite_bfloat_of_double(double value)
{
    const float guess = suite_bfloat((float)value);
    return isfinite(guess) && guess != 0 ? nearest(value, guess, 16) : guess;
}
