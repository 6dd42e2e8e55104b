/* SPDX-License-Identifier: Apache-2.0 */
/* The ninth panel: the bytes of a buffer as the host last wrote or saw them before the cursor, in
 * hex and as numbers. What the device did to them since is not in a trace. */
#include "viewer/ui/panels/contents.h"

#include "hal/base/mem.h"
#include "hal/base/order.h"
#include "viewer/text/text.h"
#include "viewer/ui/panes.h"
#include "viewer/ui/restore.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { KEPT_CONTENTS = 4 };

/* ---- What is known ------------------------------------------------------------------------ */

/* Contents that were read from the file, the last used ones. */
struct kept {
    uint64_t content;
    uint8_t *bytes;
    size_t size;
    uint64_t used;
};

struct view_contents {
    const struct view_model *model;
    struct kept kept[KEPT_CONTENTS];
    uint64_t uses;
};

void view_contents_destroy(struct view_contents *contents)
{
    for (size_t i = 0; contents && i < KEPT_CONTENTS; i++)
        free(contents->kept[i].bytes);
    free(contents);
}

enum hal_status view_contents_create(const struct view_model *model,
                                     struct view_contents **out_contents)
{
    *out_contents = hal_alloc(1, sizeof **out_contents);
    if (!*out_contents)
        return hal_fail(HAL_NO_MEMORY, "no memory for contents");
    (*out_contents)->model = model;
    return HAL_OK;
}

/* NULL: it cannot be read. */
static const struct kept *keep(struct view_contents *c, uint64_t content)
{
    struct kept *oldest = &c->kept[0];
    uint64_t size;
    for (size_t i = 0; i < KEPT_CONTENTS; i++) {
        if (c->kept[i].bytes && c->kept[i].content == content) {
            c->kept[i].used = ++c->uses;
            return &c->kept[i];
        }
        oldest = c->kept[i].used < oldest->used ? &c->kept[i] : oldest;
    }
    if (trace_reader_content_size(c->model->reader, content, &size) != HAL_OK)
        return NULL;
    uint8_t *bytes = hal_alloc((size_t)size, 1);
    if (!bytes || view_model_content(c->model, content, bytes, (size_t)size) != HAL_OK) {
        free(bytes);
        return NULL;
    }
    free(oldest->bytes);
    *oldest =
        (struct kept){.content = content, .bytes = bytes, .size = (size_t)size, .used = ++c->uses};
    return oldest;
}

static void pieces_of(const struct view_model *m, uint32_t buffer, size_t *out_first,
                      size_t *out_last)
{
    size_t low = 0, high = m->pieces_count;
    HAL_BISECT(low, high, middle, m->pieces[middle].buffer < buffer)
    *out_first = low;
    while (low < m->pieces_count && m->pieces[low].buffer == buffer)
        low++;
    *out_last = low;
}

/* Later pieces override earlier ones, so the search goes backwards until every byte is known. */
struct view_known view_contents_at(struct view_contents *contents, uint32_t buffer, int64_t at_ns,
                                   uint64_t offset, size_t count)
{
    struct view_known result = {.count = count, .piece = VIEW_NO_REF};
    const struct view_model *m = contents->model;
    size_t first, last;
    pieces_of(m, buffer, &first, &last);
    for (size_t i = last; i-- > first && result.known_count < count;) {
        const struct view_piece *p = &m->pieces[i];
        if (p->time_ns > at_ns || p->offset >= offset + count || p->offset + p->bytes <= offset)
            continue;
        const struct kept *kept = p->stored ? keep(contents, p->content) : NULL;
        for (size_t k = 0; k < count; k++) {
            if (result.is_known[k] || offset + k < p->offset || offset + k - p->offset >= p->bytes)
                continue;
            const uint64_t at = offset + k - p->offset;
            if (!kept || at >= kept->size)
                continue; /* only a digest of it is in the file */
            result.bytes[k] = kept->bytes[at];
            result.is_known[k] = true;
            result.known_count++;
            result.piece = result.piece == VIEW_NO_REF ? (uint32_t)i : result.piece;
        }
    }
    return result;
}

/* ---- As numbers --------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t bytes; /* of an element */
    int columns;  /* for an element */
} types[VIEW_TYPE_COUNT] = {
    [VIEW_TYPE_TEXT] = {"text", 1, 1}, [VIEW_TYPE_F32] = {"f32", 4, 12},
    [VIEW_TYPE_F16] = {"f16", 2, 10},  [VIEW_TYPE_BF16] = {"bf16", 2, 10},
    [VIEW_TYPE_F64] = {"f64", 8, 18},  [VIEW_TYPE_I32] = {"i32", 4, 12},
    [VIEW_TYPE_U32] = {"u32", 4, 11},  [VIEW_TYPE_U64] = {"u64", 8, 21},
    [VIEW_TYPE_I8] = {"i8", 1, 5},
};

static double half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

