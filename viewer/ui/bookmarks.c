/* SPDX-License-Identifier: Apache-2.0 */
/* Bookmarks that stay: in a file TRACE.marks beside the trace, a line "a 1234" for each, in
 * nanoseconds since the capture began, which hold for a longer reading of the file, too. */
#include "viewer/text/text.h"
#include "viewer/ui/panes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static bool name_of(const struct view *view, const char *end, char out[PATH_BYTES])
{
    return snprintf(out, PATH_BYTES, "%s.marks%s", view->model->path, end) < PATH_BYTES;
}

static bool write_bookmarks(const struct view *view, FILE *file, size_t *out_count)
{
    *out_count = 0;
    for (int i = 0; i < VIEW_BOOKMARKS; i++) {
        if (view_bookmarks(view)[i] == VIEW_NO_TIME)
            continue;
        fprintf(file, "%c %" PRId64 "\n", 'a' + i,
                view_bookmarks(view)[i] + view_model_late_ns(view->model));
        ++*out_count;
    }
    const bool failed = ferror(file) != 0;
    return fclose(file) == 0 && !failed;
}

/* Under another name first: bookmarks that were saved before are not lost half way. */
void view_bookmarks_save(struct view *view)
{
    char path[PATH_BYTES], fresh[PATH_BYTES];
    size_t count;
    if (!name_of(view, "", path) || !name_of(view, ".new", fresh)) {
        view_say(view, "the trace's name is too long to save bookmarks beside it");
        return;
    }
    FILE *file = fopen(fresh, "w");
    if (!file || !write_bookmarks(view, file, &count) || rename(fresh, path) != 0) {
        view_say(view, "cannot write %s: %s", path, strerror(errno));
        unlink(fresh);
        return;
    }
    view_say(view, "%s saved in %s", view_things(count, "bookmark").text, path);
}

static void take_line(struct view *view, const char *line)
{
    const struct view_model *m = view->model;
    char *end;
    int64_t ns;
    if (line[0] < 'a' || line[0] > 'z' || line[1] != ' ')
        return;
    errno = 0;
    const long long number = strtoll(line + 2, &end, 10);
    if (errno || end == line + 2 || (*end && *end != '\n') ||
        __builtin_sub_overflow((int64_t)number, view_model_late_ns(m), &ns) || ns < m->first_ns ||
        ns >= m->last_ns)
        return;
    view_bookmarks(view)[line[0] - 'a'] = ns;
}

/* What is no bookmark of this trace is left out: the file is anybody's. */
void view_bookmarks_load(struct view *view)
{
    enum { MOST_LINES = 1000 };
    char path[PATH_BYTES], line[80];
    struct stat info;
    if (!name_of(view, "", path))
        return;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return;
    FILE *stream = fstat(file, &info) == 0 && S_ISREG(info.st_mode) ? fdopen(file, "r") : NULL;
    if (!stream) {
        close(file);
        return;
    }
    for (int i = 0; i < MOST_LINES && fgets(line, sizeof line, stream); i++)
        take_line(view, line);
    fclose(stream);
}
