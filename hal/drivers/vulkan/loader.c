/* SPDX-License-Identifier: Apache-2.0 */
/* The system's Vulkan, found at run time, and one instance for all devices. */
#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/drivers/vulkan/vulkan.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

struct vulkan_functions vk;
VkInstance vulkan_instance;
bool vulkan_has_debug_utils;

static pthread_mutex_t hold_lock = PTHREAD_MUTEX_INITIALIZER;
static VkDebugUtilsMessengerEXT messenger;
static PFN_vkGetInstanceProcAddr find;
static _Atomic uint32_t validation_messages;
static bool validation_errors_fail;               /* written before there is an instance */
static _Thread_local char validation_error[1024]; /* the first since vulkan_listen; "": none */

/* ---- Errors --------------------------------------------------------------------------------- */

static const char *text_of(VkResult result)
{
    switch ((int)result) {
    case VK_NOT_READY: return "not ready";
    case VK_TIMEOUT: return "timeout";
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "out of host memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "out of device memory";
    case VK_ERROR_INITIALIZATION_FAILED: return "initialization failed";
    case VK_ERROR_DEVICE_LOST: return "the device is lost";
    case VK_ERROR_MEMORY_MAP_FAILED: return "memory cannot be mapped";
    case VK_ERROR_LAYER_NOT_PRESENT: return "the layer is not installed";
    case VK_ERROR_EXTENSION_NOT_PRESENT: return "an extension is missing";
    case VK_ERROR_FEATURE_NOT_PRESENT: return "a feature is missing";
    case VK_ERROR_INCOMPATIBLE_DRIVER: return "there is no compatible driver";
    case VK_ERROR_TOO_MANY_OBJECTS: return "too many objects";
    case VK_ERROR_FRAGMENTED_POOL: return "the pool is fragmented";
    case VK_ERROR_OUT_OF_POOL_MEMORY: return "the pool is empty";
    case VK_ERROR_INVALID_EXTERNAL_HANDLE: return "an external handle is invalid";
    case VK_ERROR_INVALID_SHADER_NV: return "the shader is invalid";
    default: return "an unknown error";
    }
}

static enum hal_status status_of(VkResult result)
{
    switch ((int)result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS: return HAL_NO_MEMORY;
    case VK_ERROR_INVALID_SHADER_NV: return HAL_INVALID;
    case VK_ERROR_DEVICE_LOST: return HAL_DEVICE_LOST;
    default: return HAL_FAILED;
    }
}

enum hal_status vulkan_fail(VkResult result, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return hal_fail(status_of(result), "%s: %s (VkResult %d)", text, text_of(result), (int)result);
}

uint32_t vulkan_validation_messages(void)
{
    return atomic_load(&validation_messages);
}

static VKAPI_ATTR VkBool32 VKAPI_CALL hear(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                           VkDebugUtilsMessageTypeFlagsEXT types,
                                           const VkDebugUtilsMessengerCallbackDataEXT *data,
                                           void *user)
{
    const bool is_error = severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    const bool is_validation = types & (VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT);
    (void)user;
    if (is_validation)
        atomic_fetch_add(&validation_messages, 1);
    if (is_validation && is_error && !validation_error[0])
        snprintf(validation_error, sizeof validation_error, "%s",
                 data->pMessage ? data->pMessage : "?");
    hal_log(is_error        ? HAL_LOG_ERROR
            : is_validation ? HAL_LOG_WARN
                            : HAL_LOG_INFO,
            "vulkan%s: %s", is_validation ? " validation" : "",
            data->pMessage ? data->pMessage : "");
    return VK_FALSE;
}

void vulkan_listen(void)
{
    validation_error[0] = '\0';
}

enum hal_status vulkan_heard(enum hal_status status)
{
    if (status != HAL_OK || !validation_errors_fail || !validation_error[0])
        return status;
    return hal_fail(HAL_INVALID, "Vulkan's validation: %s", validation_error);
}

/* ---- Instance ------------------------------------------------------------------------------- */

