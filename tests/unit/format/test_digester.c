/* SPDX-License-Identifier: Apache-2.0 */
/* format/file/digester.c, format/file/identity.c: whatever was announced and forgotten before, what
 * comes back is that of the bytes; a code tells the same as a SHA-256 does, and nothing to others.
 */
#include "format/file/digester.h"

#include "hal/base/os.h"
#include "tests/support/hal_fixture.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <sched.h>
#include <xxhash.h>

enum { CONTENTS = 12, MOST_BYTES = 200 << 10, ROUNDS = 300 };

struct content {
    uint8_t *data;
    size_t bytes;
};

static struct trace_identity by_sha256;

/* Whether it came with the checksum. */
static bool check(struct trace_digester *digester, const struct content *content)
{
    struct trace_digest found;
    uint8_t wanted[32];
    assert_int_equal(EVP_Digest(content->data, content->bytes, wanted, NULL, EVP_sha256(), NULL),
                     1);
    assert_ok(trace_digester_take(digester, &by_sha256, content->data, content->bytes, &found));
    assert_memory_equal(found.identity, wanted, 32);
    if (found.has_checksum)
        assert_int_equal(found.checksum, XXH3_64bits(content->data, content->bytes));
    return found.has_checksum;
}

static void fill(struct content *content, uint64_t *random)
{
    content->bytes = 1 + fixture_random(random) % MOST_BYTES;
    for (size_t i = 0; i < content->bytes; i += 97)
        content->data[i] = (uint8_t)fixture_random(random);
}

/* Announces all, asks for some of them in order, and forgets the rest before they change. */
static void expect_digests(uint32_t threads)
{
    struct trace_digester *digester = threads ? trace_digester_create(threads, &by_sha256) : NULL;
    struct content contents[CONTENTS];
    uint64_t random = fixture_seed();
    for (int i = 0; i < CONTENTS; i++) {
        contents[i].data = calloc(1, MOST_BYTES);
        assert_non_null(contents[i].data);
    }
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t count = fixture_random(&random) % (CONTENTS + 1);
        const uint64_t asked = fixture_random(&random) % (CONTENTS + 1);
        for (uint64_t i = 0; i < CONTENTS; i++)
            fill(&contents[i], &random);
        for (uint64_t i = 0; i < count; i++)
            (void)trace_digester_announce(&digester, &by_sha256, contents[i].data,
                                          contents[i].bytes);
        for (uint64_t i = fixture_random(&random) % 3; i < asked; i++)
            (void)check(digester, &contents[i]);
        trace_digester_forget(digester);
    }
    (void)trace_digester_announce(&digester, &by_sha256, contents[0].data, MOST_BYTES);
    trace_digester_free(digester);
    for (int i = 0; i < CONTENTS; i++)
        free(contents[i].data);
}

TEST(digests_are_those_of_the_bytes)
{
    expect_digests(0);
}

TEST(two_threads_compute_those_of_the_bytes)
{
    expect_digests(2);
}

TEST(more_threads_than_there_are_compute_those_of_the_bytes)
{
    expect_digests(100);
}

/* Not only when they are asked for. */
TEST(threads_compute_what_was_announced)
{
    enum { ANNOUNCED = 4 };
    struct trace_digester *digester = trace_digester_create(2, &by_sha256);
    struct content contents[ANNOUNCED];
    const int64_t limit_ns = hal_clock_ns() + INT64_C(60000000000);
    assert_non_null(digester);
    for (int i = 0; i < ANNOUNCED; i++) {
        contents[i] = (struct content){calloc(1, MOST_BYTES), MOST_BYTES};
        assert_non_null(contents[i].data);
        contents[i].data[i] = 1;
        assert_true(trace_digester_announce(&digester, &by_sha256, contents[i].data, MOST_BYTES));
    }
    while (trace_digester_computed(digester) < ANNOUNCED && hal_clock_ns() < limit_ns)
        sched_yield();
    assert_int_equal(trace_digester_computed(digester), ANNOUNCED);
    for (int i = 0; i < ANNOUNCED; i++)
        assert_true(check(digester, &contents[i]));
    assert_int_equal(trace_digester_computed(digester), ANNOUNCED);
    trace_digester_free(digester);
    for (int i = 0; i < ANNOUNCED; i++)
        free(contents[i].data);
}

TEST(without_a_digester_it_is_computed_here)
{
    struct content content = {(uint8_t *)(uintptr_t) "abc", 3};
    assert_false(check(NULL, &content));
    trace_digester_forget(NULL);
    trace_digester_free(NULL);
}

