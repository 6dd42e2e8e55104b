/* SPDX-License-Identifier: Apache-2.0 */
/* Keys written as text: for tests, pictures and bug reports. */
#include "viewer/text.h"
#include "viewer/view.h"

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
    {"C-r", VIEW_KEY_REDO},
    {"lt", '<'},
};

enum hal_status view_type(struct view *view, const char *keys)
{
    while (*keys) {
        const char *end = *keys == '<' ? strchr(keys, '>') : NULL;
        if (*keys != '<') {
            view_key(view, (int)view_utf8_next(&keys));
            continue;
        }
        size_t i = 0;
        while (end && i < sizeof names / sizeof *names &&
               (strlen(names[i].name) != (size_t)(end - keys - 1) ||
                strncmp(keys + 1, names[i].name, strlen(names[i].name)) != 0))
            i++;
        if (!end || i == sizeof names / sizeof *names)
            return hal_fail(HAL_INVALID,
                            "unknown key at '%.20s': <Enter>, <Tab>, <Esc>, <Up>, ..., "
                            "and <lt> for <",
                            keys);
        view_key(view, names[i].key);
        keys = end + 1;
    }
    return HAL_OK;
}