/* Once; it stays loaded. */
static enum hal_status load(void)
{
    static const char *const names[] = {
#ifdef __APPLE__
        "libvulkan.1.dylib",
        "libMoltenVK.dylib",
#else
        "libvulkan.so.1",
        "libvulkan.so",
#endif
    };
    void *library = NULL;
    if (find)
        return HAL_OK;
    for (size_t i = 0; !library && i < sizeof names / sizeof names[0]; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return hal_fail(HAL_NOT_FOUND,
                        "this system has no Vulkan loader (%s; Debian's package is libvulkan1): %s",
                        names[0], dlerror());
    void *symbol = dlsym(library, "vkGetInstanceProcAddr");
    if (!symbol)
        return hal_fail(HAL_NOT_FOUND, "%s has no vkGetInstanceProcAddr", names[0]);
    memcpy(&find, &symbol, sizeof find);
    return HAL_OK;
}

static PFN_vkVoidFunction find_or_note(const char *name, const char **missing)
{
    const PFN_vkVoidFunction function = find(vulkan_instance, name);
    if (!function && missing)
        *missing = name;
    return function;
}

static enum hal_status find_functions(void)
{
    const char *missing = NULL;
#define FIND(name)          vk.name = (PFN_vk##name)find_or_note("vk" #name, &missing);
#define FIND_OPTIONAL(name) vk.name = (PFN_vk##name)find_or_note("vk" #name, NULL);
    VULKAN_FUNCTIONS(FIND)
    VULKAN_OPTIONAL_FUNCTIONS(FIND_OPTIONAL)
#undef FIND
#undef FIND_OPTIONAL
    if (missing)
        return hal_fail(HAL_NOT_FOUND, "the system's Vulkan has no %s; 1.2 is required", missing);
    return HAL_OK;
}

static bool has_extension(const char *wanted)
{
    const PFN_vkEnumerateInstanceExtensionProperties enumerate =
        (PFN_vkEnumerateInstanceExtensionProperties)find(NULL,
                                                         "vkEnumerateInstanceExtensionProperties");
    VkExtensionProperties list[64];
    uint32_t count = sizeof list / sizeof list[0];
    const VkResult result = enumerate ? enumerate(NULL, &count, list) : VK_ERROR_UNKNOWN;
    for (uint32_t i = 0; (result == VK_SUCCESS || result == VK_INCOMPLETE) && i < count; i++) {
        if (strcmp(list[i].extensionName, wanted) == 0)
            return true;
    }
    return false;
}

static bool wants_validation(void)
{
    const char *value = getenv("HAL_VULKAN_VALIDATION");
    return value && value[0] && strcmp(value, "0") != 0;
}

static enum hal_status create_instance(void)
{
    static const VkValidationFeatureEnableEXT enabled[] = {
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    static const char *const layers[] = {"VK_LAYER_KHRONOS_validation"};
    static const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pEngineName = "haltrace",
        .apiVersion = VK_API_VERSION_1_2,
    };
    const VkValidationFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
        .enabledValidationFeatureCount = 1,
        .pEnabledValidationFeatures = enabled,
    };
    const bool validates = wants_validation();
    validation_errors_fail = validates && strcmp(getenv("HAL_VULKAN_VALIDATION"), "error") == 0;
    vulkan_has_debug_utils = has_extension(extensions[0]);
    const VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pNext = validates ? &features : NULL,
        .pApplicationInfo = &application,
        .enabledLayerCount = validates,
        .ppEnabledLayerNames = layers,
        .enabledExtensionCount = vulkan_has_debug_utils,
        .ppEnabledExtensionNames = extensions,
    };
    const PFN_vkCreateInstance create = (PFN_vkCreateInstance)find(NULL, "vkCreateInstance");
    if (!create)
        return hal_fail(HAL_NOT_FOUND, "the system's Vulkan has no vkCreateInstance");
    const VkResult result = create(&info, NULL, &vulkan_instance);
    if (result == VK_ERROR_LAYER_NOT_PRESENT)
        return hal_fail(HAL_NOT_FOUND,
                        "HAL_VULKAN_VALIDATION asks for %s, which is not installed (Debian's "
                        "package is vulkan-validationlayers)",
                        layers[0]);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        return hal_fail(HAL_NOT_FOUND, "the Vulkan loader finds no driver");
    return result == VK_SUCCESS ? HAL_OK : vulkan_fail(result, "cannot start Vulkan");
}

static void destroy_instance(void)
{
    const PFN_vkDestroyInstance destroy =
        (PFN_vkDestroyInstance)find(vulkan_instance, "vkDestroyInstance");
    if (messenger)
        vk.DestroyDebugUtilsMessengerEXT(vulkan_instance, messenger, NULL);
    messenger = VK_NULL_HANDLE;
    destroy(vulkan_instance, NULL);
    vulkan_instance = VK_NULL_HANDLE;
}

static void listen(void)
{
    const VkDebugUtilsMessengerCreateInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = hear,
    };
    if (vulkan_has_debug_utils && vk.CreateDebugUtilsMessengerEXT &&
        vk.CreateDebugUtilsMessengerEXT(vulkan_instance, &info, NULL, &messenger) != VK_SUCCESS)
        messenger = VK_NULL_HANDLE;
}

static enum hal_status start(void)
{
    HAL_TRY(load());
    HAL_TRY(create_instance());
    const enum hal_status status = find_functions();
    if (status != HAL_OK)
        destroy_instance();
    else
        listen();
    return status;
}

enum hal_status vulkan_hold(void)
{
    pthread_mutex_lock(&hold_lock);
    const enum hal_status status = vulkan_instance ? HAL_OK : start();
    pthread_mutex_unlock(&hold_lock);
    return status;
}

void vulkan_name(struct vulkan_device *device, VkObjectType type, uint64_t handle,
                 const char *label)
{
    const VkDebugUtilsObjectNameInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
        .objectType = type,
        .objectHandle = handle,
        .pObjectName = label,
    };
    if (vulkan_has_debug_utils && label)
        (void)vk.SetDebugUtilsObjectNameEXT(device->device, &info);
}
