/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cli/fields.h"

void replay_field_text(struct trace_text *text, const char *key, const char *value)
{
    trace_json_key(text, key);
    trace_json_text(text, value ? value : "");
}

void replay_field_u64(struct trace_text *text, const char *key, uint64_t value)
{
    trace_json_key(text, key);
    trace_json_u64(text, value);
}

void replay_field_i64(struct trace_text *text, const char *key, int64_t value)
{
    trace_json_key(text, key);
    trace_json_i64(text, value);
}

void replay_field_double(struct trace_text *text, const char *key, double value)
{
    trace_json_key(text, key);
    trace_json_double(text, value);
}

void replay_field_bool(struct trace_text *text, const char *key, bool value)
{
    trace_json_key(text, key);
    trace_json_bool(text, value);
}

void replay_field_hex(struct trace_text *text, const char *key, const void *data, size_t bytes)
{
    trace_json_key(text, key);
    trace_json_hex(text, data, bytes);
}

void replay_field_null(struct trace_text *text, const char *key)
{
    trace_json_key(text, key);
    trace_json_null(text);
}

void replay_field_open(struct trace_text *text, const char *key, char bracket)
{
    trace_json_key(text, key);
    trace_json_open(text, bracket);
}

void replay_field_times(struct trace_text *text, const char *key, const struct replay_times *times)
{
    replay_field_open(text, key, '{');
    replay_field_i64(text, "min", times->min_ns);
    replay_field_i64(text, "median", times->median_ns);
    replay_field_i64(text, "p99", times->p99_ns);
    replay_field_i64(text, "max", times->max_ns);
    trace_json_close(text, '}');
}
