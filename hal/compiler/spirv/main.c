/* SPDX-License-Identifier: Apache-2.0 */
/* hal-spirv-cc: a SPIR-V module on standard input, MSL and where its buffers are on standard
 * output. What a module can do to its readers, it does to this process. */
#include "hal/compiler/spirv/answer.h"
#include "hal/compiler/spirv/confine.h"
#include "hal/compiler/spirv/identity.h"
#include "hal/compiler/spirv/module.h"
#include "hal/compiler/spirv/msl.h"

#include "hal/base/mem.h"
#include "hal/base/walled.h"

#include <errno.h>
#include <spirv-tools/libspirv.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct request {
    struct spirv_constant *constants;
    struct spirv_entry_point *entry_points;
    size_t constant_count, entry_point_count;
    const char *entry_point; /* at work on this one; NULL: on all of the module */
};

/* ---- Input ---------------------------------------------------------------------------------- */

static void limit(int resource, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(resource, &now) != 0)
        return;
    now.rlim_cur = now.rlim_max < most ? now.rlim_max : most;
    now.rlim_max = now.rlim_cur;
    setrlimit(resource, &now);
}

/* Sanitizers reserve more memory than there is. */
static void set_limits(void)
{
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CPU, SPIRV_TIME_LIMIT_S);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    limit(RLIMIT_AS, (rlim_t)2 << 30);
#endif
}

static enum hal_status read_module(struct msl_text *out_bytes)
{
    char bytes[1 << 16];
    for (;;) {
        const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
        if (count == 0)
            return msl_text_check(out_bytes);
        if (count < 0 && errno != EINTR)
            return hal_fail(HAL_IO, "cannot read the module: %s", strerror(errno));
        if (count > 0)
            msl_text_append(out_bytes, bytes, (size_t)count);
        if (out_bytes->length > SPIRV_MAX_BYTES)
            return hal_fail(HAL_INVALID, "it has more than %d bytes", SPIRV_MAX_BYTES);
    }
}

static bool read_bits(const char *text, uint64_t *out_bits)
{
    char *end;
    errno = 0;
    *out_bits = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

static bool read_number(const char *text, uint32_t *out_number)
{
    uint64_t bits;
    const bool good = read_bits(text, &bits) && bits <= UINT32_MAX;
    *out_number = (uint32_t)bits;
    return good;
}

/* Four words each: "constant ID TYPE BITS", or five: "entry NAME X Y Z". */
static bool read_request(char **arguments, int count, struct request *request)
{
    int i = 1;
    while (i < count) {
        if (strcmp(arguments[i], "constant") == 0 && count - i >= 4) {
            struct spirv_constant *const constant = &request->constants[request->constant_count++];
            uint32_t type;
            if (!read_number(arguments[i + 1], &constant->id) ||
                !read_number(arguments[i + 2], &type) || type < SPIRV_BOOL || type > SPIRV_UINT64 ||
                !read_bits(arguments[i + 3], &constant->bits))
                return false;
            constant->type = (enum spirv_constant_type)type;
            i += 4;
        } else if (strcmp(arguments[i], "entry") == 0 && count - i >= 5) {
            struct spirv_entry_point *const entry =
                &request->entry_points[request->entry_point_count++];
            entry->name = arguments[i + 1];
            for (int d = 0; d < 3; d++)
                if (!read_number(arguments[i + 2 + d], &entry->workgroup_size[d]))
                    return false;
            i += 5;
        } else {
            return false;
        }
    }
    return request->entry_point_count > 0;
}

/* ---- Validation ----------------------------------------------------------------------------- */

static enum hal_status validate(const struct spirv_module *module)
{
    const spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_3);
    const spv_validator_options options = spvValidatorOptionsCreate();
    if (!context || !options)
        return hal_fail(HAL_NO_MEMORY, "no memory for the validation");
    spvValidatorOptionsSetScalarBlockLayout(options, true);
    spvValidatorOptionsSetAllowLocalSizeId(options, true);
    spv_const_binary_t binary = {module->words, module->count};
    spv_diagnostic diagnostic = NULL;
    const spv_result_t result = spvValidateWithOptions(context, options, &binary, &diagnostic);
    enum hal_status status = HAL_OK;
    if (result == SPV_ERROR_OUT_OF_MEMORY)
        status = hal_fail(HAL_NO_MEMORY, "the validation is out of memory");
    else if (result != SPV_SUCCESS)
        status = hal_fail(HAL_INVALID, "it is not valid: %s",
                          diagnostic && diagnostic->error ? diagnostic->error : "no reason given");
    spvDiagnosticDestroy(diagnostic);
    spvValidatorOptionsDestroy(options);
    spvContextDestroy(context);
    return status;
}

static enum hal_status prepare(struct spirv_module *module, const struct request *request,
                               struct msl_text *head)
{
    struct spirv_module_constant constant;
    size_t at = 0;
    HAL_TRY(spirv_module_check_demands(module));
    HAL_TRY(validate(module));
    while (spirv_module_next_constant(module, &at, &constant))
        spirv_answer_add_constant(head, constant.id, constant.type, constant.name);
    HAL_TRY(spirv_module_specialize(module, request->constants, request->constant_count));
    /* Values may be wrong where the defaults were right: an array of zero elements, for example. */
    return request->constant_count ? validate(module) : HAL_OK;
}

