/* SPDX-License-Identifier: Apache-2.0 */
/* When each dispatch ran, for submissions that request it. Devices differ in where they sample
 * their clock: Apple's at the ends of an encoder, so each dispatch gets its own encoder; others
 * between commands, where a barrier excludes the neighbours from the measurement. Both isolate
 * dispatches; the times are those of dispatches that run alone. Metal provides a process some 32
 * sample buffers of 4096 samples: they are reused; dispatches without a sample are not timed. */
#include "hal/base/mem.h"
#import "hal/drivers/metal/program.h"

#include <time.h>

enum {
    SAMPLES_PER_PAGE = 4096,
    DISPATCHES_PER_PAGE = SAMPLES_PER_PAGE / 2,
    MOST_KEPT = 8,              /* unused pages */
    MOST_LOOKS = 5,             /* at a clock that does not move */
    SHORTEST_SPAN_NS = 2000000, /* between two readings of both clocks, for a ratio of 1e-4 */
    MOST_DRIFT_NS = 1000000,
    LOOKS = 4,
};

/* A sample buffer: begin and end of each dispatch. */
struct metal_sample_page {
    struct metal_sample_page *next;
    id<MTLCounterSampleBuffer> buffer;
    uint32_t count;
    uint32_t dispatches[DISPATCHES_PER_PAGE]; /* their numbers */
};

/* ---- Both clocks ---------------------------------------------------------------------------- */

/* The call's host clock differs between systems: only the device's clock is used, with the time of
 * the call, the quickest of several. */
static struct metal_clock_look look(id<MTLDevice> device)
{
    struct metal_clock_look best = {0, 0};
    int64_t shortest_ns = INT64_MAX;
    for (int i = 0; i < LOOKS; i++) {
        MTLTimestamp host = 0, ticks = 0;
        const int64_t before_ns = hal_clock_ns();
        [device sampleTimestamps:&host gpuTimestamp:&ticks];
        const int64_t took_ns = hal_clock_ns() - before_ns;
        if (took_ns >= shortest_ns)
            continue;
        shortest_ns = took_ns;
        best = (struct metal_clock_look){before_ns + took_ns / 2, ticks};
    }
    return best;
}

static int64_t host_ns(const struct metal_clock_look *first, const struct metal_clock_look *last,
                       uint64_t ticks)
{
    const double ratio =
        (double)(last->host_ns - first->host_ns) / (double)(int64_t)(last->ticks - first->ticks);
    return last->host_ns - (int64_t)(ratio * (double)(int64_t)(last->ticks - ticks));
}

/* One clock stood still, with the machine asleep, or jumped. */
static bool have_parted(const struct metal_clock_look *first, const struct metal_clock_look *last,
                        const struct metal_clock_look *now)
{
    if (now->ticks <= first->ticks)
        return true;
    if (last->ticks <= first->ticks)
        return false;
    const int64_t wrong_ns = host_ns(first, last, now->ticks) - now->host_ns;
    return wrong_ns > MOST_DRIFT_NS || wrong_ns < -MOST_DRIFT_NS;
}

static bool far_enough(const struct metal_clock_look *first, const struct metal_clock_look *now)
{
    return now->host_ns - first->host_ns >= SHORTEST_SPAN_NS && now->ticks > first->ticks;
}

/* After the timed work: two readings, sufficiently far apart. False: the device's clock stands
 * still, as on virtual devices. */
static bool look_again(struct metal_times *times, id<MTLDevice> device,
                       struct metal_clock_look out_looks[2])
{
    const struct timespec rest = {0, SHORTEST_SPAN_NS};
    struct metal_clock_look now = look(device);
    pthread_mutex_lock(&times->lock);
    if (have_parted(&times->first, &times->last, &now))
        times->first = times->last = now;
    for (int i = 0; i < MOST_LOOKS && !far_enough(&times->first, &now); i++) {
        pthread_mutex_unlock(&times->lock);
        nanosleep(&rest, NULL);
        now = look(device);
        pthread_mutex_lock(&times->lock);
    }
    const bool moves = far_enough(&times->first, &now);
    if (moves)
        times->last = now;
    out_looks[0] = times->first;
    out_looks[1] = now;
    pthread_mutex_unlock(&times->lock);
    return moves;
}

/* ---- Start and stop ------------------------------------------------------------------------- */

static id<MTLCounterSet> find_timestamps(id<MTLDevice> device)
{
    NSArray<id<MTLCounterSet>> *sets = device.counterSets;
    for (NSUInteger i = 0; i < sets.count; i++) {
        id<MTLCounterSet> set = [sets objectAtIndex:i];
        if ([set.name isEqualToString:MTLCommonCounterSetTimestamp])
            return set;
    }
    return nil;
}

void metal_times_init(struct metal_device *device)
{
    pthread_mutex_init(&device->times.lock, NULL);
}

void metal_times_start(struct metal_device *device)
{
    struct metal_times *times = &device->times;
    times->set = [find_timestamps(device->device) retain];
    if (!times->set)
        return;
    if ([device->device supportsCounterSampling:MTLCounterSamplingPointAtDispatchBoundary])
        times->place = METAL_TIMES_AT_DISPATCH;
    else if ([device->device supportsCounterSampling:MTLCounterSamplingPointAtStageBoundary])
        times->place = METAL_TIMES_AT_ENCODER;
    if (times->place != METAL_TIMES_NOWHERE)
        times->first = times->last = look(device->device);
}

static void free_page(struct metal_sample_page *page)
{
    [page->buffer release];
    free(page);
}

