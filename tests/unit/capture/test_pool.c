/* SPDX-License-Identifier: Apache-2.0 */
/* capture/stream/pool.c and capture/stream/table.c: entries and numbers that many threads take at
 * once. */
#include "capture/stream/pool.h"

#include "capture/stream/table.h"
#include "hal/base/os.h"
#include "tests/support/hal_fixture.h"

enum { THREADS = 4, ROUNDS = 20000, HELD = 40, WORDS = 500 };

static void *hold_and_give(void *argument)
{
    struct capture_pool *pool = argument;
    uint64_t *held[HELD] = {0}, random = (uint64_t)(uintptr_t)&held;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const unsigned at = fixture_random(&random) % HELD;
        if (!held[at]) {
            held[at] = capture_pool_take(pool);
            held[at][0] = (uint64_t)(uintptr_t)&held[at];
            held[at][4] = i;
        } else {
            /* Nobody else may have got the same entry. */
            if (held[at][0] != (uint64_t)(uintptr_t)&held[at])
                return (void *)"an entry was taken twice";
            capture_pool_give(pool, held[at]);
            held[at] = NULL;
        }
    }
    for (unsigned i = 0; i < HELD; i++) {
        if (held[i])
            capture_pool_give(pool, held[i]);
    }
    return NULL;
}

TEST(entries_are_taken_once)
{
    struct capture_pool pool;
    pthread_t threads[THREADS];
    capture_pool_init(&pool, 5 * sizeof(uint64_t));
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold_and_give, &pool), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        void *error;
        pthread_join(threads[i], &error);
        if (error)
            fail_msg("%s", (const char *)error);
    }
    capture_pool_finish(&pool);
}

TEST(many_entries_are_distinct_and_come_back)
{
    enum { COUNT = 3000 };
    struct capture_pool pool;
    static uint32_t *entries[COUNT];
    capture_pool_init(&pool, sizeof(uint32_t));
    for (uint32_t i = 0; i < COUNT; i++) {
        entries[i] = capture_pool_take(&pool);
        assert_non_null(entries[i]);
        assert_int_equal((uintptr_t)entries[i] % 16, 0);
        *entries[i] = i;
    }
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(*entries[i], i);
    uint32_t *last = entries[COUNT - 1];
    capture_pool_give(&pool, last);
    assert_ptr_equal(capture_pool_take(&pool), last);
    capture_pool_finish(&pool);
}

/* ---- Tables ---- */

struct counting {
    struct capture_table *table;
    uint32_t numbers[WORDS];
    uint32_t made;
};

static void *number_words(void *argument)
{
    struct counting *counting = argument;
    for (unsigned i = 0; i < WORDS; i++) {
        char word[32];
        bool is_new;
        const int length = snprintf(word, sizeof word, "word %u", i);
        counting->numbers[i] = capture_table_number(counting->table, word, (size_t)length, &is_new);
        counting->made += is_new;
    }
    return NULL;
}

TEST(the_same_bytes_get_the_same_number)
{
    struct capture_table table;
    struct counting counting[THREADS];
    pthread_t threads[THREADS];
    bool seen[WORDS + 1] = {false};
    uint32_t made = 0;
    assert_ok(capture_table_init(&table, 64, 1000));
    for (unsigned i = 0; i < THREADS; i++) {
        counting[i] = (struct counting){.table = &table};
        assert_int_equal(pthread_create(&threads[i], NULL, number_words, &counting[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        made += counting[i].made;
        assert_memory_equal(counting[i].numbers, counting[0].numbers, sizeof counting[0].numbers);
    }
    assert_int_equal(made, WORDS);
    for (unsigned i = 0; i < WORDS; i++) {
        assert_in_range(counting[0].numbers[i], 1, WORDS);
        assert_false(seen[counting[0].numbers[i]]);
        seen[counting[0].numbers[i]] = true;
    }
    capture_table_finish(&table);
}

TEST(a_full_table_says_so)
{
    struct capture_table table;
    bool is_new;
    assert_ok(capture_table_init(&table, 2, 3));
    assert_int_equal(capture_table_number(&table, "", 0, &is_new), 1);
    assert_true(is_new);
    assert_int_equal(capture_table_number(&table, "a", 1, &is_new), 2);
    assert_int_equal(capture_table_number(&table, "ab", 2, &is_new), 3);
    assert_int_equal(capture_table_number(&table, "abc", 3, &is_new), 0);
    assert_false(is_new);
    assert_int_equal(capture_table_number(&table, "a", 1, &is_new), 2);
    assert_false(is_new);
    capture_table_finish(&table);
}
