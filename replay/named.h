/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers that a user names: a name that fits none would silently change nothing, and what comes
 * out would prove nothing. Private to replay/. */
#ifndef REPLAY_NAMED_H
#define REPLAY_NAMED_H

#include "replay/plan.h"

/* Whether one of the plans has the buffers that types and substitutes are for, and there is
 * something to replace. HAL_NOT_FOUND: there is no such buffer; HAL_UNSUPPORTED: the host never
 * writes it; the message names it. */
enum hal_status replay_names_check(const struct replay_plan *const *plans, size_t count,
                                   const struct replay_options *options) HAL_CHECKED;

#endif