void metal_times_finish(struct metal_device *device)
{
    struct metal_times *times = &device->times;
    while (times->pages) {
        struct metal_sample_page *next = times->pages->next;
        free_page(times->pages);
        times->pages = next;
    }
    [times->set release];
    pthread_mutex_destroy(&times->lock);
}

/* ---- Pages ---------------------------------------------------------------------------------- */

static struct metal_sample_page *make_page(struct metal_device *device)
{
    struct metal_sample_page *page = hal_alloc(1, sizeof *page);
    MTLCounterSampleBufferDescriptor *descriptor = [[MTLCounterSampleBufferDescriptor alloc] init];
    NSError *error = nil;
    descriptor.counterSet = device->times.set;
    descriptor.storageMode = MTLStorageModeShared;
    descriptor.sampleCount = SAMPLES_PER_PAGE;
    descriptor.label = @"times of dispatches";
    if (page)
        page->buffer = [device->device newCounterSampleBufferWithDescriptor:descriptor
                                                                      error:&error];
    [descriptor release];
    if (page && !page->buffer) {
        free(page);
        return NULL;
    }
    return page;
}

static struct metal_sample_page *take_page(struct metal_device *device)
{
    struct metal_times *times = &device->times;
    pthread_mutex_lock(&times->lock);
    struct metal_sample_page *page = times->pages;
    if (page) {
        times->pages = page->next;
        times->kept_count--;
    }
    pthread_mutex_unlock(&times->lock);
    if (!page)
        page = make_page(device);
    if (page) {
        page->next = NULL;
        page->count = 0;
    }
    return page;
}

static void give_page(struct metal_device *device, struct metal_sample_page *page)
{
    struct metal_times *times = &device->times;
    pthread_mutex_lock(&times->lock);
    const bool kept = times->kept_count < MOST_KEPT;
    if (kept) {
        page->next = times->pages;
        times->pages = page;
        times->kept_count++;
    }
    pthread_mutex_unlock(&times->lock);
    if (!kept)
        free_page(page);
}

/* ---- Samples of a command buffer ------------------------------------------------------------ */

bool metal_samples_take(struct metal_device *device, struct metal_samples *samples,
                        uint32_t dispatch, struct metal_sample_place *out_place)
{
    struct metal_sample_page *page = samples->pages;
    if (samples->is_full || device->times.place == METAL_TIMES_NOWHERE)
        return false;
    if (!page || page->count == DISPATCHES_PER_PAGE) {
        struct metal_sample_page *fresh = take_page(device);
        samples->is_full = fresh == NULL;
        if (!fresh)
            return false;
        fresh->next = page;
        samples->pages = page = fresh;
    }
    page->dispatches[page->count] = dispatch;
    *out_place = (struct metal_sample_place){page->buffer, 2 * page->count};
    page->count++;
    samples->count++;
    return true;
}

/* False: the device has no such time. A time outside that of the command buffer is one of a clock
 * that was misread; what the rounding of both clocks makes of it is not. */
static bool convert(const struct metal_clock_look looks[2], const MTLCounterResultTimestamp *sample,
                    const struct hal_dispatch_time *window, struct hal_dispatch_time *out_time)
{
    if (sample[0].timestamp == MTLCounterErrorValue ||
        sample[1].timestamp == MTLCounterErrorValue || sample[0].timestamp == 0 ||
        sample[1].timestamp < sample[0].timestamp)
        return false;
    int64_t begin_ns = host_ns(&looks[0], &looks[1], sample[0].timestamp);
    int64_t end_ns = host_ns(&looks[0], &looks[1], sample[1].timestamp);
    if (end_ns < window->begin_ns - MOST_DRIFT_NS || begin_ns > window->end_ns + MOST_DRIFT_NS)
        return false;
    begin_ns = begin_ns < window->begin_ns ? window->begin_ns : begin_ns;
    begin_ns = begin_ns > window->end_ns ? window->end_ns : begin_ns;
    end_ns = end_ns > window->end_ns ? window->end_ns : end_ns;
    out_time->begin_ns = begin_ns;
    out_time->end_ns = end_ns < begin_ns ? begin_ns : end_ns;
    return true;
}

static size_t read_page(const struct metal_sample_page *page,
                        const struct metal_clock_look looks[2],
                        const struct hal_dispatch_time *window, struct hal_dispatch_time *out_times)
{
    NSData *data = [page->buffer resolveCounterRange:NSMakeRange(0, 2 * page->count)];
    const MTLCounterResultTimestamp *samples = data.bytes;
    size_t count = 0;
    if (data.length < 2 * page->count * sizeof *samples)
        return 0;
    for (uint32_t i = 0; i < page->count; i++) {
        struct hal_dispatch_time time = {window->command_buffer, page->dispatches[i], 0, 0};
        if (convert(looks, &samples[2 * i], window, &time))
            out_times[count++] = time;
    }
    return count;
}

size_t metal_samples_read(struct metal_device *device, const struct metal_samples *samples,
                          const struct hal_dispatch_time *window,
                          struct hal_dispatch_time *out_times)
{
    struct metal_clock_look looks[2];
    size_t count = 0;
    if (samples->count == 0 || !look_again(&device->times, device->device, looks))
        return 0;
    for (const struct metal_sample_page *page = samples->pages; page; page = page->next)
        count += read_page(page, looks, window, out_times + count);
    return count;
}

void metal_samples_release(struct metal_device *device, struct metal_samples *samples)
{
    while (samples->pages) {
        struct metal_sample_page *next = samples->pages->next;
        give_page(device, samples->pages);
        samples->pages = next;
    }
}
