/* SPDX-License-Identifier: Apache-2.0 */
/* hal/core/variants.c: which of an executable's variants a driver gets to build, and what is said
 * when it can build none. */
#include "hal/driver.h"
#include "tests/support/hal_fixture.h"

enum { MOST = 8 };

/* A driver that notes what it is given, and answers as it is told, variant by variant. */
struct driver {
    const struct hal_executable_desc *desc;
    enum hal_status answers[MOST]; /* by the variant's index */
    size_t tried[MOST], count;
};

static enum hal_status build(void *user, const struct hal_executable_desc *desc,
                             const struct hal_executable_variant *variant)
{
    struct driver *driver = user;
    const size_t index = (size_t)(variant - desc->variants);
    assert_ptr_equal(desc, driver->desc);
    assert_true(index < desc->variant_count && driver->count < MOST);
    driver->tried[driver->count++] = index;
    if (driver->answers[index] == HAL_OK)
        return HAL_OK;
    return hal_fail(driver->answers[index], "variant %zu", index);
}

static const enum hal_executable_format both[] = {HAL_FORMAT_METALLIB, HAL_FORMAT_MSL};
static const struct hal_variant_builder builder = {
    .driver = "test", .formats = both, .format_count = 2, .build = build};
static const struct hal_executable_variant variants[] = {{.format = HAL_FORMAT_MSL},
                                                         {.format = HAL_FORMAT_SPIRV},
                                                         {.format = HAL_FORMAT_METALLIB},
                                                         {.format = HAL_FORMAT_MSL},
                                                         {.format = HAL_FORMAT_METALLIB}};
static const struct hal_executable_desc five = {.variants = variants, .variant_count = 5};

static void assert_tried(const struct driver *driver, const size_t *wanted, size_t count)
{
    assert_int_equal(driver->count, count);
    assert_memory_equal(driver->tried, wanted, count * sizeof *wanted);
}

TEST(the_best_format_comes_first_whatever_is_offered_first)
{
    static const size_t wanted[] = {2};
    struct driver driver = {.desc = &five};
    size_t chosen = 99;
    assert_ok(hal_variants_build(&builder, &driver, &five, &chosen));
    assert_tried(&driver, wanted, 1);
    assert_int_equal(chosen, 2);
}

TEST(what_is_not_supported_gives_way_to_the_next)
{
    static const size_t wanted[] = {2, 4, 0, 3};
    struct driver driver = {
        .desc = &five,
        .answers = {[0] = HAL_UNSUPPORTED, [2] = HAL_UNSUPPORTED, [4] = HAL_UNSUPPORTED}};
    size_t chosen = 99;
    assert_ok(hal_variants_build(&builder, &driver, &five, &chosen));
    assert_tried(&driver, wanted, 4);
    assert_int_equal(chosen, 3);

    /* None: the last one's reason. */
    driver = (struct driver){.desc = &five,
                             .answers = {[0] = HAL_UNSUPPORTED,
                                         [2] = HAL_UNSUPPORTED,
                                         [3] = HAL_UNSUPPORTED,
                                         [4] = HAL_UNSUPPORTED}};
    assert_fails(hal_variants_build(&builder, &driver, &five, &chosen), HAL_UNSUPPORTED,
                 "variant 3");
    assert_tried(&driver, wanted, 4);
}

TEST(another_failure_is_the_answer)
{
    static const size_t wanted[] = {2, 4};
    struct driver driver = {.desc = &five, .answers = {[2] = HAL_UNSUPPORTED, [4] = HAL_FAILED}};
    size_t chosen = 99;
    assert_fails(hal_variants_build(&builder, &driver, &five, &chosen), HAL_FAILED, "variant 4");
    assert_tried(&driver, wanted, 2);
    assert_int_equal(chosen, 4);
}

TEST(what_no_driver_knows_is_told_with_what_it_knows)
{
    static const enum hal_executable_format msl[] = {HAL_FORMAT_MSL},
                                            all[] = {HAL_FORMAT_METALLIB, HAL_FORMAT_MSL,
                                                     HAL_FORMAT_SPIRV};
    static const struct hal_executable_variant foreign[] = {{.format = HAL_FORMAT_SPIRV},
                                                            {.format = HAL_FORMAT_METALLIB},
                                                            {.format = HAL_FORMAT_SPIRV}};
    const struct hal_executable_desc desc = {.variants = foreign, .variant_count = 3}, none = {0};
    struct hal_variant_builder other = builder;
    struct driver driver = {.desc = &desc};
    size_t chosen = 99;
    other.formats = msl;
    other.format_count = 1;
    assert_fails(hal_variants_build(&other, &driver, &desc, &chosen), HAL_UNSUPPORTED,
                 "the test driver runs MSL, not SPIR-V, metallib");
    assert_fails(hal_variants_build(&builder, &driver, &none, &chosen), HAL_UNSUPPORTED,
                 "runs metallib and MSL, not ");
    other.formats = all;
    other.format_count = 3;
    assert_fails(hal_variants_build(&other, &driver, &none, &chosen), HAL_UNSUPPORTED,
                 "runs metallib, MSL and SPIR-V, not ");
    assert_int_equal(driver.count, 0);
}
