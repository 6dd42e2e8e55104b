/* SPDX-License-Identifier: Apache-2.0 */
/* Keys written as text: for tests, pictures and bug reports. */
#include "viewer/text/text.h"
#include "viewer/ui/view.h"

#include <string.h>

static const struct {
    const char *name;
    int key;
} names[] = {
    {"Enter", VIEW_KEY_ENTER},
    {"Tab", VIEW_KEY_TAB},
    {"S-Tab", VIEW_KEY_BACK_TAB},
    {"Esc", VIEW_KEY_ESCAPE},
    {"Space", ' '},
    {"BS", VIEW_KEY_BACKSPACE},
    {"Up", VIEW_KEY_UP},
    {"Down", VIEW_KEY_DOWN},
    {"Left", VIEW_KEY_LEFT},
    {"Right", VIEW_KEY_RIGHT},
    {"PgUp", VIEW_KEY_PAGE_UP},
    {"PgDn", VIEW_KEY_PAGE_DOWN},
    {"Home", VIEW_KEY_HOME},
    {"End", VIEW_KEY_END},
    {"Del", VIEW_KEY_DELETE},
    {"lt", '<'},
};

/* VIEW_KEY_NONE: no key of that name. */
static int key_named(const char *name, size_t length)
{
    if (length == 3 && strncmp(name, "C-", 2) == 0 && name[2] >= 'a' && name[2] <= 'z')
        return name[2] - 'a' + 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == length && strncmp(name, names[i].name, length) == 0)
            return names[i].key;
    return VIEW_KEY_NONE;
}

enum hal_status view_type(struct view *view, const char *keys)
{
    while (*keys) {
        const char *const end = *keys == '<' ? strchr(keys, '>') : NULL;
        if (*keys != '<') {
            view_key(view, (int)view_utf8_next(&keys));
            continue;
        }
        const int key = end ? key_named(keys + 1, (size_t)(end - keys - 1)) : VIEW_KEY_NONE;
        if (key == VIEW_KEY_NONE)
            return hal_fail(HAL_INVALID,
                            "unknown key at '%.20s': <Enter>, <Tab>, <Esc>, <Up>, ..., "
                            "and <lt> for <",
                            keys);
        view_key(view, key);
        keys = end + 1;
    }
    return HAL_OK;
}
