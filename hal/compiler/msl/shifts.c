/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a source shifts or divides by numbers that might be out of range: what C++ leaves
 * undefined then, hal-msl-cc defines, which takes time that most sources need not wait for. */
#include "hal/compiler/msl/unit.h"

/* Two equal marks side by side, as in "<<". */
static bool is_pair(const struct msl_tokens *tokens, size_t i, const char *mark)
{
    return msl_is(tokens, i, mark) && msl_is(tokens, i + 1, mark);
}

/* A non-zero number that is the whole right operand; "1 << 3 + n" is not one. */
static bool is_written_out(const struct msl_tokens *tokens, size_t i)
{
    static const char *const tighter[] = {"+", "-", "*", "/", "%"};
    const struct msl_token *const token = &tokens->list[i];
    if (token->kind != MSL_NUMBER || token->text[0] < '1' || token->text[0] > '9')
        return false;
    const size_t after = msl_next(tokens, i);
    for (size_t k = 0; k < sizeof tighter / sizeof *tighter; k++)
        if (msl_is(tokens, after, tighter[k]))
            return false;
    return true;
}

/* Index of the operator's last character, 0: none. The end of nested template arguments looks like
 * a shift. */
static size_t operator_end(const struct msl_tokens *tokens, size_t i)
{
    if (tokens->list[i].kind != MSL_MARK)
        return 0;
    if (is_pair(tokens, i, "<") || is_pair(tokens, i, ">"))
        return i + 1;
    return msl_is(tokens, i, "/") || msl_is(tokens, i, "%") ? i : 0;
}

void msl_unit_find_shifts(struct msl_unit *unit)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    for (size_t i = 1; i + 1 < tokens->count && !unit->shifts; i++) {
        const size_t end = operator_end(tokens, i);
        if (!end)
            continue;
        size_t right = msl_next(tokens, end);
        if (msl_is(tokens, right, "=") && right == end + 1)
            right = msl_next(tokens, right);
        unit->shifts = !is_written_out(tokens, right);
        i = end;
    }
}
