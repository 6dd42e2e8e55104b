/* SPDX-License-Identifier: Apache-2.0 */
/* The drivers, those of this library and those loaded on demand; their devices, and opening one by
 * URI: "scheme", "scheme://path", "scheme?name=value&name=value". Above the core. */
#include "hal/base/mem.h"
#include "hal/core/core.h"

#include <assert.h>
#include <stdio.h>

extern const struct hal_driver hal_cpu_driver;

static const struct hal_driver *const drivers[] = {&hal_cpu_driver};

/* There when they are linked statically with the library. */
extern __attribute__((weak)) hal_driver_module hal_metal_module, hal_vulkan_module;

/* A driver that needs what not every system has is a module. */
static const struct {
    const char *scheme, *variable, *file, *symbol;
    hal_driver_module *linked;
} modules[] = {
    {"metal", "HAL_METAL_MODULE", "libhal_metal.so", "hal_metal_module", hal_metal_module},
    {"vulkan", "HAL_VULKAN_MODULE", "libhal_vulkan.so", "hal_vulkan_module", hal_vulkan_module},
};

enum {
    DRIVER_COUNT = sizeof drivers / sizeof drivers[0],
    MODULE_COUNT = sizeof modules / sizeof modules[0],
    MAX_PARAMETERS = 16,
};

/* A URI taken apart in place. */
struct uri {
    char *text;
    const char *scheme, *path;
    struct hal_uri_parameter parameters[MAX_PARAMETERS];
    size_t parameter_count;
};

static enum hal_status add_parameter(struct uri *uri, const char *whole, char *text)
{
    char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return hal_fail(HAL_INVALID,
                        "device '%s': the parameter '%s' is not of the form name=value", whole,
                        text);
    *equals = '\0';
    for (size_t i = 0; i < uri->parameter_count; i++) {
        if (strcmp(uri->parameters[i].name, text) == 0)
            return hal_fail(HAL_INVALID, "device '%s': the parameter '%s' is given twice", whole,
                            text);
    }
    if (uri->parameter_count == MAX_PARAMETERS)
        return hal_fail(HAL_INVALID, "device '%s' has more than %d parameters", whole,
                        MAX_PARAMETERS);
    uri->parameters[uri->parameter_count++] = (struct hal_uri_parameter){text, equals + 1};
    return HAL_OK;
}

static enum hal_status take_apart(struct uri *uri, const char *whole)
{
    char *rest = strchr(uri->text, '?');
    if (rest)
        *rest++ = '\0';
    char *path = strstr(uri->text, "://");
    if (path)
        *path = '\0';
    uri->scheme = uri->text;
    uri->path = path ? path + 3 : "";
    while (rest) {
        char *next = strchr(rest, '&');
        if (next)
            *next++ = '\0';
        HAL_TRY(add_parameter(uri, whole, rest));
        rest = next;
    }
    return HAL_OK;
}

/* Takes the core's own parameter out. */
static enum hal_status read_caching(struct uri *uri, uint64_t *io_bytes)
{
    for (size_t i = 0; i < uri->parameter_count; i++) {
        struct hal_uri_parameter *parameter = &uri->parameters[i];
        if (strcmp(parameter->name, "caching") != 0)
            continue;
        if (!hal_caching_parse(parameter->value, io_bytes))
            return hal_fail(HAL_INVALID,
                            "caching=%s is neither 'off' nor a number of bytes (such as 64M)",
                            parameter->value);
        uri->parameter_count--;
        memmove(parameter, parameter + 1, (uri->parameter_count - i) * sizeof *parameter);
        return HAL_OK;
    }
    return HAL_OK;
}

static enum hal_status load_driver(size_t index, const struct hal_driver **out_driver)
{
    hal_driver_module *find = modules[index].linked;
    if (!find) {
        void *symbol;
        HAL_TRY(hal_module_load(modules[index].scheme, modules[index].variable, modules[index].file,
                                modules[index].symbol, &symbol));
        memcpy(&find, &symbol, sizeof find);
    }
    *out_driver = find(HAL_DRIVER_ABI);
    if (*out_driver)
        return HAL_OK;
    return hal_fail(HAL_VERSION, "the %s module was built for another version of the library",
                    modules[index].scheme);
}

/* The driver of that number; NULL: it is a module that is not here. */
static const struct hal_driver *driver_at(size_t index)
{
    const struct hal_driver *driver;
    if (index < DRIVER_COUNT)
        return drivers[index];
    return load_driver(index - DRIVER_COUNT, &driver) == HAL_OK ? driver : NULL;
}

size_t hal_drivers_describe(char *out_text, size_t bytes)
{
    size_t length = 0;
    for (size_t i = 0; i < DRIVER_COUNT + MODULE_COUNT; i++) {
        const struct hal_driver *driver = driver_at(i);
        const bool fits = length < bytes;
        if (driver)
            length += (size_t)snprintf(fits ? out_text + length : NULL, fits ? bytes - length : 0,
                                       "%s%s", length ? ", " : "", driver->name);
    }
    return length;
}

