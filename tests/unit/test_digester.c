/* SPDX-License-Identifier: Apache-2.0 */
/* format/digester.c: whatever was announced and forgotten before, the digest is that of the bytes.
 */
#include "format/digester.h"

#include "hal/base/os.h"
#include "tests/support/hal_fixture.h"

#include <openssl/evp.h>
#include <sched.h>
#include <xxhash.h>

enum { CONTENTS = 12, MOST_BYTES = 200 << 10, ROUNDS = 300 };

struct content {
    uint8_t *data;
    size_t bytes;
};

/* Whether it came with the checksum. */
static bool check(struct trace_digester *digester, const struct content *content)
{
    struct trace_digest found;
    uint8_t wanted[32];
    assert_int_equal(EVP_Digest(content->data, content->bytes, wanted, NULL, EVP_sha256(), NULL),
                     1);
    assert_ok(trace_digester_take(digester, content->data, content->bytes, &found));
    assert_memory_equal(found.sha256, wanted, 32);
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
static void digests_are_those_of_the_bytes(void **state)
{
    const uint32_t threads = *(const uint32_t *)*state;
    struct trace_digester *digester = threads ? trace_digester_create(threads) : NULL;
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
            (void)trace_digester_announce(&digester, contents[i].data, contents[i].bytes);
        for (uint64_t i = fixture_random(&random) % 3; i < asked; i++)
            (void)check(digester, &contents[i]);
        trace_digester_forget(digester);
    }
    (void)trace_digester_announce(&digester, contents[0].data, MOST_BYTES);
    trace_digester_free(digester);
    for (int i = 0; i < CONTENTS; i++)
        free(contents[i].data);
}

/* Not only when they are asked for. */
static void threads_compute_what_was_announced(void **state)
{
    (void)state;
    enum { ANNOUNCED = 4 };
    struct trace_digester *digester = trace_digester_create(2);
    struct content contents[ANNOUNCED];
    const int64_t limit_ns = hal_clock_ns() + INT64_C(60000000000);
    assert_non_null(digester);
    for (int i = 0; i < ANNOUNCED; i++) {
        contents[i] = (struct content){calloc(1, MOST_BYTES), MOST_BYTES};
        assert_non_null(contents[i].data);
        contents[i].data[i] = 1;
        assert_true(trace_digester_announce(&digester, contents[i].data, MOST_BYTES));
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

static void without_a_digester_it_is_computed_here(void **state)
{
    (void)state;
    struct content content = {(uint8_t *)(uintptr_t) "abc", 3};
    assert_false(check(NULL, &content));
    trace_digester_forget(NULL);
    trace_digester_free(NULL);
}

int main(void)
{
    static const uint32_t by_itself = 0, two = 2, more_than_there_are = 100;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(digests_are_those_of_the_bytes, (void *)(uintptr_t)&by_itself),
        cmocka_unit_test_prestate(digests_are_those_of_the_bytes, (void *)(uintptr_t)&two),
        cmocka_unit_test_prestate(digests_are_those_of_the_bytes,
                                  (void *)(uintptr_t)&more_than_there_are),
        cmocka_unit_test(threads_compute_what_was_announced),
        cmocka_unit_test(without_a_digester_it_is_computed_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
