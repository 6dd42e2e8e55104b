/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel cache: what is compiled again and what is not. A compiler that writes down each of
 * its runs stands in front of the real one. */
#include "hal/base/log.h"
#include "hal/compiler/msl/cache.h"
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOURCE(value) "kernel void f(device int* o [[buffer(0)]]) { o[0] = " #value "; }\n"

enum { PATH_BYTES = 512 };

static void path_in(char *out_path, const char *name)
{
    snprintf(out_path, PATH_BYTES, "%s/%s", fixture_directory(), name);
}

/* Runs of the compiler so far, those that ask for its version aside. */
static size_t compiler_runs(void)
{
    char path[PATH_BYTES], line[64];
    size_t count = 0;
    path_in(path, "runs");
    FILE *const file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        count += strcmp(line, "--version\n") != 0;
    if (file)
        fclose(file);
    return count;
}

/* A compiler that counts its runs, and does this before each. */
static void put_compiler(const char *before)
{
    char path[PATH_BYTES], runs[PATH_BYTES];
    path_in(runs, "runs");
    path_in(path, "clang");
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\necho \"$1\" >> %s\n%s\nexec %s \"$@\"\n", runs, before, TEST_CLANG);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    setenv("HAL_MSL_CLANG", path, 1);
}

static int32_t compile_and_run(const char *source)
{
    int32_t out = 0;
    fixture_run_source(source, "f", (void *[]){&out}, 1, 1, 1);
    return out;
}

/* Finds the nth file of the cache that ends so; returns whether there is one. */
static bool find_entry(const char *suffix, char *out_path)
{
    char folder[PATH_BYTES];
    bool found = false;
    path_in(folder, "cache/msl");
    DIR *const directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        const size_t length = strlen(entry->d_name), wanted = strlen(suffix);
        if (length < wanted || strcmp(entry->d_name + length - wanted, suffix) != 0)
            continue;
        assert_false(found);
        found = true;
        snprintf(out_path, PATH_BYTES, "%.200s/%.200s", folder, entry->d_name);
    }
    if (directory)
        closedir(directory);
    return found;
}

static void change_byte(const char *path, long offset, int origin)
{
    FILE *const file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, origin), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
    fputc(byte ^ 1, file);
    assert_int_equal(fclose(file), 0);
}

TEST(second_time_is_a_hit)
{
    assert_int_equal(compile_and_run(SOURCE(11)), 11);
    assert_int_equal(compiler_runs(), 2); /* headers, compiler */
    assert_int_equal(compile_and_run(SOURCE(11)), 11);
    assert_int_equal(compiler_runs(), 2);
    assert_int_equal(compile_and_run(SOURCE(12)), 12);
    assert_int_equal(compiler_runs(), 3);
    /* What has macros is preprocessed first. */
    assert_int_equal(compile_and_run("#define N 13\n" SOURCE(N)), 13);
    assert_int_equal(compiler_runs(), 5);
}

TEST(everything_that_matters_is_in_the_key)
{
    static const char text[] = "constant int c [[function_constant(0)]];\n"
                               "kernel void f(device int* o [[buffer(0)]])\n"
                               "{ o[0] = c + sizeof(__FILE__); }\n";
    const struct msl_constant constants[] = {
        {0, MSL_INT32, 100}, {0, MSL_UINT32, 100}, {0, MSL_INT32, 200}};
    const struct msl_source sources[] = {
        {.text = text, .bytes = sizeof text - 1, .constants = &constants[0], .constant_count = 1},
        {.text = text, .bytes = sizeof text - 1, .constants = &constants[1], .constant_count = 1},
        {.text = text, .bytes = sizeof text - 1, .constants = &constants[2], .constant_count = 1},
        {.text = text, .bytes = sizeof text - 1},
        {.text = text, .bytes = sizeof text - 1, .name = "f"},
    };
    static const int32_t expected[] = {113, 113, 213, 13, 2};
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < 5; i++) {
            const size_t before = compiler_runs();
            int32_t out = 0;
            struct fixture_kernel kernel = fixture_compile_with(&sources[i], "f");
            fixture_run(&kernel, (void *[]){&out}, 1, NULL, (const uint32_t[]){1, 1, 1},
                        (const uint32_t[]){1, 1, 1});
            fixture_release(&kernel);
            assert_int_equal(out, expected[i]);
            assert_int_equal(compiler_runs() - before, round ? 0 : (i ? 2 : 3));
        }
}

#ifdef TEST_FISSION
/* A program that splits kernels, as far as it says what it is. */
static void put_pass(const char *name, const char *answer)
{
    char path[PATH_BYTES];
    path_in(path, name);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\nexec %s \"$@\"\n", answer, TEST_FISSION);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    setenv("HAL_MSL_CC", path, 1);
}

