/* SPDX-License-Identifier: Apache-2.0 */
/* hal/drivers/metal/archive.m: what executable caches keep is used when it is whole, this user's,
 * and for this device and system, and else made again; the executable works whatever happens to the
 * file. Preparing happens in processes of their own, each with a host Metal of its own. */
#include "tests/support/hal_fixture.h"
#include "tests/support/own_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { KERNELS = 3, WRONG = 2, KEPT = 10, MADE = 11 };

/* ---- One process ---------------------------------------------------------------------------- */

static const char source[] = "kernel void one(device uint *x [[buffer(0)]]) { x[0] += 1; }\n"
                             "kernel void ten(device uint *x [[buffer(0)]]) { x[0] += 10; }\n"
                             "kernel void all(device uint *x [[buffer(0)]]) { x[0] += 100; }\n";
static const struct hal_entry_point entries[KERNELS] = {
    {"one", {1, 1, 1}, 0, 0}, {"ten", {1, 1, 1}, 0, 0}, {"all", {1, 1, 1}, 0, 0}};

static bool works(struct hal_device *device, struct hal_executable *executable)
{
    uint32_t word = 0;
    struct hal_buffer *buffer = fixture_buffer(device, "x", 4);
    struct hal_command_buffer *commands = fixture_commands(device, "run", HAL_ONE_SHOT);
    const struct hal_binding binding = {buffer, 0, 4};
    static const uint32_t count[3] = {1, 1, 1};
    assert_ok(hal_buffer_write(buffer, 0, &word, sizeof word));
    assert_ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
    for (uint32_t i = 0; i < KERNELS; i++) {
        assert_ok(hal_command_dispatch(commands, executable, i, count));
        assert_ok(hal_command_barrier(commands, NULL));
    }
    fixture_run(device, commands);
    assert_ok(hal_buffer_read(buffer, 0, &word, sizeof word));
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
    return word == 111;
}

/* Prepares through a cache in the directory; `spoil` happens when the cache is open. */
static int prepare(const char *directory, const char *spoil)
{
    struct hal_device *device = fixture_device("metal");
    struct hal_executable_cache *cache;
    struct hal_executable *executable;
    struct hal_executable_info info = {0};
    const struct hal_executable_cache_desc where = {.directory = directory};
    const struct hal_executable_desc desc = {.label = "three",
                                             .format = HAL_FORMAT_MSL,
                                             .data = source,
                                             .bytes = sizeof source - 1,
                                             .entry_points = entries,
                                             .entry_point_count = KERNELS};
    assert_ok(hal_executable_cache_create(device, &where, &cache));
    if (strcmp(spoil, "remove") == 0)
        assert_int_equal(rmdir(directory), 0);
    assert_ok(hal_executable_cache_prepare(cache, &desc, 1, NULL, &executable, NULL));
    assert_ok(hal_executable_get_info(executable, &info));
    const bool right = works(device, executable);
    hal_executable_release(executable);
    hal_executable_cache_release(cache);
    hal_device_release(device);
    return !right ? WRONG : info.from_cache ? KEPT : MADE;
}

static pid_t start(const char *modes, const char *directory, const char *spoil)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("HOST_METAL", modes, 1);
        execl("/proc/self/exe", "prepare", directory, spoil, (char *)NULL);
        _exit(127);
    }
    return child;
}

static int finish(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run(const char *modes, const char *directory)
{
    return finish(start(modes, directory, ""));
}

/* ---- The directory -------------------------------------------------------------------------- */

/* How many archives there are, and that there is nothing else but the lock; the last one's path. */
static size_t count_archives(const char *directory, char out_path[PATH_MAX])
{
    static const char suffix[] = ".mtlarchive";
    size_t count = 0;
    DIR *open = opendir(directory);
    assert_non_null(open);
    for (struct dirent *entry; (entry = readdir(open));) {
        const size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        assert_int_equal(length, 64 + sizeof suffix - 1);
        assert_string_equal(entry->d_name + 64, suffix);
        snprintf(out_path, PATH_MAX, "%s/%s", directory, entry->d_name);
        count++;
    }
    closedir(open);
    return count;
}

static void make_archive(const char *name, char directory[PATH_MAX], char path[PATH_MAX])
{
    test_folder_file(&folder, name, directory);
    assert_int_equal(run("dirty", directory), MADE);
    assert_int_equal(count_archives(directory, path), 1);
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0600);
    assert_int_equal(run("dirty", directory), KEPT);
}

static size_t size_of(const char *path)
{
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    return (size_t)facts.st_size;
}

