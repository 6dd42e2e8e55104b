/* SPDX-License-Identifier: Apache-2.0 */
/* Members of the JSON objects that hal-replay prints: a key and its value. Private to replay/. */
#ifndef REPLAY_FIELDS_H
#define REPLAY_FIELDS_H

#include "format/base/json.h"
#include "replay/cli/report.h"

void replay_field_text(struct trace_text *text, const char *key, const char *value); /* NULL: "" */
void replay_field_u64(struct trace_text *text, const char *key, uint64_t value);
void replay_field_i64(struct trace_text *text, const char *key, int64_t value);
void replay_field_double(struct trace_text *text, const char *key, double value);
void replay_field_bool(struct trace_text *text, const char *key, bool value);
void replay_field_hex(struct trace_text *text, const char *key, const void *data, size_t bytes);
void replay_field_null(struct trace_text *text, const char *key);
/* `bracket` is one of "{[". */
void replay_field_open(struct trace_text *text, const char *key, char bracket);
void replay_field_times(struct trace_text *text, const char *key, const struct replay_times *times);

#endif