#define SAYS(digit) "[ \"$1\" != --identity ] || exec printf '%064d\\n' " #digit

/* What it is made of counts, not where it lies and when it was written; of a program that does not
 * say what it is, its file counts. */
TEST(fission_passes_are_known_by_what_they_are)
{
    const struct {
        const char *name, *answer;
        bool compiles;
    } steps[] = {
        {"one", SAYS(1), true},
        {"one", SAYS(1) " # built again", false},
        {"elsewhere", SAYS(1), false},
        {"elsewhere", SAYS(2), true},
        {"one", SAYS(1), false},
        {"one", "[ \"$1\" != --identity ] || exit 1", true},
        {"one", "[ \"$1\" != --identity ] || exit 1 # other", true},
        {"one", "[ \"$1\" != --identity ] || exec echo abc", true},
        {"other", "[ \"$1\" != --identity ] || exec echo abc", true},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const size_t before = compiler_runs();
        put_pass(steps[i].name, steps[i].answer);
        assert_int_equal(compile_and_run(SOURCE(11)), 11);
        if ((compiler_runs() > before) != steps[i].compiles)
            fail_msg("step %zu: the kernel was%s compiled", i, steps[i].compiles ? " not" : "");
    }
    unsetenv("HAL_MSL_CC");
}
#endif

TEST(damaged_entries_are_rebuilt)
{
    static const struct {
        long offset;
        int origin;
    } places[] = {{2000, SEEK_SET}, {-20, SEEK_END}, {-40, SEEK_END}, {-70, SEEK_END}};
    char path[PATH_BYTES];
    compile_and_run(SOURCE(21));
    assert_true(find_entry(".so", path));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        change_byte(path, places[i].offset, places[i].origin);
        const size_t before = compiler_runs();
        assert_int_equal(compile_and_run(SOURCE(21)), 21);
        assert_int_equal(compiler_runs() - before, 1);
        assert_int_equal(compile_and_run(SOURCE(21)), 21);
        assert_int_equal(compiler_runs() - before, 1);
    }
    static const long lengths[] = {0, 5000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        assert_int_equal(truncate(path, lengths[i]), 0);
        const size_t before = compiler_runs();
        assert_int_equal(compile_and_run(SOURCE(21)), 21);
        assert_int_equal(compiler_runs() - before, 1);
    }
}

static int clang(const char *arguments)
{
    char command[3 * PATH_BYTES];
    snprintf(command, sizeof command, "%s -x c++%s", TEST_CLANG, arguments);
    return system(command);
}

/* What clang reads behind precompiled headers is never a block of theirs: this key's words are an
 * extension's block of 1,000 words (the number of such blocks, LLVM 16: 18), and inside it a block
 * longer than the file. */
TEST(precompiled_headers_end_whatever_their_key)
{
    char header[PATH_BYTES], built[PATH_BYTES], entry[PATH_BYTES], arguments[2 * PATH_BYTES + 64];
    const uint32_t words[8] = {1 | 18 << 2 | 3 << 10, 1000, 1 | 1 << 3 | 1 << 11, INT32_MAX};
    struct msl_key key;
    memcpy(key.bytes, words, sizeof key.bytes);
    path_in(header, "some.h");
    path_in(built, "built.pch");
    path_in(entry, "entry.pch");
    assert_int_equal(msl_write_file(header, "struct s {};\n", 13), HAL_OK);
    snprintf(arguments, sizeof arguments, "-header %s -o %s", header, built);
    assert_int_equal(clang(arguments), 0);
    assert_int_equal(msl_cache_publish(built, entry, &key), HAL_OK);
    assert_true(msl_cache_valid(entry, &key));
    snprintf(arguments, sizeof arguments, " -fsyntax-only -include-pch %s /dev/null", entry);
    assert_int_equal(clang(arguments), 0);
}

TEST(foreign_entries_are_rebuilt)
{
    char first[PATH_BYTES], second[PATH_BYTES], moved[PATH_BYTES];
    path_in(moved, "moved");
    compile_and_run(SOURCE(31));
    assert_true(find_entry(".so", first));
    assert_int_equal(rename(first, moved), 0);
    compile_and_run(SOURCE(32));
    assert_true(find_entry(".so", second));
    assert_string_not_equal(first, second);
    assert_int_equal(rename(moved, second), 0); /* whole, but of another source */
    assert_int_equal(compile_and_run(SOURCE(32)), 32);

    size_t before = compiler_runs();
    assert_int_equal(chmod(second, 0666), 0); /* anybody may have written it */
    assert_int_equal(compile_and_run(SOURCE(32)), 32);
    assert_int_equal(compiler_runs() - before, 1);
    before = compiler_runs();
    assert_int_equal(rename(second, moved), 0);
    assert_int_equal(symlink(moved, second), 0);
    assert_int_equal(compile_and_run(SOURCE(32)), 32);
    assert_int_equal(compiler_runs() - before, 1);
}

