/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines that are kept in files, whatever has become of the files. */
#include "tests/unit/vulkan/vulkan_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { HEAD_BYTES = 48, PROCESSES = 4, ROUNDS = 10 };

static char *self;

/* Makes the executable through a cache over the folder, which must work; whether it was kept. */
static bool prepare(const char *folder)
{
    struct hal_device *device = open_device("vulkan");
    struct hal_executable_cache *cache;
    struct hal_executable *executable;
    struct hal_executable_info info = {0};
    const struct hal_executable_cache_desc desc = {.label = "kept", .directory = folder};
    const struct hal_executable_desc increment = describe_increment();
    ok(hal_executable_cache_create(device, &desc, &cache));
    ok(hal_executable_cache_prepare(cache, &increment, 1, NULL, &executable, NULL));
    ok(hal_executable_get_info(executable, &info));
    hal_executable_release(executable);
    hal_executable_cache_release(cache);
    hal_device_release(device);
    return info.from_cache;
}

/* The one file in the folder. */
static void find_file(const char *folder, char *out_path, size_t bytes)
{
    size_t count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        assert_non_null(strstr(entry->d_name, ".vkpipelines"));
        snprintf(out_path, bytes, "%s/%s", folder, entry->d_name);
        count++;
    }
    closedir(directory);
    assert_int_equal(count, 1);
}

static void flip(const char *path, off_t at)
{
    uint8_t byte;
    const int file = open(path, O_RDWR);
    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte ^= 0x40;
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    assert_int_equal(close(file), 0);
}

static void grow(const char *path)
{
    const int file = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(write(file, "more", 4), 4);
    assert_int_equal(close(file), 0);
}

/* Whatever is in its place: it is made again, and is there afterwards. */
TEST(damaged_files_are_made_again)
{
    struct test_folder folder;
    struct stat facts;
    char path[PATH_MAX + 300];
    assert_true(test_folder_make(&folder));
    assert_false(prepare(folder.path));
    assert_true(prepare(folder.path));
    find_file(folder.path, path, sizeof path);
    assert_int_equal(stat(path, &facts), 0);
    assert_true(facts.st_size > HEAD_BYTES);
    assert_int_equal(facts.st_mode & 0777, 0600);
    for (int way = 0; way < 8; way++) {
        switch (way) {
        case 0: flip(path, 0); break;                 /* the head's name */
        case 1: flip(path, 9); break;                 /* its size */
        case 2: flip(path, 20); break;                /* its digest */
        case 3: flip(path, HEAD_BYTES); break;        /* Vulkan's head */
        case 4: flip(path, facts.st_size - 1); break; /* the last byte */
        case 5: assert_int_equal(truncate(path, HEAD_BYTES + 8), 0); break;
        case 6: assert_int_equal(truncate(path, 0), 0); break;
        default: grow(path); break;
        }
        assert_false(prepare(folder.path));
        assert_true(prepare(folder.path));
        find_file(folder.path, path, sizeof path);
    }
    test_folder_remove(&folder);
}

/* A file that others could have written might be made to harm the driver. */
TEST(files_of_others_are_not_trusted)
{
    struct test_folder folder;
    char path[PATH_MAX + 300];
    assert_true(test_folder_make(&folder));
    assert_false(prepare(folder.path));
    find_file(folder.path, path, sizeof path);
    assert_int_equal(chmod(path, 0666), 0);
    assert_false(prepare(folder.path));
    assert_true(prepare(folder.path));
    test_folder_remove(&folder);
}

/* Each driver has files of its own, and takes none whose head, which is Vulkan's, says that they
 * are another's. */
TEST(drivers_do_not_share)
{
    struct test_folder folder;
    assert_true(test_folder_make(&folder));
    for (uint32_t version = 1; version <= 2; version++) {
        shim->facts.driver_version = version;
        assert_false(prepare(folder.path));
        assert_true(prepare(folder.path));
    }
    shim->facts.uuid = 0x12345678;
    assert_false(prepare(folder.path));
    assert_false(prepare(folder.path));
    shim->facts = (struct vulkan_shim_facts){0};
    test_folder_remove(&folder);
}

TEST(many_processes)
{
    struct test_folder folder;
    char path[PATH_MAX + 300];
    pid_t children[PROCESSES];
    assert_true(test_folder_make(&folder));
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            execl(self, self, folder.path, (char *)NULL);
            _exit(127);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    find_file(folder.path, path, sizeof path);
    assert_true(prepare(folder.path));
    test_folder_remove(&folder);
}

static int load(void **state)
{
    (void)state;
    return vulkan_fixture_load();
}

TEST_SUITE_FIXTURE(load, NULL);

int main(int argc, char **argv)
{
    self = argv[0];
    if (argc > 1) {
        for (int i = 0; i < ROUNDS; i++)
            (void)prepare(argv[1]);
        return 0;
    }
    return test_run();
}
