/* SPDX-License-Identifier: Apache-2.0 */
/* Suggests names similar to one that does not exist. */
#include "hal/base/mem.h"
#include "hal/compiler/msl/names.h"
#include "hal/compiler/msl/text.h"

#include <string.h>

enum { LISTED_NAMES = 8, COMPARED_BYTES = 64 };

struct candidate {
    const char *name;
    size_t distance;
};

/* How many bytes to insert, to leave out or to change make one the other, by their beginnings. */
static size_t distance(const char *a, const char *b)
{
    const size_t width = strnlen(a, COMPARED_BYTES), height = strnlen(b, COMPARED_BYTES);
    size_t row[COMPARED_BYTES + 1];
    for (size_t x = 0; x <= width; x++)
        row[x] = x;
    for (size_t y = 1; y <= height; y++) {
        size_t before = row[0]; /* what row[x - 1] was in the row above */
        row[0] = y;
        for (size_t x = 1; x <= width; x++) {
            const size_t above = row[x];
            const size_t changed = before + (a[x - 1] != b[y - 1]);
            row[x] = hal_min_u64(changed, 1 + hal_min_u64(above, row[x - 1]));
            before = above;
        }
    }
    return row[width];
}

/* Keeps the list sorted; of equal ones the first stays in front. */
static size_t offer(struct candidate *list, size_t count, struct candidate offered)
{
    size_t place = count;
    while (place > 0 && list[place - 1].distance > offered.distance)
        place--;
    if (place == LISTED_NAMES)
        return count;
    const size_t kept = count < LISTED_NAMES ? count : LISTED_NAMES - 1;
    memmove(list + place + 1, list + place, (kept - place) * sizeof *list);
    list[place] = offered;
    return kept + 1;
}

bool msl_is_bare_name(const char *name, const char *bare)
{
    const size_t whole = strlen(name), length = strlen(bare);
    return length > 0 && whole > length + 2 && strcmp(name + whole - length, bare) == 0 &&
           memcmp(name + whole - length - 2, "::", 2) == 0 && !memchr(name, '<', whole - length);
}

enum hal_status msl_unknown_name(enum hal_status status, const char *file, const char *wanted,
                                 const char *const *names, size_t count)
{
    struct candidate nearest[LISTED_NAMES];
    struct msl_text text = {0};
    size_t listed = 0;
    for (size_t i = 0; i < count; i++)
        listed = offer(nearest, listed, (struct candidate){names[i], distance(wanted, names[i])});
    for (size_t i = 0; i < listed; i++)
        msl_text_print(&text, "%s'%s'", i ? ", " : "", nearest[i].name);
    if (count > listed)
        msl_text_print(&text, " and %zu more", count - listed);
    status = hal_fail(status, "'%s' has no kernel '%s'; it has %s", file, wanted,
                      text.bytes ? text.bytes : "none");
    msl_text_finish(&text);
    return status;
}
