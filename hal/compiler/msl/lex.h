/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of preprocessed kernel source, with their line in the user's file. Private to
 * hal/compiler/msl. */
#ifndef HAL_MSL_LEX_H
#define HAL_MSL_LEX_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum msl_token_kind {
    MSL_BLANK,     /* white space, comments, line ends */
    MSL_DIRECTIVE, /* a complete line that begins with '#' */
    MSL_NAME,
    MSL_NUMBER,
    MSL_STRING,
    MSL_MARK /* punctuation: single characters, and "::", "->", "[[" */
};

struct msl_token {
    const char *text;        /* in the source */
    uint32_t length, line;   /* line in the user's file */
    uint32_t match;          /* of a bracket: its partner; else 0 */
    const char *replacement; /* replacement text, borrowed; NULL: unchanged */
    enum msl_token_kind kind;
};

/* The first and the last token are blank, so neighbours always exist. */
struct msl_tokens {
    struct msl_token *list;
    size_t count, capacity;
};

/* `file` is the name in messages. HAL_INVALID: brackets do not match. The source is borrowed. */
enum hal_status msl_lex(const char *source, size_t bytes, const char *file,
                        struct msl_tokens *out_tokens) HAL_CHECKED;
void msl_tokens_finish(struct msl_tokens *tokens);

bool msl_is(const struct msl_tokens *tokens, size_t index, const char *text);
bool msl_is_one_of(const struct msl_tokens *tokens, size_t index, const char *const *texts,
                   size_t count);
/* The nearest token that is not blank; stops at the ends. */
size_t msl_next(const struct msl_tokens *tokens, size_t index);
size_t msl_previous(const struct msl_tokens *tokens, size_t index);
/* From a '<' to its '>', as template brackets; 0: not a template bracket. */
size_t msl_angle_end(const struct msl_tokens *tokens, size_t index);
/* The ',' or ')' after the parameter that begins at `index`, in a list that ends at `close`. */
size_t msl_parameter_end(const struct msl_tokens *tokens, size_t index, size_t close);

#endif
