/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace diff: what two captures of a program asked for in different ways. They are aligned on
 * the sequence of submissions, writes and read-backs of each thread; never on time. */
#include "format/tool/diff/diff.h"

#include "format/analysis/align.h"
#include "format/tool/support/tool.h"
#include "hal/base/digest.h"
#include "hal/base/mem.h"
#include "hal/base/moment.h"
#include "hal/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tally {
    uint64_t same, changed, only_a, only_b;
};

struct diff {
    struct diff_side a, b;
    struct trace_text text;
    uint64_t lines, limit; /* of differences; the rest is counted */
    bool as_json, quiet, without_contents;
    struct tally submissions, accesses, signals, commands;
    uint64_t same_contents, other_contents, unknown_contents;
    struct diff_bytes mapped;
    const char *where;  /* of what it compares */
    int64_t a_ns, b_ns; /* device time of submissions that both have */
};

typedef void describe(struct diff_side *side, const void *what, struct trace_text *text);

static void describe_item(struct diff_side *side, const void *what, struct trace_text *text)
{
    diff_describe_item(side, what, text);
}

static void describe_command(struct diff_side *side, const void *what, struct trace_text *text)
{
    diff_describe_command(side, what, text);
}

/* ---- Output ------------------------------------------------------------------------------- */

static void json_side(struct diff *d, const char *key, struct diff_side *side, const void *what,
                      describe *words)
{
    struct trace_text own = {0};
    if (!what)
        return;
    words(side, what, &own);
    trace_json_key(&d->text, key);
    trace_json_string(&d->text, own.data ? own.data : "", own.bytes);
    d->text.is_failed |= own.is_failed;
    trace_text_finish(&own);
}

/* One difference: `a` or `b` may be missing. */
static enum hal_status report(struct diff *d, const char *where, const char *kind, const void *a,
                              const void *b, describe *words)
{
    d->lines++;
    if (d->quiet || (d->limit && d->lines > d->limit))
        return HAL_OK;
    if (d->as_json) {
        trace_json_open(&d->text, '{');
        trace_json_member_text(&d->text, "where", where);
        trace_json_member_text(&d->text, "kind", kind);
        json_side(d, "a", &d->a, a, words);
        json_side(d, "b", &d->b, b, words);
        trace_json_close(&d->text, '}');
        return tool_write(&d->text, false);
    }
    const bool is_pair = a && b;
    if (is_pair)
        trace_text_printf(&d->text, "! %s: %s: ", where, kind);
    else
        trace_text_printf(&d->text, "%c %s: ", a ? '-' : '+', where);
    words(a ? &d->a : &d->b, a ? a : b, &d->text);
    trace_text_append(&d->text, "\n", 1);
    return tool_write(&d->text, false);
}

/* ---- Contents ----------------------------------------------------------------------------- */

/* The bytes are the same, or one side's are repetitions of the digest of the other's: stripped. */
static bool same_update(const struct trace_update *a, const struct trace_update *b)
{
    uint8_t digest[32];
    if (a->size != b->size)
        return false;
    if (memcmp(a->data, b->data, (size_t)a->size) == 0)
        return true;
    for (int turn = 0; turn < 2; turn++) {
        const struct trace_update *clear = turn ? b : a, *hidden = turn ? a : b;
        uint64_t i = 0;
        if (hal_sha256(clear->data, (size_t)clear->size, digest) != HAL_OK)
            return false;
        while (i < hidden->size && hidden->data[i] == digest[i % sizeof digest])
            i++;
        if (i == hidden->size)
            return true;
    }
    return false;
}

static enum hal_status compare_contents(struct diff *d, const char *where,
                                        const struct diff_item *a, const struct diff_item *b)
{
    uint8_t first[32], second[32];
    bool first_known, second_known;
    const void *in_a = a->event, *in_b = b->event;
    if (d->without_contents || a->event->kind == TRACE_SEMAPHORE_SIGNAL)
        return HAL_OK;
    HAL_TRY(diff_digest(&d->a, in_a, &first_known, first));
    HAL_TRY(diff_digest(&d->b, in_b, &second_known, second));
    if (!first_known || !second_known) {
        d->unknown_contents++;
        return HAL_OK;
    }
    if (memcmp(first, second, sizeof first) == 0) {
        d->same_contents++;
        return HAL_OK;
    }
    d->other_contents++;
    return report(d, where, "other bytes", a, b, describe_item);
}

