/* SPDX-License-Identifier: Apache-2.0 */
/* A language model's decode loop on the HAL: for every token an upload, the layers, a read-back,
 * and the next token chosen from the result. Weights are random, the work is real. */
#include "hal/hal.h"
#include "tests/workloads/decode/model.h"
#include "tests/workloads/decode/session.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXIT_WRONG = 1, EXIT_USAGE = 2 };

struct options {
    uint64_t tokens, layers, width, seed;
    enum session_sync sync;
    bool check;
};

/* ---- Command line ------------------------------------------------------------------------- */

static void print_help(void)
{
    printf("usage: decode [options]\n"
           "Decodes tokens with a random model and checks the result against plain C.\n"
           "  --tokens=N               tokens to decode (default 16)\n"
           "  --layers=N               layers of the model (default 4, at most %d)\n"
           "  --width=N                values per token, a multiple of %d (default 256,\n"
           "                           at most %d)\n"
           "  --sync=op|layer|token    what the host submits and waits for (default token)\n"
           "  --seed=N                 of weights and inputs (default 1)\n"
           "  --check=true|false       compare with the reference (default true)\n"
           "  --help, --version\n"
           "%s",
           MODEL_MAX_LAYERS, MODEL_BLOCK_COLUMNS, MODEL_MAX_WIDTH, hal_flags_help());
}

/* The text after "--name=", or NULL when the argument is something else. */
static const char *value_of(const char *argument, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1
                                                                           : NULL;
}

static bool parse_number(const char *argument, const char *text, uint64_t least, uint64_t most,
                         uint64_t *out)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value < least || value > most) {
        fprintf(stderr, "decode: '%s': not a number from %" PRIu64 " to %" PRIu64 "\n", argument,
                least, most);
        return false;
    }
    *out = value;
    return true;
}

/* The index of `text` in the list, which ends in NULL. */
static bool parse_choice(const char *argument, const char *text, const char *const *choices,
                         int *out)
{
    for (int i = 0; choices[i]; i++) {
        if (strcmp(text, choices[i]) == 0) {
            *out = i;
            return true;
        }
    }
    fprintf(stderr, "decode: '%s': not one of", argument);
    for (int i = 0; choices[i]; i++)
        fprintf(stderr, " %s", choices[i]);
    fputc('\n', stderr);
    return false;
}

static bool parse_argument(const char *argument, struct options *options)
{
    static const char *const syncs[] = {"op", "layer", "token", NULL};
    static const char *const booleans[] = {"false", "true", NULL};
    const char *text;
    int choice = 0;
    if ((text = value_of(argument, "--tokens")))
        return parse_number(argument, text, 0, UINT32_MAX, &options->tokens);
    if ((text = value_of(argument, "--layers")))
        return parse_number(argument, text, 1, MODEL_MAX_LAYERS, &options->layers);
    if ((text = value_of(argument, "--width"))) {
        if (!parse_number(argument, text, MODEL_BLOCK_COLUMNS, MODEL_MAX_WIDTH, &options->width))
            return false;
        if (options->width % MODEL_BLOCK_COLUMNS == 0)
            return true;
        fprintf(stderr, "decode: '%s': not a multiple of %d\n", argument, MODEL_BLOCK_COLUMNS);
        return false;
    }
    if ((text = value_of(argument, "--seed")))
        return parse_number(argument, text, 0, UINT64_MAX, &options->seed);
    if ((text = value_of(argument, "--sync"))) {
        if (!parse_choice(argument, text, syncs, &choice))
            return false;
        options->sync = (enum session_sync)choice;
        return true;
    }
    if ((text = value_of(argument, "--check"))) {
        if (!parse_choice(argument, text, booleans, &choice))
            return false;
        options->check = choice == 1;
        return true;
    }
    fprintf(stderr, "decode: '%s': unknown option; try --help\n", argument);
    return false;
}

/* ---- Checking ----------------------------------------------------------------------------- */

struct check {
    double *state, *scratch; /* width, 2 * width */
    uint64_t compared;
    double largest_error, tolerance;
};

/* How far a correct device may be from the reference, relative to the state's rms. A kernel adds
 * `width` products of about equal size one after the other in single precision; each addition
 * rounds by at most 2^-24 of a partial sum that is about as large as the result, and the roundings
 * have random signs: about sqrt(width) * 2^-24 per product sum. The norm and the exponential add a
 * few roundings more, a GPU's fast mathematics a few more again. A layer adds its error to that of
 * the layers before, which it does not amplify much, since its input is normalized: hence a term
 * per layer. The factor 8 covers the extremes of all values and all of "about"; wrong kernels
 * are off by 1, not by 1e-5. */
static double tolerance_for(const struct model *model)
{
    return 8.0 * (model->layers + 1) * sqrt(model->width) * 0x1p-24;
}