/* GMAC as another part of the library computes it. */
static void expect_gmac(const struct trace_identity *identity, const void *data, size_t bytes,
                        uint8_t wanted[32])
{
    uint8_t nonce[12] = {0};
    size_t written;
    char cipher[] = "AES-128-GCM";
    const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string("cipher", cipher, 0),
                                     OSSL_PARAM_construct_octet_string("iv", nonce, sizeof nonce),
                                     OSSL_PARAM_construct_end()};
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "GMAC", NULL);
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(mac);
    memset(wanted, 0, 32);
    assert_int_equal(EVP_MAC_init(context, identity->key, sizeof identity->key, parameters), 1);
    assert_int_equal(EVP_MAC_update(context, data, bytes), 1);
    assert_int_equal(EVP_MAC_final(context, wanted, &written, 16), 1);
    EVP_MAC_CTX_free(context);
    EVP_MAC_free(mac);
}

TEST(codes_are_those_of_the_bytes_under_a_key_of_their_own)
{
    struct trace_identity one, same, other;
    uint8_t data[1000], wanted[32], code[3][32];
    uint64_t random = fixture_seed();
    assert_ok(trace_identity_init_code(&one));
    assert_ok(trace_identity_copy(&one, &same));
    assert_ok(trace_identity_init_code(&other));
    assert_false(trace_identity_is_sha256(&one));
    for (int round = 0; round < ROUNDS; round++) {
        const size_t bytes = round ? fixture_random(&random) % sizeof data : 0;
        for (size_t i = 0; i < bytes; i++)
            data[i] = (uint8_t)fixture_random(&random);
        data[0] |= 1; /* zeros are another matter */
        expect_gmac(&one, data, bytes, wanted);
        assert_ok(trace_identify(&one, data, bytes, code[0]));
        assert_ok(trace_identify(&same, data, bytes, code[1]));
        assert_ok(trace_identify(&other, data, bytes, code[2]));
        assert_memory_equal(code[0], wanted, 32);
        assert_memory_equal(code[1], wanted, 32);
        assert_memory_not_equal(code[2], wanted, 32); /* by chance: once in 2^128 */
    }
    trace_identity_finish(&one);
    trace_identity_finish(&same);
    trace_identity_finish(&other);
}

/* As many are the same, and nothing else is. */
TEST(zeros_are_recognised_by_their_number)
{
    struct trace_identity one, other;
    uint8_t data[300] = {0}, first[32], code[32];
    assert_ok(trace_identity_init_code(&one));
    assert_ok(trace_identity_init_code(&other));
    for (size_t bytes = 1; bytes <= sizeof data; bytes++) {
        assert_ok(trace_identify(&one, data, bytes, first));
        assert_ok(trace_identify(&other, data, bytes, code));
        assert_memory_equal(code, first, 32);
        assert_ok(trace_identify(&one, data, bytes - 1, code));
        assert_memory_not_equal(code, first, 32);
        for (size_t last = 0; last < 2; last++) { /* the first byte differs, and the last */
            data[last * (bytes - 1)] = 1;
            assert_ok(trace_identify(&one, data, bytes, code));
            assert_memory_not_equal(code, first, 32);
            for (size_t i = 16; i < 32; i++)
                assert_int_equal(code[i], 0);
            data[last * (bytes - 1)] = 0;
        }
    }
    trace_identity_finish(&one);
    trace_identity_finish(&other);
}

/* The threads have the announcing one's key. */
TEST(threads_compute_the_same_codes)
{
    struct trace_identity identity;
    struct trace_digest found;
    uint8_t wanted[32], *data = calloc(1, MOST_BYTES);
    const int64_t limit_ns = hal_clock_ns() + INT64_C(60000000000);
    assert_non_null(data);
    data[MOST_BYTES - 1] = 1;
    assert_ok(trace_identity_init_code(&identity));
    struct trace_digester *digester = trace_digester_create(1, &identity);
    assert_non_null(digester);
    assert_true(trace_digester_announce(&digester, &identity, data, MOST_BYTES));
    while (trace_digester_computed(digester) < 1 && hal_clock_ns() < limit_ns)
        sched_yield();
    assert_ok(trace_digester_take(digester, &identity, data, MOST_BYTES, &found));
    assert_true(found.has_checksum); /* it was a thread */
    expect_gmac(&identity, data, MOST_BYTES, wanted);
    assert_memory_equal(found.identity, wanted, 32);
    trace_digester_free(digester);
    trace_identity_finish(&identity);
    free(data);
}
