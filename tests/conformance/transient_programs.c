/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs that take, use and give back transient memory, against a plain model. */
#include "tests/conformance/line.h"

/* Steps of a random program on one result, through temporaries that come and go. */
struct program {
    struct hal_buffer *result;
    uint8_t *model;
    uint32_t bytes, steps, seed;
    struct suite_line line;
};

static uint32_t random_of(uint32_t *state, uint32_t limit)
{
    *state = *state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(*state >> 4) * limit) >> 28);
}

/* Takes a temporary, puts a mixture into it, takes it back to the result; leaves the temporary to
 * live for a while. */
static void run_program(struct suite *suite, void *user)
{
    enum { LIVING = 6 };
    struct program *p = user;
    struct hal_device *device = p->line.device;
    struct hal_buffer *living[LIVING] = {0};
    uint8_t *copies[LIVING] = {0};
    uint32_t sizes[LIVING] = {0}, state = p->seed;
    for (uint32_t step = 0; step < p->steps; step++) {
        const uint32_t i = random_of(&state, LIVING);
        if (living[i]) {
            const uint32_t bytes = 1 + random_of(&state, sizes[i]);
            const uint32_t to = random_of(&state, p->bytes - bytes + 1);
            check_ok(suite, hal_queue_copy(device, suite_line_next(&p->line), living[i], 0,
                                           p->result, to, bytes));
            memcpy(p->model + to, copies[i], bytes);
            check_ok(suite, hal_queue_dealloca(device, suite_line_next(&p->line), living[i]));
            hal_buffer_release(living[i]);
            free(copies[i]);
            copies[i] = NULL;
            living[i] = NULL;
            continue;
        }
        const struct hal_buffer_desc desc = {.label = "temporary",
                                             .bytes = 1 + random_of(&state, p->bytes)};
        sizes[i] = (uint32_t)desc.bytes;
        copies[i] = malloc(sizes[i]);
        check(suite, copies[i] != NULL);
        check_ok(suite, hal_queue_alloca(device, suite_line_next(&p->line), &desc, &living[i]));
        check_ok(suite, hal_queue_copy(device, suite_line_next(&p->line), p->result, 0, living[i],
                                       0, sizes[i]));
        memcpy(copies[i], p->model, sizes[i]);
        const uint32_t at = random_of(&state, sizes[i]);
        check_ok(suite, hal_queue_fill(device, suite_line_next(&p->line), living[i], at,
                                       sizes[i] - at, step, 1));
        memset(copies[i] + at, (int)step, sizes[i] - at);
    }
    for (uint32_t i = 0; i < LIVING; i++) {
        if (living[i])
            check_ok(suite, hal_queue_dealloca(device, suite_line_next(&p->line), living[i]));
        hal_buffer_release(living[i]);
        free(copies[i]);
    }
    suite_wait(suite, p->line.semaphore, p->line.signal.value);
}

static void random_programs(struct suite *suite, uint64_t threads)
{
    struct program programs[8];
    for (uint64_t i = 0; i < threads; i++) {
        struct program *p = &programs[i];
        *p = (struct program){.bytes = (uint32_t)(1000 << (2 * (i % 4))),
                              .steps = 200,
                              .seed = suite_random(suite),
                              .line = suite_line_begin(suite, suite_device(suite))};
        p->result = suite_buffer(suite, "result", p->bytes);
        p->model = suite_memory(suite, p->bytes);
        suite_random_bytes(suite, p->model, p->bytes);
        suite_write(suite, p->result, 0, p->model, p->bytes);
    }
    for (uint64_t i = 1; i < threads; i++)
        suite_thread(suite, run_program, &programs[i]);
    run_program(suite, &programs[0]);
    suite_join(suite);
    for (uint64_t i = 0; i < threads; i++)
        check_buffer(suite, programs[i].result, 0, programs[i].model, programs[i].bytes);
}

static const struct suite_case cases[] = {
    {"random_program", random_programs, 1},
    {"two_random_programs", random_programs, 2},
    {"eight_random_programs", random_programs, 8},
};

const struct suite_area area_transient_programs = {"transient_programs", cases, SUITE_COUNT(cases)};