TEST(damaged_headers_are_repaired)
{
    char path[PATH_BYTES], header[2 * PATH_BYTES];
    compile_and_run(SOURCE(41));
    assert_true(find_entry(".pch", path));
    change_byte(path, 5000, SEEK_SET);
    size_t before = compiler_runs();
    assert_int_equal(compile_and_run(SOURCE(42)), 42);
    assert_int_equal(compiler_runs() - before, 2);

    assert_true(find_entry(".yaml", path));
    path[strlen(path) - strlen(".yaml")] = '\0';
    snprintf(header, sizeof header, "%s/msl/vector.h", path);
    assert_int_equal(unlink(header), 0);
    snprintf(header, sizeof header, "%s/msl/math.h", path);
    change_byte(header, 100, SEEK_SET);
    snprintf(header, sizeof header, "%s.yaml", path);
    assert_int_equal(truncate(header, 10), 0);
    before = compiler_runs();
    assert_int_equal(compile_and_run("#include <metal_stdlib>\n" SOURCE(43)), 43);
    assert_int_equal(compiler_runs() - before, 1);
}

/* Somebody removes all of the cache before the compiler's given run: of its headers, its
 * preprocessor, its own. */
TEST(an_emptied_cache_is_filled_again)
{
    static const char source[] = "#define N 71\n" SOURCE(N);
    char runs[PATH_BYTES], cache[PATH_BYTES], before[3 * PATH_BYTES];
    path_in(runs, "runs");
    for (size_t run = 1; run <= 3; run++) {
        path_in(cache, run == 1 ? "first" : run == 2 ? "second" : "third");
        setenv("HAL_CACHE_DIR", cache, 1);
        snprintf(before, sizeof before,
                 "[ \"$(grep -vc '^--version$' %s)\" != %zu ] || rm -rf %s/msl", runs, run, cache);
        put_compiler(before);
        assert_int_equal(compile_and_run(source), 71);
        assert_int_equal(compiler_runs(), run + 3); /* up to there, and all once more */
        assert_int_equal(compile_and_run(source), 71);
        assert_int_equal(compiler_runs(), run + 3);
        assert_int_equal(unlink(runs), 0);
    }
}

TEST(failures_are_not_kept)
{
    char path[PATH_BYTES];
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(fixture_status("kernel void f(device int* o) { o[0] = ; }\n"),
                         HAL_INVALID);
    assert_false(find_entry(".so", path));
}

/* Only where somebody emptied the cache it is tried again. */
TEST(failures_are_not_repeated)
{
    put_compiler("[ \"$1\" = --version ] || exit 1");
    assert_int_equal(fixture_status(SOURCE(47)), HAL_FAILED);
    assert_int_equal(compiler_runs(), 1);
}

/* What a killed process left goes; what a living one may still use stays. */
TEST(stale_files_are_removed)
{
    char old[PATH_BYTES], fresh[PATH_BYTES], inner[2 * PATH_BYTES];
    compile_and_run(SOURCE(45));
    path_in(old, "cache/msl/tmp-oldone");
    path_in(fresh, "cache/msl/tmp-newone");
    assert_int_equal(mkdir(old, 0700), 0);
    assert_int_equal(mkdir(fresh, 0700), 0);
    snprintf(inner, sizeof inner, "%s/built", old);
    close(open(inner, O_WRONLY | O_CREAT, 0600));
    const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
    compile_and_run(SOURCE(46));
    assert_int_not_equal(access(old, F_OK), 0);
    assert_int_equal(access(fresh, F_OK), 0);
}

/* A child's whole life; the exit code says how it went. */
static pid_t start_child(const char *source, int32_t expected)
{
    const pid_t child = fork();
    if (child == 0) {
        struct msl_library *library;
        struct msl_worker *worker;
        const struct msl_function *function;
        int32_t out = 0;
        void *buffers[MSL_MAX_BUFFERS] = {&out};
        const struct msl_source desc = {.text = source, .bytes = strlen(source)};
        const struct msl_launch launch = {
            .buffers = buffers, .workgroup_size = {1, 1, 1}, .workgroup_count = {1, 1, 1}};
        if (msl_compile(&desc, &library) != HAL_OK ||
            msl_library_find(library, "f", &function) != HAL_OK ||
            msl_worker_create(&worker) != HAL_OK) {
            fprintf(stderr, "%s\n", hal_message());
            exit(1);
        }
        assert_int_equal(msl_function_run(function, worker, &launch, 0, 1), HAL_OK);
        msl_worker_destroy(worker);
        msl_library_destroy(library);
        exit(out == expected ? 0 : 2);
    }
    return child;
}

