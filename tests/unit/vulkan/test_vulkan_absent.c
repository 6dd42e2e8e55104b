/* SPDX-License-Identifier: Apache-2.0 */
/* A system without a Vulkan loader, and one whose loader finds no driver: whoever asks for such a
 * device is told what is missing, and everything else works. */
#include "hal/hal.h"
#include "tests/support/test.h"

#include <dlfcn.h>

typedef void *open_library(const char *name, int flags);

static int refused; /* times that somebody asked for the loader */
static bool is_absent;

/* Before that of the system. */
__attribute__((visibility("default"))) open_library dlopen;

void *dlopen(const char *name, int flags)
{
    static open_library *real;
    void *symbol = real ? NULL : dlsym(RTLD_NEXT, "dlopen");
    if (!real)
        memcpy(&real, &symbol, sizeof real);
    if (!is_absent || !name || strncmp(name, "libvulkan.so", strlen("libvulkan.so")) != 0)
        return real(name, flags);
    refused++;
    return real("/nowhere/libvulkan.so", flags); /* so that there is a message */
}

static bool count_cpus(void *user, const struct hal_device_entry *entry)
{
    *(int *)user += strcmp(entry->driver, "cpu") == 0;
    assert_string_not_equal(entry->driver, "vulkan");
    return true;
}

static void the_rest_works(void)
{
    struct hal_device *device;
    int cpus = 0;
    assert_int_equal(hal_devices_list(NULL, count_cpus, &cpus), HAL_OK);
    assert_int_equal(cpus, 1);
    assert_int_equal(hal_device_open("cpu", &device), HAL_OK);
    hal_device_release(device);
}

TEST(without_a_loader)
{
    struct hal_device *device = NULL;
    is_absent = true;
    for (int i = 0; i < 2; i++) { /* it is looked for again: it may have been installed */
        const int before = refused;
        assert_int_equal(hal_device_open("vulkan", &device), HAL_NOT_FOUND);
        assert_true(refused > before);
        assert_null(device);
        assert_non_null(strstr(hal_message(), "no Vulkan loader"));
        assert_non_null(strstr(hal_message(), "libvulkan.so.1"));
        assert_non_null(strstr(hal_message(), "libvulkan1"));
        the_rest_works();
    }
    is_absent = false;
}

TEST(without_a_driver)
{
    struct hal_device *device = NULL;
    assert_int_equal(setenv("VK_DRIVER_FILES", "/nowhere/icd.json", 1), 0);
    assert_int_equal(setenv("VK_ICD_FILENAMES", "/nowhere/icd.json", 1), 0);
    assert_int_equal(hal_device_open("vulkan", &device), HAL_NOT_FOUND);
    if (strstr(hal_message(), "no Vulkan loader")) /* here there is none indeed */
        skip();
    assert_null(device);
    assert_non_null(strstr(hal_message(), "the Vulkan loader finds no driver"));
    the_rest_works();
}
