/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores that two devices of one driver share: device to device, without the host between. */
#include "tests/conformance/suite.h"

/* The run's device and one more; skipped where the driver refuses. */
struct pair {
    struct hal_device *devices[2];
    struct hal_semaphore *semaphores[2]; /* one of each */
};

static struct pair open_pair(struct suite *suite)
{
    struct pair pair = {.devices = {suite_device(suite), suite_open(suite, "")}};
    for (size_t i = 0; i < 2; i++)
        pair.semaphores[i] = suite_semaphore_of(suite, pair.devices[i], i ? "there" : "here", 0);
    const struct hal_semaphore_value value = {pair.semaphores[1], 0};
    if (hal_semaphores_wait(pair.devices[0], HAL_WAIT_ALL, &value, 1, 0) == HAL_INVALID)
        suite_skip(suite, "devices of this driver do not share semaphores");
    return pair;
}

/* Submits nothing but the order of things. */
static enum hal_status order(struct hal_device *device, struct hal_semaphore *wait, uint64_t waited,
                             struct hal_semaphore *signal, uint64_t signalled)
{
    const struct hal_semaphore_value waits = {wait, waited}, signals = {signal, signalled};
    const struct hal_submit_desc desc = {.waits = &waits,
                                         .wait_count = wait ? 1 : 0,
                                         .signals = &signals,
                                         .signal_count = signal ? 1 : 0};
    return hal_queue_submit(device, &desc);
}

static struct hal_command_buffer *fill(struct suite *suite, struct hal_device *device,
                                       struct hal_buffer *buffer, uint8_t byte)
{
    struct hal_command_buffer *commands = suite_commands_of(suite, device, "fill", HAL_ONE_SHOT);
    check_ok(suite, hal_command_fill(commands, buffer, 0, HAL_WHOLE_BUFFER, byte, 1));
    check_ok(suite, hal_command_buffer_end(commands));
    return commands;
}

/* One signals its own semaphore, or the other's; the other waits on the device. */
static void one_after_the_other(struct suite *suite, uint64_t owner)
{
    uint8_t wanted[64];
    struct pair pair = open_pair(suite);
    struct hal_semaphore *shared = pair.semaphores[owner], *done = pair.semaphores[1 - owner];
    const struct hal_buffer_desc desc = {.label = "filled", .bytes = sizeof wanted};
    struct hal_buffer *buffer = suite_buffer_of(suite, pair.devices[1], &desc);
    struct hal_command_buffer *commands = fill(suite, pair.devices[1], buffer, 7);
    const struct hal_semaphore_value wait = {shared, 3}, signal = {done, 1};
    const struct hal_submit_desc second = {.waits = &wait,
                                           .wait_count = 1,
                                           .signals = &signal,
                                           .signal_count = 1,
                                           .commands = &commands,
                                           .command_count = 1};
    check_ok(suite, hal_queue_submit(pair.devices[1], &second));
    check_ok(suite, order(pair.devices[0], NULL, 0, shared, 3));
    suite_wait(suite, done, 1);
    memset(wanted, 7, sizeof wanted);
    check_buffer(suite, buffer, 0, wanted, sizeof wanted);
}

/* Values go to and fro, all submitted before the first may start. */
static void ping_pong(struct suite *suite, uint64_t rounds)
{
    struct pair pair = open_pair(suite);
    struct hal_semaphore *ball = pair.semaphores[1];
    uint64_t value = 0;
    for (uint64_t i = 1; i <= rounds; i++)
        check_ok(suite, order(pair.devices[i % 2], ball, i, ball, i + 1));
    check_ok(suite, hal_semaphore_signal(ball, 1));
    suite_wait(suite, ball, rounds + 1);
    check_ok(suite, hal_semaphore_query(ball, &value));
    check_u64(suite, value, rounds + 1);
}

static void host_waits_anywhere(struct suite *suite, uint64_t mode)
{
    struct pair pair = open_pair(suite);
    const struct hal_semaphore_value values[2] = {{pair.semaphores[0], 1},
                                                  {pair.semaphores[1], mode ? 99 : 1}};
    check_ok(suite, order(pair.devices[0], pair.semaphores[1], 1, pair.semaphores[0], 1));
    check_ok(suite, hal_semaphore_signal(pair.semaphores[1], 1));
    for (size_t i = 0; i < 2; i++)
        check_ok(suite, hal_semaphores_wait(pair.devices[i], mode ? HAL_WAIT_ANY : HAL_WAIT_ALL,
                                            values, 2, SUITE_TIMEOUT_NS));
}

static void timeout_names_the_stranger(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct pair pair = open_pair(suite);
    const struct hal_semaphore_value value = {pair.semaphores[1], 5};
    check_fails(suite, hal_semaphores_wait(pair.devices[0], HAL_WAIT_ALL, &value, 1, 1000000),
                HAL_TIMEOUT, "there", "5");
}

/* The failure of one device's semaphore reaches the work of the other. */
static void failures_travel(struct suite *suite, uint64_t owner)
{
    uint64_t value;
    struct pair pair = open_pair(suite);
    struct hal_semaphore *source = pair.semaphores[owner], *target = pair.semaphores[1 - owner];
    check_ok(suite, order(pair.devices[0], source, 1, target, 1));
    hal_semaphore_fail(source, HAL_DEVICE_LOST, "struck by lightning");
    check_fails(suite, hal_semaphore_wait(target, 1, SUITE_TIMEOUT_NS), HAL_DEVICE_LOST,
                "struck by lightning");
    check_fails(suite, hal_semaphore_query(target, &value), HAL_DEVICE_LOST, "lightning");
}