/* ---- Translation ---------------------------------------------------------------------------- */

/* Letters, digits and underscores of the name; the number makes it one of a kind. */
static void name_kernel(const char *name, size_t number, char *out_kernel, size_t bytes)
{
    enum { KEPT = 64 };
    char kept[KEPT + 1];
    size_t length = 0;
    for (; length < KEPT && name[length]; length++) {
        const char c = name[length];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9' && length > 0);
        kept[length] = c;
        if (!plain)
            kept[length] = length ? '_' : 'k';
    }
    if (!length) /* SPIR-V allows that */
        kept[length++] = 'k';
    kept[length] = '\0';
    /* Two underscores in a row are the language's own. */
    for (size_t i = 1; i < length; i++)
        if (kept[i] == '_' && kept[i - 1] == '_')
            kept[i] = 'u';
    snprintf(out_kernel, bytes, "%s%s%zu", kept, kept[length - 1] == '_' ? "n" : "_", number);
}

static enum hal_status check_group_size(const struct spirv_module *module,
                                        const struct spirv_entry_point *wanted)
{
    uint32_t size[3];
    const uint32_t *const given = wanted->workgroup_size;
    HAL_TRY(spirv_module_group_size(module, wanted->name, size));
    if (memcmp(size, given, sizeof size) != 0)
        return hal_fail(HAL_INVALID,
                        "its workgroups have %u x %u x %u threads in the module, and "
                        "%u x %u x %u in the executable",
                        size[0], size[1], size[2], given[0], given[1], given[2]);
    return HAL_OK;
}

static enum hal_status translate_all(const struct spirv_module *module, struct spirv_cross *cross,
                                     struct request *request, struct msl_text *head,
                                     struct msl_text *text)
{
    for (size_t i = 0; i < request->entry_point_count; i++) {
        char kernel[SPIRV_KERNEL_NAME_BYTES];
        struct spirv_entry entry;
        const struct spirv_entry_point *const wanted = &request->entry_points[i];
        request->entry_point = wanted->name;
        name_kernel(wanted->name, i, kernel, sizeof kernel);
        HAL_TRY(check_group_size(module, wanted));
        HAL_TRY(spirv_cross_translate(cross, wanted->name, kernel, &entry, text));
        HAL_TRY(spirv_module_list_access(module, wanted->name, &entry));
        entry.kernel = kernel;
        spirv_answer_add(head, &entry);
    }
    return msl_text_check(head);
}

static enum hal_status answer(struct request *request, struct msl_text *head, struct msl_text *text)
{
    struct msl_text bytes = {0};
    struct spirv_module module = {0};
    struct spirv_cross *cross = NULL;
    enum hal_status status = read_module(&bytes);
    if (status == HAL_OK)
        status = spirv_module_init(bytes.bytes, bytes.length, &module);
    if (status == HAL_OK)
        status = prepare(&module, request, head);
    if (status == HAL_OK)
        status = spirv_cross_create(&module, &cross);
    if (status == HAL_OK)
        status = translate_all(&module, cross, request, head, text);
    spirv_cross_destroy(cross);
    spirv_module_finish(&module);
    msl_text_finish(&bytes);
    return status;
}

static int tell(const struct request *request, enum hal_status status)
{
    if (request->entry_point)
        fprintf(stderr, "entry point '%s': ", request->entry_point);
    fprintf(stderr, "%s", hal_message());
    return (int)status;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--identity") == 0)
        return puts(identity) < 0 ? HAL_IO : 0;
    struct request request = {
        .constants = hal_alloc((size_t)argc, sizeof *request.constants),
        .entry_points = hal_alloc((size_t)argc, sizeof *request.entry_points),
    };
    struct msl_text head = {0}, text = {0};
    if (!request.constants || !request.entry_points || !read_request(argv, argc, &request)) {
        fprintf(stderr, "hal-spirv-cc: a part of haltrace, not to be started by hand");
        free(request.constants);
        free(request.entry_points);
        return HAL_INVALID;
    }
    set_limits();
    (void)spirv_confine(); /* where that cannot be done, the limits are what there is */
    spirv_answer_begin(&head);
    const enum hal_status status = answer(&request, &head, &text);
    int code = status == HAL_OK ? 0 : tell(&request, status);
    if (status == HAL_OK &&
        (fwrite(head.bytes, 1, head.length, stdout) != head.length ||
         fprintf(stdout, "%s\n", SPIRV_ANSWER_TEXT) < 0 ||
         fwrite(text.bytes, 1, text.length, stdout) != text.length || fflush(stdout) != 0))
        code = HAL_IO;
    msl_text_finish(&head);
    msl_text_finish(&text);
    free(request.constants);
    free(request.entry_points);
    return code;
}
