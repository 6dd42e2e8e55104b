/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/digest.c: SHA-256 of the parts, each behind its length in eight bytes, and of bytes
 * alone. What they should be was computed by another program. */
#include "hal/base/digest.h"

#include "tests/support/hal_fixture.h"

static void assert_text(const uint8_t sum[HAL_DIGEST_BYTES], const char *wanted)
{
    char text[2 * HAL_DIGEST_BYTES + 1];
    for (size_t i = 0; i < HAL_DIGEST_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", sum[i]);
    assert_string_equal(text, wanted);
}

static void assert_sum(struct hal_digest *digest, const char *wanted)
{
    uint8_t sum[HAL_DIGEST_BYTES];
    assert_ok(hal_digest_end(digest, sum));
    assert_text(sum, wanted);
}

TEST(sums_are_those_that_another_program_computes)
{
    struct hal_digest digest = hal_digest_begin();
    assert_sum(&digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    digest = hal_digest_begin();
    hal_digest_add_string(&digest, "ab");
    hal_digest_add_string(&digest, "c");
    assert_sum(&digest, "43ee655579de01ca739b3f95c1c2d3f46d353b2c0df818064ea594506cdb2617");
    digest = hal_digest_begin();
    hal_digest_add(&digest, "", 0);
    assert_sum(&digest, "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc");
}

/* The standard's own example (FIPS 180-2). */
TEST(bytes_alone_have_no_length)
{
    uint8_t sum[HAL_DIGEST_BYTES];
    assert_ok(hal_sha256("abc", 3, sum));
    assert_text(sum, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(parts_do_not_flow_into_each_other)
{
    static const char *const texts[][2] = {{"ab", "c"}, {"a", "bc"}, {"", "abc"}, {"abc", ""}};
    enum { COUNT = sizeof texts / sizeof *texts };
    uint8_t sums[COUNT][HAL_DIGEST_BYTES];
    for (size_t i = 0; i < COUNT; i++) {
        struct hal_digest digest = hal_digest_begin();
        hal_digest_add_string(&digest, texts[i][0]);
        hal_digest_add(&digest, texts[i][1], strlen(texts[i][1]));
        assert_ok(hal_digest_end(&digest, sums[i]));
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(sums[i], sums[k], HAL_DIGEST_BYTES);
    }
}

/* A failure before the end is told there, and nothing is read meanwhile. */
TEST(failures_are_told_at_the_end)
{
    uint8_t sum[HAL_DIGEST_BYTES];
    struct hal_digest digest = hal_digest_begin();
    digest.failed = true;
    hal_digest_add(&digest, NULL, 100);
    assert_fails(hal_digest_end(&digest, sum), HAL_NO_MEMORY, "SHA-256");
    assert_null(digest.context);
}