/* Compares a token's result with the reference for the same input. */
static void check_token(struct check *check, const struct model *model, const float *input,
                        const float *result)
{
    for (uint32_t i = 0; i < model->width; i++)
        check->state[i] = (double)input[i];
    model_reference(model, check->state, check->scratch);
    double squares = 0;
    for (uint32_t i = 0; i < model->width; i++)
        squares += check->state[i] * check->state[i];
    const double rms = sqrt(squares / model->width);
    for (uint32_t i = 0; i < model->width; i++) {
        const double error = fabs((double)result[i] - check->state[i]) / rms;
        if (!(error <= check->largest_error)) /* a NaN is the largest error of all */
            check->largest_error = isnan(error) ? INFINITY : error;
    }
    check->compared += model->width;
}

/* ---- The loop ----------------------------------------------------------------------------- */

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static enum hal_status decode_tokens(struct session *session, const struct options *options,
                                     struct check *check, float *input, double *out_seconds)
{
    const struct model *model = session->model;
    float *result = input + model->width;
    uint32_t token = 0;
    *out_seconds = 0;
    for (uint64_t position = 0; position < options->tokens; position++) {
        char name[32];
        snprintf(name, sizeof name, "token %" PRIu64, position);
        const double begin = seconds_now();
        hal_scope_begin(session->device, name);
        model_embed(model, position, token, input);
        const enum hal_status status = session_decode(session, position, input, result);
        hal_scope_end(session->device);
        if (status != HAL_OK)
            return hal_add_context(status, "%s", name);
        token = model_next_token(model, result);
        *out_seconds += seconds_now() - begin;
        if (options->check)
            check_token(check, model, input, result);
    }
    return HAL_OK;
}

/* Says how fast it was and whether the result was right; false when it was not. */
static bool report(const struct options *options, const struct check *check, double seconds)
{
    static const char *const syncs[] = {"op", "layer", "token"};
    printf("decode: %" PRIu64 " tokens, %" PRIu64 " layers, width %" PRIu64 ", seed %" PRIu64
           ", sync %s: %.3f s, %.1f tokens/s\n",
           options->tokens, options->layers, options->width, options->seed, syncs[options->sync],
           seconds, seconds > 0 ? (double)options->tokens / seconds : 0.0);
    if (!options->check)
        return true;
    const bool right = check->largest_error <= check->tolerance;
    printf("decode: %" PRIu64 " values checked, largest error %.2g of the state's rms, %.2g is "
           "tolerated: %s\n",
           check->compared, check->largest_error, check->tolerance, right ? "right" : "WRONG");
    return right;
}

static enum hal_status run(const struct options *options, const struct model *model, double *memory,
                           bool *out_right)
{
    struct check check = {.state = memory, .scratch = memory + model->width};
    float *input = (float *)(memory + 3 * (size_t)model->width);
    struct hal_device *device = NULL;
    struct session session = {0};
    double seconds;
    check.tolerance = tolerance_for(model);
    enum hal_status status = hal_device_open(NULL, &device);
    if (status == HAL_OK)
        status = session_init(&session, device, model, options->sync);
    if (status == HAL_OK)
        status = decode_tokens(&session, options, &check, input, &seconds);
    if (status == HAL_OK)
        *out_right = report(options, &check, seconds);
    session_finish(&session);
    hal_device_release(device);
    return status;
}

int main(int argc, char **argv)
{
    struct options options = {
        .tokens = 16,
        .layers = 4,
        .width = 256,
        .seed = 1,
        .sync = SESSION_SYNC_TOKEN,
        .check = true,
    };
    if (hal_flags_parse(&argc, argv) != HAL_OK) {
        fprintf(stderr, "decode: %s\n", hal_message());
        return EXIT_USAGE;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            print_help();
            return EXIT_SUCCESS;
        }
        if (strcmp(argv[i], "--version") == 0) {
            puts("decode " HAL_VERSION_STRING);
            return EXIT_SUCCESS;
        }
        if (!parse_argument(argv[i], &options))
            return EXIT_USAGE;
    }

    struct model model = {
        (uint32_t)options.width, (uint32_t)options.layers, options.seed, NULL, NULL, NULL, NULL};
    double *memory = calloc(options.width, 3 * sizeof(double) + 2 * sizeof(float));
    bool right = false;
    enum hal_status status = HAL_OK;
    if (!model_init(&model) || !memory)
        status = hal_fail(HAL_NO_MEMORY, "a model of %" PRIu64 " layers of width %" PRIu64,
                          options.layers, options.width);
    if (status == HAL_OK)
        status = run(&options, &model, memory, &right);
    free(memory);
    model_finish(&model);
    if (status != HAL_OK) {
        fprintf(stderr, "decode: %s\n", hal_message());
        return EXIT_WRONG;
    }
    if (fflush(stdout) != 0) {
        fprintf(stderr, "decode: cannot write the result: %s\n", strerror(errno));
        return EXIT_WRONG;
    }
    return right ? EXIT_SUCCESS : EXIT_WRONG;
}