/* ---- Commands ----------------------------------------------------------------------------- */

static enum hal_status compare_pair(struct diff *d, const char *where, const struct diff_command *a,
                                    const struct diff_command *b)
{
    if (a->segment->kind != TRACE_UPDATE || d->without_contents)
        return HAL_OK;
    if (same_update((const void *)a->segment, (const void *)b->segment)) {
        d->same_contents++;
        return HAL_OK;
    }
    d->other_contents++;
    return report(d, where, "other bytes", a, b, describe_command);
}

static enum hal_status walk_commands(struct diff *d, const char *where, const struct diff_object *a,
                                     const struct diff_object *b, const size_t *match)
{
    size_t next = 0;
    for (size_t i = 0; i <= a->command_count; i++) {
        const size_t end = i == a->command_count ? b->command_count : match[i];
        if (end == TRACE_UNALIGNED) {
            d->commands.only_a++;
            HAL_TRY(report(d, where, "only in A", &a->commands[i], NULL, describe_command));
            continue;
        }
        for (; next < end; next++) {
            d->commands.only_b++;
            HAL_TRY(report(d, where, "only in B", NULL, &b->commands[next], describe_command));
        }
        if (i < a->command_count) {
            d->commands.same++;
            HAL_TRY(compare_pair(d, where, &a->commands[i], &b->commands[next++]));
        }
    }
    return HAL_OK;
}

static enum hal_status compare_commands(struct diff *d, const char *where,
                                        const struct diff_object *a, const struct diff_object *b)
{
    const size_t count = (size_t)a->command_count + b->command_count;
    uint64_t *hashes = hal_alloc(count, sizeof *hashes);
    size_t *match = hal_alloc(a->command_count, sizeof *match);
    enum hal_status status =
        hashes && match ? HAL_OK : hal_fail(HAL_NO_MEMORY, "no memory for %zu commands", count);
    for (size_t i = 0; status == HAL_OK && i < a->command_count; i++)
        hashes[i] = a->commands[i].hash;
    for (size_t i = 0; status == HAL_OK && i < b->command_count; i++)
        hashes[a->command_count + i] = b->commands[i].hash;
    if (status == HAL_OK)
        status = trace_align(hashes, a->command_count, hashes + a->command_count, b->command_count,
                             match);
    if (status == HAL_OK)
        status = walk_commands(d, where, a, b, match);
    free(hashes);
    free(match);
    return status;
}

/* ---- Mapped memory ------------------------------------------------------------------------ */

static void describe_found(struct diff_side *side, const void *what, struct trace_text *text)
{
    diff_describe_found(side, what, text);
}

static enum hal_status report_found(void *user, const struct diff_found *a,
                                    const struct diff_found *b)
{
    struct diff *d = user;
    return report(d, d->where, "other bytes in mapped memory", a, b, describe_found);
}

/* ---- Submissions -------------------------------------------------------------------------- */

static enum hal_status compare_submissions(struct diff *d, const char *where,
                                           const struct diff_item *a, const struct diff_item *b)
{
    char place[160];
    const struct trace_submit *in_a = (const void *)a->event, *in_b = (const void *)b->event;
    uint64_t before = d->lines;
    if (in_a->submission == in_b->submission)
        snprintf(place, sizeof place, "%.100s#s%" PRIu64, where, in_a->submission);
    else
        snprintf(place, sizeof place, "%.100s#s%" PRIu64 "/#s%" PRIu64, where, in_a->submission,
                 in_b->submission);
    if (a->device_ns && b->device_ns) {
        d->a_ns += a->device_ns;
        d->b_ns += b->device_ns;
    }
    for (uint32_t i = 0; i < in_a->command_buffer_count && i < in_b->command_buffer_count; i++) {
        const struct diff_object *first = diff_object(&d->a, trace_submit_command_buffers(in_a)[i]);
        const struct diff_object *second =
            diff_object(&d->b, trace_submit_command_buffers(in_b)[i]);
        if (first && second)
            HAL_TRY(compare_commands(d, place, first, second));
    }
    /* Another queue, other waits, another number of command buffers. */
    if (a->hash != b->hash && d->lines == before)
        HAL_TRY(report(d, place, "submitted in another way", a, b, describe_item));
    d->where = place;
    return d->without_contents ? HAL_OK : diff_bytes_of_items(&d->mapped, a, b);
}