/* Little-endian, as every device here has it. */
static void element_text(enum view_type_of_bytes type, const uint8_t *bytes, char *out, size_t size)
{
    uint64_t bits = 0;
    for (size_t i = types[type].bytes; i-- > 0;)
        bits = bits << 8 | bytes[i];
    const uint32_t word = (uint32_t)(type == VIEW_TYPE_BF16 ? bits << 16 : bits);
    float single;
    double wide;
    memcpy(&single, &word, sizeof single);
    memcpy(&wide, &bits, sizeof wide);
    switch (type) {
    case VIEW_TYPE_F32: snprintf(out, size, "%.5g", (double)single); return;
    case VIEW_TYPE_BF16: snprintf(out, size, "%.3g", (double)single); return;
    case VIEW_TYPE_F16: snprintf(out, size, "%.4g", half((uint16_t)bits)); return;
    case VIEW_TYPE_F64: snprintf(out, size, "%.10g", wide); return;
    case VIEW_TYPE_I32: snprintf(out, size, "%" PRId32, (int32_t)word); return;
    case VIEW_TYPE_U32: snprintf(out, size, "%" PRIu32, word); return;
    case VIEW_TYPE_U64: snprintf(out, size, "%" PRIu64, bits); return;
    case VIEW_TYPE_I8: snprintf(out, size, "%d", (int8_t)bits); return;
    case VIEW_TYPE_TEXT:
    case VIEW_TYPE_COUNT: break;
    }
    snprintf(out, size, "%c", bits >= ' ' && bits < 127 ? (char)bits : '.');
}

void view_contents_text(const struct view_known *known, enum view_type_of_bytes type, bool hex,
                        char *out, size_t size)
{
    size_t length = 0;
    out[0] = '\0';
    for (size_t i = 0; hex && i < VIEW_KNOWN_BYTES && length + 8 < size; i++) {
        const char *space = i % 4 == 3 ? "  " : " ";
        if (i < known->count && known->is_known[i])
            length +=
                (size_t)snprintf(out + length, size - length, "%02x%s", known->bytes[i], space);
        else
            length += (size_t)snprintf(out + length, size - length, "%s%s",
                                       i < known->count ? "··" : "  ", space);
    }
    for (size_t i = 0; i + types[type].bytes <= known->count && length + 32 < size;
         i += types[type].bytes) {
        char text[40] = "-";
        bool whole = true;
        for (size_t k = 0; k < types[type].bytes; k++)
            whole = whole && known->is_known[i + k];
        if (whole)
            element_text(type, known->bytes + i, text, sizeof text);
        else if (type == VIEW_TYPE_TEXT)
            snprintf(text, sizeof text, " ");
        length += (size_t)snprintf(out + length, size - length, "%*s", types[type].columns, text);
    }
}

/* ---- The panel ---------------------------------------------------------------------------- */

struct panel {
    struct view_contents *contents; /* NULL: not asked for yet */
    uint32_t buffer;                /* that is shown, or VIEW_NO_REF */
    uint32_t of, choice;            /* the transfer or buffer that chose it */
    uint64_t row;
    enum view_type_of_bytes type;
};

static struct panel *panel_of(const struct view *view)
{
    return view_state(view, VIEW_PANEL_CONTENTS);
}

/* A transfer or a mapping that is selected names the buffer; else the one of before. */
static void choose_buffer(struct view *view)
{
    struct panel *p = panel_of(view);
    const struct view_model *m = view->model;
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    const struct view_track *track = event ? &m->tracks[view->track] : NULL;
    const uint32_t chosen = view_chosen_buffer(view);
    if (track && track->kind == VIEW_TRACK_TRANSFERS && event->ref != p->of) {
        p->of = event->ref;
        p->buffer = m->transfers[event->ref].buffer;
        p->row = m->transfers[event->ref].offset / VIEW_KNOWN_BYTES;
    } else if (track && track->kind == VIEW_TRACK_HOST && event->class == VIEW_MAP) {
        p->buffer = m->calls[event->ref].object;
    } else if (chosen != VIEW_NO_REF && chosen != p->choice) {
        p->buffer = p->choice = chosen;
        p->row = 0;
    }
    if (p->buffer == VIEW_NO_REF && m->pieces_count)
        p->buffer = m->pieces[0].buffer;
}

static bool need(struct view *view)
{
    struct panel *p = panel_of(view);
    if (!p->contents && view_contents_create(view->model, &p->contents) != HAL_OK)
        view_say(view, "%s", hal_message());
    choose_buffer(view);
    return p->contents && p->buffer != VIEW_NO_REF;
}

static size_t count(struct view *view)
{
    const struct panel *p = panel_of(view);
    if (!need(view))
        return 0;
    const uint64_t bytes = view->model->buffers[p->buffer].bytes;
    return (size_t)(bytes / VIEW_KNOWN_BYTES + (bytes % VIEW_KNOWN_BYTES != 0));
}

static size_t current(struct view *view)
{
    struct panel *p = panel_of(view);
    const size_t rows = count(view);
    if (p->row >= rows)
        p->row = rows ? rows - 1 : 0;
    return rows ? (size_t)p->row : SIZE_MAX;
}