static enum hal_status fail_unknown(const char *scheme)
{
    char known[128];
    hal_drivers_describe(known, sizeof known);
    return hal_fail(HAL_NOT_FOUND, "there is no driver '%s' (there are: %s)", scheme, known);
}

static enum hal_status find_driver(const char *scheme, const struct hal_driver **out_driver)
{
    for (size_t i = 0; i < DRIVER_COUNT; i++) {
        if (strcmp(drivers[i]->name, scheme) == 0) {
            *out_driver = drivers[i];
            return HAL_OK;
        }
    }
    for (size_t i = 0; i < MODULE_COUNT; i++) {
        if (strcmp(modules[i].scheme, scheme) == 0)
            return load_driver(i, out_driver);
    }
    return fail_unknown(scheme);
}

void hal_drivers_list(bool (*visit)(void *user, const struct hal_driver_info *driver), void *user)
{
    for (size_t i = 0; i < DRIVER_COUNT + MODULE_COUNT; i++) {
        const struct hal_driver *driver = driver_at(i);
        if (!driver)
            continue;
        const struct hal_driver_info info = {.struct_size = sizeof info,
                                             .name = driver->name,
                                             .description = driver->description,
                                             .parameters = driver->parameters};
        if (!visit(user, &info))
            return;
    }
}

/* Remembers whether the application wants more, across drivers. */
struct visitor {
    bool (*visit)(void *user, const struct hal_device_entry *entry);
    void *user;
    bool goes_on;
};

static bool visit_one(void *user, const struct hal_device_entry *entry)
{
    struct visitor *visitor = user;
    struct hal_device_entry sized = *entry;
    sized.struct_size = sizeof sized;
    visitor->goes_on = visitor->visit(visitor->user, &sized);
    return visitor->goes_on;
}

enum hal_status hal_devices_list(const char *driver,
                                 bool (*visit)(void *user, const struct hal_device_entry *entry),
                                 void *user)
{
    struct visitor visitor = {visit, user, true};
    const struct hal_driver *only = NULL;
    if (!visit)
        return hal_fail(HAL_INVALID, "listing devices needs a callback");
    if (driver)
        HAL_TRY(find_driver(driver, &only));
    for (size_t i = 0; i < DRIVER_COUNT + MODULE_COUNT && visitor.goes_on; i++) {
        const struct hal_driver *listed = driver_at(i);
        if (listed && (!only || only == listed))
            listed->list(visit_one, &visitor);
    }
    return HAL_OK;
}

static void assert_complete(const struct hal_driver_ops *ops)
{
    (void)ops;
    assert(ops->device_destroy && ops->device_query && ops->device_wait_idle);
    assert(ops->buffer_create && ops->buffer_map && ops->buffer_unmap);
    assert(ops->mapping_flush && ops->mapping_invalidate && ops->executable_create);
    assert(ops->command_buffer_prepare && ops->semaphore_create && ops->semaphore_query);
    assert(ops->semaphore_signal && ops->semaphore_fail && ops->semaphores_wait);
    assert(ops->queue_submit && ops->object_destroy && ops->waits_interrupt);
}

/* *io_caching_bytes stays where the URI has no parameter `caching`. */
static enum hal_status open_driver(const char *whole, struct hal_device_info *out_info,
                                   uint64_t *io_caching_bytes,
                                   struct hal_driver_device **out_device)
{
    struct uri uri = {.text = hal_copy_string(whole)};
    if (!uri.text)
        return hal_fail(HAL_NO_MEMORY, "no memory for the device name '%s'", whole);
    const struct hal_driver *driver = NULL;
    enum hal_status status = take_apart(&uri, whole);
    if (status == HAL_OK)
        status = hal_add_context(find_driver(uri.scheme, &driver), "device '%s'", whole);
    if (status == HAL_OK)
        status = hal_add_context(read_caching(&uri, io_caching_bytes), "device '%s'", whole);
    if (status == HAL_OK)
        status = hal_add_context(
            driver->open(uri.path, uri.parameters, uri.parameter_count, out_info, out_device),
            "device '%s'", whole);
    if (status == HAL_OK)
        assert_complete((*out_device)->ops);
    free(uri.text);
    return status;
}

enum hal_status hal_device_open(const char *uri, struct hal_device **out_device)
{
    struct hal_settings settings;
    struct hal_device_info info = {0};
    struct hal_driver_device *driver;
    static pthread_once_t pinned = PTHREAD_ONCE_INIT;
    HAL_TRY(hal_check_place(out_device, "the device"));
    HAL_TRY(hal_settings_get(&settings));
    pthread_once(&pinned, hal_module_pin);
    HAL_TRY(open_driver(uri ? uri : settings.device, &info, &settings.caching_bytes, &driver));
    return hal_device_create(driver, &info, &settings, out_device);
}