static enum hal_status compare_items(struct diff *d, const char *where, const struct diff_item *a,
                                     const struct diff_item *b)
{
    char place[160];
    if (a->event->kind == TRACE_SUBMIT) {
        if (a->hash == b->hash)
            d->submissions.same++;
        else
            d->submissions.changed++;
        return compare_submissions(d, where, a, b);
    }
    struct tally *tally = a->event->kind == TRACE_SEMAPHORE_SIGNAL ? &d->signals : &d->accesses;
    tally->same++;
    snprintf(place, sizeof place, "%.100sticket %" PRIu64, where, a->event->ticket);
    return compare_contents(d, place, a, b);
}

static enum hal_status only_one(struct diff *d, const char *where, const struct diff_item *a,
                                const struct diff_item *b)
{
    char place[160];
    const struct diff_item *item = a ? a : b;
    const uint16_t kind = item->event->kind;
    struct tally *tally = kind == TRACE_SUBMIT             ? &d->submissions
                          : kind == TRACE_SEMAPHORE_SIGNAL ? &d->signals
                                                           : &d->accesses;
    *(a ? &tally->only_a : &tally->only_b) += 1;
    snprintf(place, sizeof place, "%.100sticket %" PRIu64, where, item->event->ticket);
    return report(d, place, a ? "only in A" : "only in B", a, b, describe_item);
}

/* ---- Threads ------------------------------------------------------------------------------ */

/* What lies between two pairs of calls. */
struct range {
    const struct diff_item *a, *a_end, *b, *b_end;
};

static uint64_t hash_of(const struct diff_item *item, bool by_shape)
{
    return by_shape ? item->shape : item->hash;
}

typedef enum hal_status compare_range(struct diff *d, const char *where, const struct range *range);

/* Aligns the items of the range by hash or shape; pairs are compared, what is between is given to
 * `rest`. */
static enum hal_status align_range(struct diff *d, const char *where, const struct range *range,
                                   bool by_shape, compare_range *rest)
{
    const size_t a_count = (size_t)(range->a_end - range->a);
    const size_t b_count = (size_t)(range->b_end - range->b);
    if (!a_count || !b_count)
        return rest(d, where, range);
    uint64_t *hashes = hal_alloc(a_count + b_count, sizeof *hashes);
    size_t *match = hal_alloc(a_count, sizeof *match);
    enum hal_status status =
        hashes && match ? HAL_OK : hal_fail(HAL_NO_MEMORY, "no memory to align %zu calls", a_count);
    for (size_t i = 0; status == HAL_OK && i < a_count; i++)
        hashes[i] = hash_of(&range->a[i], by_shape);
    for (size_t i = 0; status == HAL_OK && i < b_count; i++)
        hashes[a_count + i] = hash_of(&range->b[i], by_shape);
    if (status == HAL_OK)
        status = trace_align(hashes, a_count, hashes + a_count, b_count, match);
    struct range between = {range->a, range->a, range->b, range->b};
    for (size_t i = 0; status == HAL_OK && i <= a_count; i++) {
        if (i < a_count && match[i] == TRACE_UNALIGNED)
            continue;
        between.a_end = range->a + i;
        between.b_end = i == a_count ? range->b_end : range->b + match[i];
        status = rest(d, where, &between);
        if (i == a_count)
            break;
        if (status == HAL_OK)
            status = compare_items(d, where, between.a_end, between.b_end);
        between.a = between.a_end + 1;
        between.b = between.b_end + 1;
    }
    free(hashes);
    free(match);
    return status;
}