static void wrong_values(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct pair pair = open_pair(suite);
    check_ok(suite, hal_semaphore_signal(pair.semaphores[1], 5));
    check_fails(suite, order(pair.devices[0], NULL, 0, pair.semaphores[1], 5), HAL_INVALID, "there",
                "5");
    check_fails(suite, order(pair.devices[0], NULL, 0, pair.semaphores[1], UINT64_MAX), HAL_INVALID,
                "there", "2^64-1");
}

/* The semaphore's device is let go of while the other still waits. */
static void outlives_its_device(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *other;
    struct hal_semaphore *gate = NULL;
    struct pair pair = open_pair(suite);
    check_ok(suite, hal_device_open(suite_info(suite)->uri, &other));
    enum hal_status status = hal_semaphore_create(other, "gate", 0, &gate);
    hal_device_release(other);
    if (status == HAL_OK)
        status = order(pair.devices[0], gate, 1, pair.semaphores[0], 1);
    if (status == HAL_OK)
        status = hal_semaphore_signal(gate, 1);
    hal_semaphore_release(gate);
    check_ok(suite, status);
    suite_wait(suite, pair.semaphores[0], 1);
}

/* The same while work of the device runs that the other's waits for: whoever ends the last of all
 * this, the device goes with it. */
static void ends_with_work_of_the_other(struct suite *suite, uint64_t length)
{
    enum { BYTES = 1 << 16 };
    struct hal_device *other;
    struct hal_semaphore *shared = NULL;
    struct hal_buffer *buffer = NULL;
    const struct hal_buffer_desc desc = {.label = "large", .bytes = BYTES};
    struct pair pair = open_pair(suite);
    struct hal_semaphore *begin = pair.semaphores[1], *chain = pair.semaphores[0];
    check_ok(suite, hal_device_open(suite_info(suite)->uri, &other));
    enum hal_status status = hal_semaphore_create(other, "shared", 0, &shared);
    if (status == HAL_OK)
        status = hal_buffer_create(other, &desc, &buffer);
    const struct hal_semaphore_value wait = {begin, 1}, signal = {shared, 1};
    if (status == HAL_OK)
        status = hal_queue_fill(
            other,
            &(struct hal_submit_desc){
                .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1},
            buffer, 0, BYTES, 7, 1);
    for (uint64_t i = 0; status == HAL_OK && i < length; i++) {
        const struct hal_semaphore_value waits[2] = {signal, {chain, i}}, next = {chain, i + 1};
        status = hal_queue_submit(pair.devices[0], &(struct hal_submit_desc){.waits = waits,
                                                                             .wait_count = 2,
                                                                             .signals = &next,
                                                                             .signal_count = 1});
    }
    hal_buffer_release(buffer);
    hal_semaphore_release(shared);
    if (status == HAL_OK)
        status = hal_semaphore_signal(begin, 1);
    hal_device_release(other);
    check_ok(suite, status);
    suite_wait(suite, chain, length);
}

/* Three devices and random chains: each submission waits for the one before it, on any device. */
static void random_chain(struct suite *suite, uint64_t length)
{
    struct pair pair = open_pair(suite);
    struct hal_device *devices[3] = {pair.devices[0], pair.devices[1], suite_open(suite, "")};
    struct hal_semaphore *semaphores[3] = {pair.semaphores[0], pair.semaphores[1],
                                           suite_semaphore_of(suite, devices[2], "elsewhere", 0)};
    uint64_t values[3] = {0};
    uint32_t last = 0;
    for (uint64_t i = 0; i < length; i++) {
        const uint32_t device = suite_random_below(suite, 3), next = suite_random_below(suite, 3);
        check_ok(suite, order(devices[device], semaphores[last], values[last], semaphores[next],
                              values[next] + 1));
        values[next]++;
        last = next;
    }
    suite_wait(suite, semaphores[last], values[last]);
}

struct player {
    struct hal_device *device;
    struct hal_semaphore *ball;
    uint64_t first, rounds;
};

static void play(struct suite *suite, void *user)
{
    const struct player *player = user;
    for (uint64_t i = 0; i < player->rounds; i++)
        check_ok(suite, order(player->device, player->ball, player->first + 2 * i, player->ball,
                              player->first + 2 * i + 1));
}

static void from_several_threads(struct suite *suite, uint64_t rounds)
{
    struct pair pair = open_pair(suite);
    struct player players[2] = {{pair.devices[0], pair.semaphores[0], 0, rounds},
                                {pair.devices[1], pair.semaphores[0], 1, rounds}};
    suite_thread(suite, play, &players[0]);
    suite_thread(suite, play, &players[1]);
    suite_join(suite);
    suite_wait(suite, pair.semaphores[0], 2 * rounds);
}

static const struct suite_case cases[] = {
    {"through_its_own", one_after_the_other, 0},
    {"through_the_others", one_after_the_other, 1},
    {"ping_pong_1", ping_pong, 1},
    {"ping_pong_2", ping_pong, 2},
    {"ping_pong_200", ping_pong, 200},
    {"host_waits_for_all", host_waits_anywhere, 0},
    {"host_waits_for_any", host_waits_anywhere, 1},
    {"timeout_names_the_stranger", timeout_names_the_stranger, 0},
    {"failures_travel_0", failures_travel, 0},
    {"failures_travel_1", failures_travel, 1},
    {"wrong_values", wrong_values, 0},
    {"outlives_its_device", outlives_its_device, 0},
    {"ends_with_work_of_the_other_1", ends_with_work_of_the_other, 1},
    {"ends_with_work_of_the_other_500", ends_with_work_of_the_other, 500},
    {"random_chain", random_chain, 300},
    {"from_several_threads", from_several_threads, 100},
};
const struct suite_area area_sharing = {"sharing", cases, SUITE_COUNT(cases)};
