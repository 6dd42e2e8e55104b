/* SPDX-License-Identifier: Apache-2.0 */
/* A unit's way through all steps. */
#include "hal/compiler/msl/unit.h"

static void write_program(const struct msl_unit *unit, struct msl_text *out_program)
{
    for (size_t i = 0; i < unit->tokens.count; i++) {
        const struct msl_token *const token = &unit->tokens.list[i];
        if (!token->replacement) {
            msl_text_append(out_program, token->text, token->length);
        } else {
            msl_text_append_string(out_program, " ");
            msl_text_append_string(out_program, token->replacement);
            msl_text_append_string(out_program, " ");
        }
    }
}

enum hal_status msl_translate(const struct msl_source *source, const struct msl_text *text,
                              const char *file, struct msl_text *out_program,
                              struct msl_demands *out_demands)
{
    struct msl_unit unit = {.file = file, .source = source};
    enum hal_status status = msl_lex(text->bytes, text->length, file, &unit.tokens);
    if (status == HAL_OK)
        status = msl_unit_declare(&unit);
    if (status == HAL_OK) {
        msl_unit_drop_duplicates(&unit);
        msl_unit_find_sync(&unit);
        msl_unit_find_shifts(&unit);
        status = msl_unit_place_variables(&unit);
    }
    if (status == HAL_OK)
        status = msl_unit_add_entries(&unit);
    *out_demands = (struct msl_demands){.needs_sync = unit.needs_sync, .shifts = unit.shifts};
    if (status == HAL_OK) {
        msl_unit_rewrite(&unit);
        write_program(&unit, out_program);
        status = msl_text_check(out_program);
    }
    if (status == HAL_OK && unit.failed)
        status = hal_fail(HAL_NO_MEMORY, "out of memory for the translation of '%s'", file);
    msl_unit_finish(&unit);
    return status;
}