static enum hal_status report_range(struct diff *d, const char *where, const struct range *range)
{
    for (const struct diff_item *a = range->a; a < range->a_end; a++)
        HAL_TRY(only_one(d, where, a, NULL));
    for (const struct diff_item *b = range->b; b < range->b_end; b++)
        HAL_TRY(only_one(d, where, NULL, b));
    return HAL_OK;
}

/* What is not the same may still be the same kernels with other sizes. */
static enum hal_status compare_shapes(struct diff *d, const char *where, const struct range *range)
{
    if (range->a == range->a_end || range->b == range->b_end)
        return report_range(d, where, range);
    return align_range(d, where, range, true, report_range);
}

/* All of two threads, either of which may be NULL. */
static struct range whole(const struct diff_stream *a, const struct diff_stream *b)
{
    struct range range = {0};
    if (a && a->count) {
        range.a = a->items;
        range.a_end = a->items + a->count;
    }
    if (b && b->count) {
        range.b = b->items;
        range.b_end = b->items + b->count;
    }
    return range;
}

static size_t count_streams(const struct diff_side *side)
{
    size_t count = 0;
    for (size_t i = 0; i < side->stream_count; i++)
        count += side->streams[i].count > 0;
    return count;
}

static enum hal_status are_same(void *user, const struct diff_stream *a,
                                const struct diff_stream *b, bool *out_is_same)
{
    struct diff *d = user;
    const struct diff before = *d;
    const struct range both = whole(a, b);
    d->quiet = true;
    d->mapped.seen = NULL;
    const enum hal_status status = align_range(d, "", &both, false, compare_shapes);
    *out_is_same = d->lines == before.lines;
    diff_bytes_finish(&d->mapped);
    *d = before;
    return status;
}

static enum hal_status compare_matched(struct diff *d, const size_t *match, bool *b_is_matched)
{
    const bool several = count_streams(&d->a) > 1 || count_streams(&d->b) > 1;
    for (size_t i = 0; i < d->a.stream_count; i++) {
        const bool has_match = match[i] != TRACE_UNALIGNED;
        const struct range both =
            whole(&d->a.streams[i], has_match ? &d->b.streams[match[i]] : NULL);
        char where[120] = "";
        if (several)
            snprintf(where, sizeof where, "thread %.100s ", d->a.streams[i].name);
        if (has_match)
            b_is_matched[match[i]] = true;
        HAL_TRY(align_range(d, where, &both, false, compare_shapes));
    }
    for (size_t i = 0; i < d->b.stream_count; i++) {
        const struct range alone = whole(NULL, &d->b.streams[i]);
        char where[120];
        snprintf(where, sizeof where, "thread %.100s ", d->b.streams[i].name);
        if (!b_is_matched[i])
            HAL_TRY(report_range(d, where, &alone));
    }
    return HAL_OK;
}

static enum hal_status compare_streams(struct diff *d)
{
    size_t *match = NULL;
    HAL_TRY(diff_threads_match(&d->a, &d->b, are_same, d, &match));
    bool *b_is_matched = hal_alloc(d->b.stream_count + 1, sizeof *b_is_matched);
    const enum hal_status status = b_is_matched ? compare_matched(d, match, b_is_matched)
                                                : hal_fail(HAL_NO_MEMORY, "no memory for threads");
    free(b_is_matched);
    free(match);
    return status;
}

/* ---- Kernels ------------------------------------------------------------------------------ */

static void describe_kernels(struct diff_side *side, const void *what, struct trace_text *text)
{
    const struct trace_executable_create *made = what;
    const char *label = trace_reader_string(side->reader, made->label);
    trace_text_printf(text, "kernels '");
    trace_text_label(text, label ? label : "", label ? strlen(label) : 0);
    trace_text_printf(text, "', %s", hal_count(made->size, "byte", "bytes").text);
}