static void expect_child(pid_t child)
{
    int state = 0;
    assert_int_equal(waitpid(child, &state, 0), child);
    assert_true(WIFEXITED(state));
    assert_int_equal(WEXITSTATUS(state), 0);
}

TEST(two_processes_at_once)
{
    char path[PATH_BYTES];
    const pid_t first = start_child(SOURCE(51), 51), second = start_child(SOURCE(51), 51);
    expect_child(first);
    expect_child(second);
    assert_true(find_entry(".so", path));
    assert_true(find_entry(".pch", path));
    const size_t before = compiler_runs();
    assert_true(before == 3 || before == 5); /* the headers once in any case */
    assert_int_equal(compile_and_run(SOURCE(51)), 51);
    assert_int_equal(compiler_runs(), before);
}

static void *compile_in_thread(void *argument)
{
    struct msl_library *library = NULL;
    const char *const source = argument;
    const struct msl_source desc = {.text = source, .bytes = strlen(source)};
    if (msl_compile(&desc, &library) != HAL_OK)
        return NULL;
    return library;
}

TEST(several_threads_at_once)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    char *const sources[THREADS] = {SOURCE(61), SOURCE(61), SOURCE(62), SOURCE(63)};
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_in_thread, sources[i]), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *library;
        pthread_join(threads[i], &library);
        assert_non_null(library);
        assert_int_equal(msl_library_function_count(library), 1);
        msl_library_destroy(library);
    }
}

static size_t count_files(const char *folder)
{
    size_t count = 0;
    DIR *const directory = opendir(folder);
    assert_non_null(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count - 2;
}

/* No usable directory: kernels still run, from a private one that goes away with the process. */
TEST(unusable_directory)
{
    char file[PATH_BYTES], temporary[PATH_BYTES];
    path_in(file, "clang");
    path_in(temporary, "temporary");
    assert_int_equal(mkdir(temporary, 0700), 0);
    setenv("HAL_CACHE_DIR", file, 1); /* a file */
    setenv("TMPDIR", temporary, 1);
    expect_child(start_child(SOURCE(71), 71));
    assert_int_equal(count_files(temporary), 0);
    assert_int_equal(compiler_runs(), 2);
    unsetenv("TMPDIR");
}

static unsigned warnings;

static void count_warning(void *user, enum hal_log_level level, const char *text)
{
    (void)user;
    warnings += level == HAL_LOG_WARN && strstr(text, "HAL_CACHE_DIR=") && strstr(text, "clang");
}

/* Whoever named the place is told, once; what is usual and not there is nobody's mistake. */
TEST(a_named_directory_that_cannot_be_written_is_told_once)
{
    char file[PATH_BYTES], path[PATH_MAX];
    path_in(file, "clang");
    for (unsigned named = 0; named < 2; named++) {
        const pid_t child = fork();
        if (child == 0) {
            hal_log_set_sink(count_warning, NULL);
            if (named) {
                setenv("HAL_CACHE_DIR", file, 1);
            } else {
                unsetenv("HAL_CACHE_DIR");
                setenv("XDG_CACHE_HOME", file, 1);
            }
            for (int i = 0; i < 3; i++) {
                if (msl_cache_directory(path, sizeof path) != HAL_OK)
                    exit(99);
            }
            exit((int)warnings);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), named);
    }
}

TEST(directories_by_environment)
{
    char path[PATH_BYTES];
    unsetenv("HAL_CACHE_DIR");
    path_in(path, "xdg");
    setenv("XDG_CACHE_HOME", path, 1);
    compile_and_run(SOURCE(81));
    path_in(path, "xdg/haltrace/msl");
    assert_int_equal(access(path, F_OK), 0);
    unsetenv("XDG_CACHE_HOME");
    char *const home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    path_in(path, "home");
    setenv("HOME", path, 1);
    compile_and_run(SOURCE(82));
    path_in(path, "home/.cache/haltrace/msl");
    assert_int_equal(access(path, F_OK), 0);
    if (home)
        setenv("HOME", home, 1);
    free(home);
}

/* Every test begins with an empty cache and the compiler that counts. */
static int set_up(void **state)
{
    (void)state;
    char path[PATH_BYTES];
    path_in(path, "cache");
    setenv("HAL_CACHE_DIR", path, 1);
    put_compiler("");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unsetenv("TMPDIR"); /* a case that failed may have left its own */
    fixture_remove_directory();
    return 0;
}

TEST_FIXTURE(set_up, tear_down);
