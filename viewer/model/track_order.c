/* SPDX-License-Identifier: Apache-2.0 */
/* The order of tracks in a program of many threads: those that do most stay at the top, the others
 * go to the bottom, so that queues and the device are seen with what drives them. */
#include "viewer/model/build.h"

#include <stdlib.h>
#include <string.h>

enum { LEADING_THREADS = 6 };

/* ---- Places ------------------------------------------------------------------------------- */

struct busy_host {
    uint64_t calls;
    uint32_t host;
};

static int compare(const void *left, const void *right)
{
    const struct busy_host *a = left, *b = right;
    if (a->calls != b->calls)
        return a->calls > b->calls ? -1 : 1;
    return a->host < b->host ? -1 : a->host > b->host;
}

/* Marks the threads that go to the bottom. */
static enum hal_status choose(const struct view_model *m, bool *minor)
{
    struct busy_host *busy = hal_alloc(m->hosts_count, sizeof *busy);
    if (!busy)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu threads", m->hosts_count);
    for (uint32_t h = 0; h < m->hosts_count; h++)
        busy[h] = (struct busy_host){.calls = m->hosts[h].call_count, .host = h};
    qsort(busy, m->hosts_count, sizeof *busy, compare);
    for (size_t i = LEADING_THREADS; i < m->hosts_count; i++)
        minor[busy[i].host] = true;
    free(busy);
    return HAL_OK;
}

static void renumber(uint32_t *track, const uint32_t *places)
{
    if (*track != VIEW_NO_TRACK)
        *track = places[*track];
}

/* Everything that names a track by its number. */
static void renumber_all(struct view_model *m, const uint32_t *places)
{
    uint32_t *const single[] = {&m->dispatch_track, &m->device_track, &m->gap_track,
                                &m->transfer_track, &m->memory_track};
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        renumber(single[i], places);
    for (size_t d = 0; d < m->devices_count; d++)
        renumber(&m->devices[d].track, places);
    for (size_t q = 0; q < TRACE_MAX_QUEUES; q++)
        renumber(&m->queue_tracks[q], places);
    for (size_t h = 0; h < m->hosts_count; h++)
        renumber(&m->hosts[h].track, places);
    for (size_t i = 0; i < m->tracks_count; i++)
        renumber(&m->tracks[i].parent, places);
}

static bool is_minor(const struct view_track *track, const bool *minor)
{
    return (track->kind == VIEW_TRACK_HOST || track->kind == VIEW_TRACK_SCOPE) &&
           minor[track->object];
}

static void move_tracks(struct view_model *m, const bool *minor, struct view_track *moved,
                        uint32_t *places)
{
    uint32_t place = 0;
    for (int last = 0; last < 2; last++) {
        for (size_t i = 0; i < m->tracks_count; i++) {
            if (is_minor(&m->tracks[i], minor) != (last == 1))
                continue;
            places[i] = place;
            moved[place++] = m->tracks[i];
        }
    }
    memcpy(m->tracks, moved, m->tracks_count * sizeof *moved);
    renumber_all(m, places);
}

/* ---- Names -------------------------------------------------------------------------------- */

struct named_host {
    const char *name;
    uint32_t host;
};

static int compare_names(const void *left, const void *right)
{
    const struct named_host *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static enum hal_status note_names(struct view_model *m)
{
    struct named_host *named = hal_alloc(m->hosts_count, sizeof *named);
    if (!named)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu threads", m->hosts_count);
    for (uint32_t h = 0; h < m->hosts_count; h++) {
        named[h] = (struct named_host){.name = view_model_string(m, m->hosts[h].name), .host = h};
        m->scoped_hosts += m->hosts[h].scope_depth > 0;
    }
    if (m->hosts_count)
        qsort(named, m->hosts_count, sizeof *named, compare_names);
    for (size_t i = 1; i < m->hosts_count; i++) {
        if (strcmp(named[i - 1].name, named[i].name) == 0)
            m->hosts[named[i - 1].host].shares_name = m->hosts[named[i].host].shares_name = true;
    }
    free(named);
    return HAL_OK;
}

/* ---- All ---------------------------------------------------------------------------------- */

enum hal_status view_build_order(struct view_model *model)
{
    HAL_TRY(note_names(model));
    if (model->hosts_count <= LEADING_THREADS || !model->tracks_count)
        return HAL_OK;
    bool *minor = hal_alloc(model->hosts_count, sizeof *minor);
    struct view_track *moved = hal_alloc(model->tracks_count, sizeof *moved);
    uint32_t *places = hal_alloc(model->tracks_count, sizeof *places);
    enum hal_status status =
        minor && moved && places
            ? choose(model, minor)
            : hal_fail(HAL_NO_MEMORY, "no memory to order %zu tracks", model->tracks_count);
    if (status == HAL_OK)
        move_tracks(model, minor, moved, places);
    free(minor);
    free(moved);
    free(places);
    return status;
}