static enum hal_status report_kernels(void *user, const struct trace_executable_create *a,
                                      const struct trace_executable_create *b)
{
    return report(user, "kernels", "another source", a, b, describe_kernels);
}

static enum hal_status compare_kernels(struct diff *d)
{
    struct diff_kernels kernels = {.a = &d->a, .b = &d->b, .found = report_kernels, .user = d};
    const enum hal_status status = d->without_contents ? HAL_OK : diff_kernels(&kernels);
    d->same_contents += kernels.same;
    d->other_contents += kernels.other;
    d->unknown_contents += kernels.unknown;
    return status;
}

/* ---- Summary ------------------------------------------------------------------------------ */

static bool is_same(const struct diff *d)
{
    return d->lines == 0;
}

static void json_tally(struct trace_text *text, const char *key, const struct tally *tally)
{
    trace_json_member_open(text, key, '{');
    static const char *const keys[] = {"same", "changed", "only_a", "only_b"};
    const uint64_t values[] = {tally->same, tally->changed, tally->only_a, tally->only_b};
    for (size_t i = 0; i < 4; i++) {
        trace_json_member_u64(text, keys[i], values[i]);
    }
    trace_json_close(text, '}');
}

static void json_summary(struct diff *d)
{
    struct trace_text *text = &d->text;
    trace_json_close(text, ']');
    trace_json_member_bool(text, "same", is_same(d));
    json_tally(text, "submissions", &d->submissions);
    json_tally(text, "commands", &d->commands);
    json_tally(text, "host_accesses", &d->accesses);
    json_tally(text, "host_signals", &d->signals);
    trace_json_member_u64(text, "differences", d->lines);
    trace_json_member_u64(text, "same_contents", d->same_contents);
    trace_json_member_u64(text, "other_contents", d->other_contents);
    trace_json_member_u64(text, "unknown_contents", d->unknown_contents);
    trace_json_member_u64(text, "same_mapped_bytes", d->mapped.same);
    trace_json_member_u64(text, "other_mapped_bytes", d->mapped.other);
    trace_json_member_u64(text, "undecided_mapped_bytes", d->mapped.undecided);
    trace_json_member_u64(text, "uncompared_mapped", d->mapped.cut);
    trace_json_member_u64(text, "device_ns_a", (uint64_t)d->a_ns);
    trace_json_member_u64(text, "device_ns_b", (uint64_t)d->b_ns);
    trace_json_close(text, '}');
    trace_text_append(text, "\n", 1);
}

/* Where there is mapped memory, and something was stored into it or seen there. */
static void mapped_summary(struct diff *d)
{
    const struct diff_bytes *mapped = &d->mapped;
    if (mapped->same || mapped->other || mapped->undecided)
        trace_text_printf(&d->text,
                          "mapped memory: %" PRIu64 " bytes same, %" PRIu64 " different, %" PRIu64
                          " undecided%s\n",
                          mapped->same, mapped->other, mapped->undecided,
                          mapped->undecided ? ": the host stored them in one trace, and the device "
                                              "may have written the same bytes in the other"
                                            : "");
    if (mapped->cut)
        trace_text_printf(&d->text,
                          "mapped memory is not compared in %s: there are too many pieces\n",
                          hal_count(mapped->cut, "place", "places").text);
}

static void text_summary(struct diff *d)
{
    struct trace_text *text = &d->text;
    if (d->limit && d->lines > d->limit)
        trace_text_printf(text, "... and %s more (--limit=0 shows all)\n",
                          hal_count(d->lines - d->limit, "difference", "differences").text);
    trace_text_printf(text,
                      "%s: submissions %" PRIu64 " same, %" PRIu64 " changed, %" PRIu64
                      " only in A, %" PRIu64 " only in B; commands %" PRIu64 " same, %" PRIu64
                      " only in A, %" PRIu64 " only in B\n",
                      is_same(d) ? "same" : "different", d->submissions.same,
                      d->submissions.changed, d->submissions.only_a, d->submissions.only_b,
                      d->commands.same, d->commands.only_a, d->commands.only_b);
    trace_text_printf(text,
                      "contents: %" PRIu64 " same, %" PRIu64 " different, %" PRIu64
                      " unknown; device time of submissions in both: %s and %s\n",
                      d->same_contents, d->other_contents, d->unknown_contents,
                      hal_duration_text(d->a_ns).text, hal_duration_text(d->b_ns).text);
    mapped_summary(d);
}

