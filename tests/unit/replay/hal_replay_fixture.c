/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/replay/hal_replay_fixture.h"
#include "tests/support/mortal.h"

#include "hal/base/digest.h"
#include "hal/base/os.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/wait.h>

/* ---- The trace ------------------------------------------------------------------------------ */

struct trace_builder *fixture_start(struct fixture *fixture)
{
    builder_open(&fixture->b, test_folder_file(&fixture->folder, "t.pb.zst", fixture->path), NULL);
    return &fixture->b;
}

void fixture_finish(struct fixture *fixture)
{
    if (builder_close(&fixture->b, NULL) != HAL_OK)
        fail_msg("%s", hal_message());
}

void fixture_add_kernel(struct trace_builder *b, uint64_t id, const char *name, const char *source)
{
    const struct trace_entry_point point = {.name = builder_string(b, name),
                                            .group_size = {1, 1, 1}};
    builder_executable_create(b, id, NULL, source, &point, 1);
}

/* ---- Runs ----------------------------------------------------------------------------------- */

static void read_text(const char *path, char *out, size_t bytes)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    out[fread(out, 1, bytes - 1, file)] = '\0';
    fclose(file);
}

static void redirect(const char *path, int descriptor)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, descriptor) < 0)
        _exit(126);
}

struct fixture_run fixture_begin(struct fixture *fixture, const char *program,
                                 char *const *arguments)
{
    struct fixture_run run;
    char name[32];
    snprintf(name, sizeof name, "out-%u", ++fixture->runs);
    test_folder_file(&fixture->folder, name, run.out);
    snprintf(name, sizeof name, "err-%u", fixture->runs);
    test_folder_file(&fixture->folder, name, run.err);
    run.process = test_fork();
    assert_true(run.process >= 0);
    if (run.process == 0) {
        redirect(run.out, STDOUT_FILENO);
        redirect(run.err, STDERR_FILENO);
        if (chdir(fixture->folder.path) != 0 || (fixture->before_exec && !fixture->before_exec()))
            _exit(126);
        execvp(program, arguments);
        _exit(127);
    }
    return run;
}

int fixture_end(struct fixture *fixture, const struct fixture_run *run)
{
    int status;
    assert_int_equal(waitpid(run->process, &status, 0), run->process);
    read_text(run->out, fixture->out, sizeof fixture->out);
    read_text(run->err, fixture->err, sizeof fixture->err);
    remove(run->out);
    remove(run->err);
    if (!WIFEXITED(status))
        fail_msg("ended by signal %d:\n%s%s", WTERMSIG(status), fixture->out, fixture->err);
    return WEXITSTATUS(status);
}

int fixture_run(struct fixture *fixture, const char *program, char *const *arguments)
{
    const struct fixture_run run = fixture_begin(fixture, program, arguments);
    return fixture_end(fixture, &run);
}

/* ---- Judging -------------------------------------------------------------------------------- */

void fixture_assert_exit(const struct fixture *fixture, int actual, int expected)
{
    if (actual != expected)
        fail_msg("exit status %d, not %d:\n%s%s", actual, expected, fixture->out, fixture->err);
}

void fixture_expect(const struct fixture *fixture, const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in the output:\n%s%s", part, fixture->out, fixture->err);
}

void fixture_expect_one_line(const struct fixture *fixture)
{
    const char *end = strchr(fixture->err, '\n');
    if (!end || end[1] || strncmp(fixture->err, "hal-replay: ", 12) != 0)
        fail_msg("no single message: '%s'", fixture->err);
}

void fixture_write(struct fixture *fixture, const char *name, const char *text)
{
    char path[PATH_MAX];
    FILE *file = fopen(test_folder_file(&fixture->folder, name, path), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

size_t fixture_count_files(const char *path)
{
    size_t count = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

void fixture_read_bytes(const char *path, uint8_t **out_data, size_t *out_bytes)
{
    struct stat facts;
    FILE *file = fopen(path, "rb");
    assert_true(file && fstat(fileno(file), &facts) == 0);
    *out_bytes = (size_t)facts.st_size;
    *out_data = malloc(*out_bytes);
    assert_non_null(*out_data);
    assert_int_equal(fread(*out_data, 1, *out_bytes, file), *out_bytes);
    fclose(file);
}

/* Its own code in the place of the one compiled kernel in the folder. An entry of the cache ends in
 * 16 bytes that are always the same, its key, and the SHA-256 of what comes before all these. */
void fixture_plant(struct fixture *fixture, const char *folder, const char *module)
{
    enum { KEY = 32, MAGIC = 16, TRAILER = 2 * KEY + MAGIC };
    char pattern[2 * PATH_MAX];
    glob_t found;
    uint8_t *old, *planted, sum[KEY];
    size_t old_bytes, bytes;
    snprintf(pattern, sizeof pattern, "%s/%s/msl/*.so", fixture->folder.path, folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    fixture_read_bytes(found.gl_pathv[0], &old, &old_bytes);
    fixture_read_bytes(module, &planted, &bytes);
    assert_true(old_bytes > TRAILER && hal_sha256(planted, bytes, sum) == HAL_OK);
    FILE *file = fopen(found.gl_pathv[0], "wb");
    assert_non_null(file);
    const uint8_t *const trailer = old + old_bytes - TRAILER;
    assert_int_equal(fwrite(planted, 1, bytes, file) + fwrite(trailer, 1, MAGIC + KEY, file) +
                         fwrite(sum, 1, KEY, file),
                     bytes + TRAILER);
    assert_int_equal(fclose(file), 0);
    free(old);
    free(planted);
    globfree(&found);
}

/* ---- Surroundings --------------------------------------------------------------------------- */

char *fixture_change_cache(const char *path)
{
    const char *const before = getenv("HAL_CACHE_DIR");
    char *const kept = before ? strdup(before) : NULL;
    assert_int_equal(setenv("HAL_CACHE_DIR", path, 1), 0);
    return kept;
}

void fixture_restore_cache(char *kept)
{
    if (kept)
        setenv("HAL_CACHE_DIR", kept, 1);
    else
        unsetenv("HAL_CACHE_DIR");
    free(kept);
}

int fixture_set_up(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    unsetenv("HAL_DEVICE");
    char self[PATH_MAX];
    if (!test_folder_make(&fixture.folder) || hal_program_path(self, sizeof self) != HAL_OK)
        return -1;
    *strrchr(self, '/') = '\0'; /* .../tests */
    *strrchr(self, '/') = '\0';
    return snprintf(fixture.program, sizeof fixture.program, "%s/bin/hal-replay", self) < PATH_MAX
               ? 0
               : -1;
}

int fixture_tear_down(void **state)
{
    test_folder_remove(&((struct fixture *)*state)->folder);
    return 0;
}
