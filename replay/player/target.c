/* SPDX-License-Identifier: Apache-2.0 */
/* The device of the recording against that of the replay: what is missing, what may differ. */
#include "replay/replay.h"

#include "hal/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Limits ------------------------------------------------------------------------------- */

struct limit {
    uint64_t value, most;
    const char *before, *after; /* of the value */
};

enum { LIMITS = 7 };

static void list_limits(const struct replay_plan_info *plan, const struct hal_device_info *device,
                        struct limit out[LIMITS])
{
    static const char *const threads[3] = {" threads in dimension 0", " threads in dimension 1",
                                           " threads in dimension 2"};
    out[0] = (struct limit){plan->queue_count, device->queue_count, "uses ", " queues"};
    out[1] = (struct limit){plan->largest_buffer_bytes, device->max_buffer_bytes,
                            "has a buffer of ", " bytes"};
    for (size_t i = 0; i < 3; i++)
        out[2 + i] = (struct limit){plan->largest_group_size[i], device->max_workgroup_size[i],
                                    "has workgroups of ", threads[i]};
    out[5] = (struct limit){plan->largest_group_threads, device->max_workgroup_threads,
                            "has workgroups of ", " threads"};
    out[6] = (struct limit){plan->largest_constant_bytes, device->max_constant_bytes, "has ",
                            " bytes of push constants"};
}

bool replay_target_limit(const struct replay_plan_info *plan, const struct hal_device_info *device,
                         size_t index, char out_limit[REPLAY_NOTE_BYTES])
{
    struct limit limits[LIMITS];
    list_limits(plan, device, limits);
    for (size_t i = 0; i < LIMITS; i++) {
        if (limits[i].value <= limits[i].most || index-- > 0)
            continue;
        snprintf(out_limit, REPLAY_NOTE_BYTES,
                 "the trace %s%" PRIu64 "%s, the limit of device '%s' is %" PRIu64,
                 limits[i].before, limits[i].value, limits[i].after, device->uri, limits[i].most);
        return true;
    }
    return false;
}

enum hal_status replay_target_check(const struct replay_plan_info *plan,
                                    const struct hal_device_info *device)
{
    char limit[REPLAY_NOTE_BYTES], all[LIMITS * REPLAY_NOTE_BYTES];
    size_t used = 0;
    for (size_t i = 0; replay_target_limit(plan, device, i, limit); i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? "; " : "", limit);
    return used ? hal_fail(HAL_UNSUPPORTED, "%s", all) : HAL_OK;
}

/* ---- Another number of queues -------------------------------------------------------------- */

bool replay_target_uri(const char *recorded, uint32_t queues, char *out_uri, size_t bytes)
{
    const char *question = strchr(recorded, '?');
    size_t used = question ? (size_t)(question - recorded) : strlen(recorded);
    if (used >= bytes)
        return false;
    used = (size_t)snprintf(out_uri, bytes, "%.*s?queues=%u", (int)used, recorded, queues);
    for (const char *at = question ? question + 1 : ""; *at && used < bytes;) {
        const size_t length = strcspn(at, "&");
        if (strncmp(at, "queues=", 7) != 0)
            used += (size_t)snprintf(out_uri + used, bytes - used, "&%.*s", (int)length, at);
        at += length + (at[length] == '&');
    }
    return used < bytes;
}

/* ---- Notes -------------------------------------------------------------------------------- */

static bool has_feature(const char *features, const char *name, size_t length)
{
    for (const char *at = features; *at;) {
        const size_t own = strcspn(at, ",");
        if (own == length && memcmp(at, name, length) == 0)
            return true;
        at += own + (at[own] == ',');
    }
    return false;
}

/* The recorded features that are not here, with commas between; "": none. */
static void list_missing(const char *recorded, const char *here, char *out_list, size_t bytes)
{
    size_t used = 0;
    out_list[0] = '\0';
    for (const char *at = recorded; *at;) {
        const size_t length = strcspn(at, ",");
        if (length && !has_feature(here, at, length) && used + length + 2 < bytes)
            used += (size_t)snprintf(out_list + used, bytes - used, "%s%.*s", used ? "," : "",
                                     (int)length, at);
        at += length + (at[length] == ',');
    }
}

