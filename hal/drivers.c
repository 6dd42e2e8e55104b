/* SPDX-License-Identifier: Apache-2.0 */
/* The drivers of this build, and opening one by URI: "scheme", "scheme://path",
 * "scheme?name=value&name=value". */
#include "hal/base/mem.h"
#include "hal/core.h"

#include <assert.h>
#include <stdio.h>

extern const struct hal_driver hal_cpu_driver;

static const struct hal_driver *const drivers[] = {&hal_cpu_driver};
enum { DRIVER_COUNT = sizeof drivers / sizeof drivers[0], MAX_PARAMETERS = 16 };

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
            return hal_fail(HAL_INVALID, "device '%s': the parameter '%s' is there twice", whole,
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

static const struct hal_driver *find_driver(const char *scheme)
{
    for (size_t i = 0; i < DRIVER_COUNT; i++) {
        if (strcmp(drivers[i]->name, scheme) == 0)
            return drivers[i];
    }
    return NULL;
}

static enum hal_status fail_unknown(const char *whole, const char *scheme)
{
    char known[128] = "";
    for (size_t i = 0; i < DRIVER_COUNT; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "",
                 drivers[i]->name);
    return hal_fail(HAL_NOT_FOUND, "device '%s': there is no driver '%s' (there are: %s)", whole,
                    scheme, known);
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

enum hal_status hal_driver_open(const char *whole, struct hal_device_info *out_info,
                                struct hal_driver_device **out_device)
{
    struct uri uri = {.text = hal_copy_string(whole)};
    if (!uri.text)
        return hal_fail(HAL_NO_MEMORY, "no memory for the device name '%s'", whole);
    enum hal_status status = take_apart(&uri, whole);
    const struct hal_driver *driver = status == HAL_OK ? find_driver(uri.scheme) : NULL;
    if (driver) {
        status = hal_add_context(
            driver->open(uri.path, uri.parameters, uri.parameter_count, out_info, out_device),
            "device '%s'", whole);
        if (status == HAL_OK)
            assert_complete((*out_device)->ops);
    } else if (status == HAL_OK) {
        status = fail_unknown(whole, uri.scheme);
    }
    free(uri.text);
    return status;
}