static enum hal_status compare(struct diff *d, const char *a, const char *b)
{
    HAL_TRY(diff_open(&d->a, a));
    HAL_TRY(diff_open(&d->b, b));
    if (*trace_reader_truncated(d->a.reader))
        tool_error("'%s' is incomplete: %s", a, trace_reader_truncated(d->a.reader));
    if (*trace_reader_truncated(d->b.reader))
        tool_error("'%s' is incomplete: %s", b, trace_reader_truncated(d->b.reader));
    if (d->as_json) {
        trace_json_open(&d->text, '{');
        trace_json_member_open(&d->text, "changes", '[');
    } else if (!d->quiet) {
        trace_text_printf(&d->text, "--- A ");
        trace_text_label(&d->text, a, strlen(a));
        trace_text_printf(&d->text, "\n+++ B ");
        trace_text_label(&d->text, b, strlen(b));
        trace_text_append(&d->text, "\n", 1);
    }
    HAL_TRY(compare_kernels(d));
    HAL_TRY(compare_streams(d));
    d->where = "at the end";
    if (!d->without_contents)
        HAL_TRY(diff_bytes_in_the_end(&d->mapped));
    if (d->as_json)
        json_summary(d);
    else if (!d->quiet)
        text_summary(d);
    return tool_write(&d->text, true);
}

static const struct hal_option options[] = {
    {.name = "quiet",
     .letter = 'q',
     .help = "print nothing, only set the exit status",
     .target = offsetof(struct diff, quiet)},
    {.name = "no-contents",
     .help = "do not compare bytes",
     .target = offsetof(struct diff, without_contents)},
    {.name = "limit",
     .argument = "N",
     .help = "differences to print (default 200; 0: all)",
     .take = tool_take_number,
     .target = offsetof(struct diff, limit)},
    {.name = "json", .help = "print one JSON object", .target = offsetof(struct diff, as_json)},
    {0},
};

static int run(char **argv)
{
    static struct diff d; /* large */
    struct tool_words words;
    memset(&d, 0, sizeof d);
    d.limit = 200;
    d.mapped = (struct diff_bytes){.a = &d.a, .b = &d.b, .found = report_found, .user = &d};
    if (!tool_parse(&tool_diff, argv, &d, &words))
        return words.exit_status;
    if (words.count != 2) {
        tool_error("diff: two files are needed (see hal-trace diff --help)");
        return TOOL_USAGE;
    }
    const enum hal_status status = compare(&d, words.words[0], words.words[1]);
    if (status != HAL_OK)
        tool_error("%s", hal_message());
    trace_text_finish(&d.text);
    diff_bytes_finish(&d.mapped);
    diff_close(&d.a);
    diff_close(&d.b);
    return status != HAL_OK ? TOOL_FAILED : is_same(&d) ? TOOL_OK : TOOL_DIFFERENT;
}

const struct tool_command tool_diff = {
    .name = "diff",
    .summary = "the differences between two captures of a program",
    .usage =
        "usage: hal-trace diff [--json] [--quiet] [--no-contents] [--limit=N] A B\n"
        "\n"
        "Compares two captures thread by thread: the submissions with their commands, and what "
        "the\n"
        "host wrote and read. Objects are equal if their labels and sizes are; numbers and times\n"
        "are ignored. Lines that begin with - are only in A, with + only in B, and with ! in both\n"
        "with different bytes. In memory that stays mapped, the bytes that submissions and the "
        "host\n"
        "find there are compared, however a capture divided them.\n",
    .notes = "Exit status: 0 same, 1 different, 2 wrong usage, 3 a file cannot be read.\n",
    .options = options,
    .run = run,
};