static bool note_simd_width(const struct trace_device *recorded,
                            const struct hal_device_info *device, char *out_note)
{
    if (!recorded->simd_width || recorded->simd_width == device->simd_width)
        return false;
    snprintf(out_note, REPLAY_NOTE_BYTES, "simdgroups had %s in the recording, and have %u here",
             hal_count(recorded->simd_width, "thread", "threads").text, device->simd_width);
    return true;
}

static bool note_architecture(const struct trace_device *recorded,
                              const struct hal_device_info *device, char *out_note)
{
    if (!recorded->architecture[0] || strcmp(recorded->architecture, device->architecture) == 0)
        return false;
    snprintf(out_note, REPLAY_NOTE_BYTES,
             "kernels ran on %.100s (%.*s) in the recording, and run on %.100s (%.*s) here: the "
             "last bits of floating-point results may differ",
             recorded->architecture, (int)strcspn(recorded->uri, ":?"), recorded->uri,
             device->architecture, (int)strcspn(device->uri, ":?"), device->uri);
    return true;
}

static bool note_features(const struct trace_device *recorded, const struct hal_device_info *device,
                          char *out_note)
{
    char missing[REPLAY_NOTE_BYTES / 2];
    if (strcmp(recorded->architecture, device->architecture) != 0)
        return false;
    list_missing(recorded->features, device->features, missing, sizeof missing);
    if (!missing[0])
        return false;
    snprintf(out_note, REPLAY_NOTE_BYTES,
             "the recorded device had %s, which this one lacks: the last bits of floating-point "
             "results may differ",
             missing);
    return true;
}

static size_t add_name(char *out_list, size_t used, size_t bytes, enum hal_executable_format format)
{
    return used + 16 >= bytes
               ? used
               : used + (size_t)snprintf(out_list + used, bytes - used, "%s%s", used ? ", " : "",
                                         hal_executable_format_name(format));
}

/* An executable may come in several formats; without one for this device its creation fails. */
static bool note_formats(const struct trace_device *recorded, const struct hal_device_info *device,
                         char *out_note)
{
    char missing[REPLAY_NOTE_BYTES / 4] = "", runs[REPLAY_NOTE_BYTES / 4] = "";
    size_t used = 0, listed = 0;
    for (uint32_t k = 0; k < device->format_count; k++)
        listed = add_name(runs, listed, sizeof runs, device->formats[k]);
    for (uint32_t i = 0; i < recorded->format_count; i++) {
        bool here = false;
        for (uint32_t k = 0; k < device->format_count; k++)
            here |= (uint32_t)device->formats[k] == recorded->formats[i];
        if (!here)
            used = add_name(missing, used, sizeof missing,
                            (enum hal_executable_format)recorded->formats[i]);
    }
    if (!used)
        return false;
    snprintf(
        out_note, REPLAY_NOTE_BYTES,
        "the recorded device ran kernels in %s; this one runs the variants in %s from the trace",
        missing, listed ? runs : "no format");
    return true;
}

static bool note_group_memory(const struct trace_device *recorded,
                              const struct hal_device_info *device, char *out_note)
{
    if (recorded->max_group_memory_bytes <= device->max_workgroup_memory_bytes)
        return false;
    snprintf(out_note, REPLAY_NOTE_BYTES,
             "workgroups had up to %" PRIu64 " bytes of memory in the recording, and have %" PRIu64
             " here",
             recorded->max_group_memory_bytes, device->max_workgroup_memory_bytes);
    return true;
}

bool replay_target_note(const struct replay_plan_info *plan, const struct hal_device_info *device,
                        size_t index, char out_note[REPLAY_NOTE_BYTES])
{
    static bool (*const notes[])(const struct trace_device *recorded,
                                 const struct hal_device_info *device, char *out_note) = {
        note_simd_width, note_architecture, note_features, note_formats, note_group_memory};
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        if (notes[i](&plan->header->device, device, out_note) && index-- == 0)
            return true;
    }
    return false;
}
