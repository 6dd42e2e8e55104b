/* SPDX-License-Identifier: Apache-2.0 */
/* Reads HOST_METAL, and what follows from it. */
#import "hal/host_metal/modes.h"
#import "hal/host_metal/runtime/runtime.h"

#include <errno.h>
#include <stdatomic.h>

static struct hm_modes modes;
static _Atomic uint64_t random_state;

struct word {
    const char *name;
    bool *flag;
    uint64_t *number; /* with or without a flag */
    bool number_needed;
    uint64_t limit;
};

static const struct word words[] = {
    {"shuffle", &modes.shuffle, &modes.seed, false, UINT64_MAX},
    {"managed", &modes.managed, NULL, false, 0},
    {"useresource", &modes.use_resource, NULL, false, 0},
    {"nolisteners", &modes.no_listeners, NULL, false, 0},
    {"latehandlers", &modes.late_handlers, NULL, false, 0},
    {"dirty", &modes.dirty, NULL, false, 0},
    {"slow", NULL, &modes.slow_ms, false, 60000},
    {"gpuclock", &modes.gpu_clock, NULL, false, 0},
    {"dispatchcounters", &modes.dispatch_counters, NULL, false, 0},
    {"nocounters", &modes.no_counters, NULL, false, 0},
    {"stopped-clock", &modes.stopped_clock, NULL, false, 0},
    {"lost-samples", NULL, &modes.lost_samples, true, UINT64_MAX},
    {"system", NULL, &modes.system, true, 1000},
    {"fail-archives", NULL, &modes.fail_archives, true, UINT64_MAX},
    {"fail-command-buffers", NULL, &modes.fail_command_buffers, true, UINT64_MAX},
    {"fail-code", NULL, &modes.fail_code, true, 12},
    {"fail-with-signal", &modes.fail_with_signal, NULL, false, 0},
    {"fail-allocations", NULL, &modes.fail_allocations, true, UINT64_MAX},
    {"pipelines-meet", NULL, &modes.pipelines_meet, true, UINT64_MAX},
    {"memory", NULL, &modes.memory_mib, true, UINT64_C(1) << 40},
    {"devices", NULL, &modes.devices, true, 8},
    {"timeout", NULL, &modes.timeout, true, 3600},
    {"nocensus", &modes.no_census, NULL, false, 0},
};

_Noreturn static void reject(const char *text, const char *reason)
{
    char known[512] = "";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        strncat(known, i ? ", " : "", sizeof known - strlen(known) - 1);
        strncat(known, words[i].name, sizeof known - strlen(known) - 1);
    }
    host_metal_broken("HOST_METAL", "'%s' %s; known are: %s", text, reason, known);
}

static void read_number(const struct word *word, const char *text, const char *digits)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(digits, &end, 10);
    if (errno || end == digits || *end || *digits == '-')
        reject(text, "has no number after its '='");
    if (value > word->limit || (value == 0 && word->number_needed))
        reject(text, "has a number that is not possible");
    *word->number = value;
}

static void read_word(const char *text)
{
    const size_t length = strcspn(text, "=");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const struct word *const word = &words[i];
        if (strlen(word->name) != length || strncmp(word->name, text, length) != 0)
            continue;
        if (text[length] && !word->number)
            reject(text, "takes no number");
        if (!text[length] && word->number_needed)
            reject(text, "needs a number");
        if (word->flag)
            *word->flag = true;
        if (text[length])
            read_number(word, text, text + length + 1);
        else if (word->number == &modes.slow_ms)
            modes.slow_ms = 5;
        return;
    }
    reject(text, "is not known");
}

static void read_modes(void)
{
    modes.seed = 1;
    modes.system = 1;
    modes.devices = 1;
    modes.timeout = 20;
    modes.fail_code = 2; /* a timeout */
    const char *const variable = getenv("HOST_METAL");
    if (variable) {
        char *const copy = strdup(variable);
        char *position = NULL;
        for (char *word = strtok_r(copy, ",", &position); word;
             word = strtok_r(NULL, ",", &position))
            read_word(word);
        free(copy);
    }
    atomic_store(&random_state, modes.seed);
}

const struct hm_modes *hm_modes(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_modes);
    return &modes;
}

/* splitmix64: every state gives a number, so threads only need different states. */
uint64_t hm_random_below(uint64_t limit)
{
    uint64_t z = atomic_fetch_add(&random_state, UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return limit ? z % limit : 0;
}

bool hm_every_nth(_Atomic uint64_t *counter, uint64_t n)
{
    return n && (atomic_fetch_add(counter, 1) + 1) % n == 0;
}

/* The system that HOST_METAL pretends to be. */
@implementation NSProcessInfo
+ (NSProcessInfo *)processInfo
{
    return [[[self alloc] init] autorelease];
}
- (NSString *)operatingSystemVersionString
{
    return [NSString
        stringWithFormat:@"Version 14.4 (Build HOST%lu)", (unsigned long)hm_modes()->system];
}
@end