/* What contains the cursor's column counts as before it. */
static int64_t until_ns(const struct view *view)
{
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    return event && event->end_ns > view->cursor_ns ? event->end_ns : view->cursor_ns;
}

static void row(struct view *view, size_t index, char *out, size_t bytes)
{
    const struct panel *p = panel_of(view);
    char text[400];
    const uint64_t offset = (uint64_t)index * VIEW_KNOWN_BYTES;
    const uint64_t rest = view->model->buffers[p->buffer].bytes - offset;
    const size_t length = rest < VIEW_KNOWN_BYTES ? (size_t)rest : VIEW_KNOWN_BYTES;
    const bool hex = p->type == VIEW_TYPE_TEXT || view->layout.panel.columns >= 112;
    const struct view_known known =
        view_contents_at(p->contents, p->buffer, until_ns(view), offset, length);
    view_contents_text(&known, p->type, hex, text, sizeof text);
    snprintf(out, bytes, "%08" PRIx64 "  %s", offset, text);
}

static void select_row(struct view *view, size_t index)
{
    panel_of(view)->row = index;
}

static const struct view_list list = {
    .header = "offset", .count = count, .current = current, .row = row, .select = select_row};

/* The source of the current row's bytes. */
static void draw_source(struct view *view, struct view_area area)
{
    const struct panel *p = panel_of(view);
    const struct view_model *m = view->model;
    char name[96], source[128] = "nothing is known about it at this moment";
    const uint64_t offset = p->row * VIEW_KNOWN_BYTES;
    const uint64_t rest = m->buffers[p->buffer].bytes - offset;
    const uint32_t piece =
        view_contents_at(p->contents, p->buffer, until_ns(view), offset,
                         rest < VIEW_KNOWN_BYTES ? (size_t)rest : VIEW_KNOWN_BYTES)
            .piece;
    if (piece != VIEW_NO_REF) {
        const struct view_piece *from = &m->pieces[piece];
        if (from->time_ns == VIEW_NO_TIME)
            snprintf(source, sizeof source, "as at the begin of the capture");
        else
            snprintf(source, sizeof source, "%s at %s",
                     view_class_info((enum view_class)from->class)->name,
                     hal_moment_text(from->time_ns).text);
    }
    view_buffer_name(m, p->buffer, name, sizeof name);
    char title[300];
    snprintf(title, sizeof title, "%s  %s  as %s  ·  %s", name,
             view_bytes(m->buffers[p->buffer].bytes).text, types[p->type].name, source);
    view_write_cut(area, 0, 1, area.columns - 2, VIEW_STYLE_TITLE | VIEW_BOLD, title);
}

static void draw(struct view *view, struct view_area area)
{
    if (!count(view)) {
        view_write(area, 0, 1, VIEW_STYLE_DIM,
                   view->model->pieces_count ? "this buffer is empty"
                                             : "this trace has no contents of buffers");
        return;
    }
    (void)current(view); /* the row is one of this buffer */
    draw_source(view, area);
    view_list_draw(view, &list,
                   view_area_part(area, 1, 0, area.rows > 1 ? area.rows - 1 : 0, area.columns));
}

static void next_type(struct view *view, int key)
{
    (void)key;
    struct panel *p = panel_of(view);
    p->type = (enum view_type_of_bytes)((p->type + 1) % VIEW_TYPE_COUNT);
    view_say(view, "bytes as %s", types[p->type].name);
}

/* The buffer after the present one of which something is known. */
static void next_buffer(struct view *view, int key)
{
    (void)key;
    const struct view_model *m = view->model;
    struct panel *p = panel_of(view);
    size_t first, last;
    if (!need(view) || !m->pieces_count)
        return;
    pieces_of(m, p->buffer, &first, &last);
    p->buffer = m->pieces[last < m->pieces_count ? last : 0].buffer;
    p->row = 0;
}

static const struct view_binding bindings[] = {
    {'C', VIEW_KEY_NONE, "C", "bytes as text, f32, f16, bf16, f64, i32, u32, u64, i8", next_type},
    {'b', VIEW_KEY_NONE, "b", "next buffer with contents", next_buffer},
    {0, 0, NULL, NULL, NULL},
};

static void init(struct view *view)
{
    struct panel *p = panel_of(view);
    p->buffer = p->of = p->choice = VIEW_NO_REF;
}

static void finish(struct view *view)
{
    view_contents_destroy(panel_of(view)->contents);
}

static void restore(struct view *view, const struct view *old)
{
    struct panel *p = panel_of(view);
    struct view_contents *const contents = p->contents;
    *p = *panel_of(old);
    p->contents = contents;
    p->buffer = view_same_buffer(view, old, p->buffer);
    p->choice = view_same_buffer(view, old, p->choice);
}

const struct view_pane view_contents_pane = {.name = "Contents",
                                             .state_bytes = sizeof(struct panel),
                                             .init = init,
                                             .finish = finish,
                                             .restore = restore,
                                             .draw = draw,
                                             .list = &list,
                                             .bindings = bindings};
