/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a benchmark's rows as they come. */
#include "tests/bench/bench.h"

#include "hal/base/status.h"
#include "hal/hal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_quick;

bool bench_is_quick(void)
{
    return is_quick;
}

int bench_repeats(int usual)
{
    return is_quick ? 1 : usual;
}

uint64_t bench_size(uint64_t usual, uint64_t quick)
{
    return is_quick ? quick : usual;
}

void bench_begin(struct bench *bench, const char *name, int argc, char **argv)
{
    *bench = (struct bench){0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            bench->json = true;
        } else if (strncmp(argv[i], "--only=", 7) == 0) {
            bench->only = argv[i] + 7;
        } else if (strcmp(argv[i], "--quick") == 0) {
            is_quick = true;
        } else if (strcmp(argv[i], "--help") == 0) {
            printf("usage: %s [--json] [--only=NAME] [--quick]\n", name);
            exit(0);
        } else if (strcmp(argv[i], "--version") == 0) {
            printf("%s %s\n", name, HAL_VERSION_STRING);
            exit(0);
        } else {
            fprintf(stderr, "%s: unknown argument '%s'\n", name, argv[i]);
            exit(2);
        }
    }
    if (bench->json)
        printf("{\"rows\":[");
    else
        printf("%-48s %12s %-10s %10s\n", "figure", "value", "unit", "target");
}

bool bench_wants(const struct bench *bench, const char *name)
{
    return !bench->only || strcmp(bench->only, name) == 0;
}

void bench_row(struct bench *bench, const char *what, double value, const char *unit,
               enum bench_better better, double target)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s%s", bench->subject ? bench->subject : "",
             bench->subject ? ": " : "", what);
    if (is_quick) /* what a target is about was not measured */
        target = NAN;
    const bool ok = isnan(target) || (better == BENCH_LOWER ? value <= target : value >= target);
    if (bench->json) {
        printf("%s\n{\"name\":\"%s\",\"value\":%.6g,\"unit\":\"%s\",\"better\":\"%s\"",
               bench->row_count ? "," : "", name, value, unit,
               better == BENCH_LOWER ? "lower" : "higher");
        if (isnan(target))
            printf(",\"target\":null,\"ok\":true}");
        else
            printf(",\"target\":%.6g,\"ok\":%s}", target, ok ? "true" : "false");
    } else if (isnan(target)) {
        printf("%-48s %12.4g %-10s\n", name, value, unit);
    } else {
        printf("%-48s %12.4g %-10s %s %-8.4g%s\n", name, value, unit,
               better == BENCH_LOWER ? "<=" : ">=", target, ok ? "" : " missed");
    }
    bench->row_count++;
}

int bench_end(struct bench *bench)
{
    if (bench->json)
        printf("\n]}\n");
    if (bench->only && !bench->row_count) {
        fprintf(stderr, "--only=%s: there is no such part\n", bench->only);
        return 2;
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
    if (count == 0)
        return NAN;
    qsort(values, count, sizeof *values, compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

void bench_die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, hal_message());
    exit(1);
}