/* What was damaged is made again, once. */
static void assert_mended(const char *directory)
{
    char path[PATH_MAX];
    assert_int_equal(run("dirty", directory), MADE);
    assert_int_equal(run("dirty", directory), KEPT);
    assert_int_equal(count_archives(directory, path), 1);
}

/* ---- Tests ---------------------------------------------------------------------------------- */

TEST(a_cut_archive_is_made_again)
{
    char directory[PATH_MAX], path[PATH_MAX];
    make_archive("cut", directory, path);
    const size_t bytes = size_of(path), cuts[] = {0, 1, 20, bytes / 2, bytes - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        assert_int_equal(truncate(path, (off_t)cuts[i]), 0);
        assert_mended(directory);
    }
}

TEST(a_changed_archive_is_made_again)
{
    char directory[PATH_MAX], path[PATH_MAX];
    make_archive("changed", directory, path);
    const size_t bytes = size_of(path), places[] = {0, 15, bytes / 3, bytes - 1};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const int file = open(path, O_RDWR | O_CLOEXEC);
        uint8_t byte;
        assert_true(file >= 0);
        assert_int_equal(pread(file, &byte, 1, (off_t)places[i]), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(file, &byte, 1, (off_t)places[i]), 1);
        close(file);
        assert_mended(directory);
    }
}

/* Not with the same name, and, brought under the other one's name, not by Metal. */
TEST(another_systems_archive_is_not_used)
{
    char directory[PATH_MAX], path[PATH_MAX], other[PATH_MAX], theirs[PATH_MAX];
    make_archive("system", directory, path);
    test_folder_file(&folder, "other-system", other);
    assert_int_equal(run("system=2", other), MADE);
    assert_int_equal(count_archives(other, theirs), 1);
    assert_string_not_equal(strrchr(path, '/'), strrchr(theirs, '/'));
    assert_int_equal(rename(path, theirs), 0);
    assert_int_equal(run("system=2", other), MADE);
    assert_int_equal(run("system=2", other), KEPT);
    assert_int_equal(run("system=1", directory), MADE);
}

/* Whoever may write a file may put any code into it. */
TEST(what_others_may_write_is_not_used)
{
    static const mode_t modes[] = {0620, 0602, 0666};
    char directory[PATH_MAX], path[PATH_MAX], elsewhere[PATH_MAX];
    make_archive("others", directory, path);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_mended(directory);
    }
    test_folder_file(&folder, "elsewhere", elsewhere);
    assert_int_equal(rename(path, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, path), 0);
    assert_mended(directory);
}

/* A folder stands where the file belongs: it cannot be kept. */
TEST(what_cannot_be_kept_works)
{
    char directory[PATH_MAX], path[PATH_MAX];
    make_archive("blocked", directory, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(run("dirty", directory), MADE);
    assert_int_equal(run("dirty", directory), MADE);
    assert_int_equal(rmdir(path), 0);
    assert_mended(directory);
}

TEST(the_directory_may_go)
{
    char directory[PATH_MAX];
    test_folder_file(&folder, "gone", directory);
    assert_int_equal(finish(start("dirty", directory, "remove")), MADE);
    assert_int_not_equal(access(directory, F_OK), 0);
}

/* Metal refuses now and then: to open, to add, to write. */
TEST(metal_may_refuse)
{
    char directory[PATH_MAX], path[PATH_MAX], modes[64];
    for (unsigned n = 1; n <= 6; n++) {
        snprintf(modes, sizeof modes, "fail-archives=%u", n);
        test_folder_file(&folder, modes, directory);
        /* To make one takes five calls: a new one, three pipelines, the file. */
        assert_int_equal(run(modes, directory), MADE);
        assert_int_equal(count_archives(directory, path), n == 6);
        /* To read one takes the first; without, another is made. */
        assert_int_equal(run("dirty", directory), n == 6 ? KEPT : MADE);
        assert_int_equal(run(modes, directory), n == 1 ? MADE : KEPT);
    }
}

TEST(several_processes_share_one)
{
    enum { PROCESSES = 4 };
    char directory[PATH_MAX], path[PATH_MAX];
    pid_t children[PROCESSES];
    test_folder_file(&folder, "shared", directory);
    for (int i = 0; i < PROCESSES; i++)
        children[i] = start("dirty", directory, "");
    for (int i = 0; i < PROCESSES; i++) {
        const int result = finish(children[i]);
        assert_true(result == MADE || result == KEPT);
    }
    assert_int_equal(count_archives(directory, path), 1);
    assert_int_equal(run("dirty", directory), KEPT);
}

TEST_SUITE_FIXTURE(make_folder, remove_folder);

int main(int argc, char **argv)
{
    if (argc == 3)
        return prepare(argv[1], argv[2]);
    return test_run();
}
