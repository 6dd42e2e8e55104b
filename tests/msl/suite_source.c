/* SPDX-License-Identifier: Apache-2.0 */
/* A case as MSL. */
#include "tests/msl/suite.h"

#include <stdio.h>

static const char parameters[] =
    "[[buffer(0)]], device const float *a [[buffer(1)]], device const float *b [[buffer(2)]],\n"
    " device const uint *u [[buffer(3)]], device const int *s [[buffer(4)]],\n"
    " device const float *x [[buffer(5)]], device const uint *w [[buffer(6)]],\n"
    " device uint *m [[buffer(7)]], uint i [[thread_position_in_grid]],\n"
    " uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]],\n"
    " uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],\n"
    " uint n [[threads_per_grid]], uint tn [[threads_per_threadgroup]])\n";

/* Without the parentheses around it. */
static void append_inner(char **at, const char *text)
{
    const size_t length = strlen(text);
    memcpy(*at, text + 1, length - 2);
    *at += length - 2;
}

void suite_append_case(char **at, const struct suite_case *it, const char *prelude)
{
    static const struct {
        const char *c, *msl;
    } names[] = {{"i64", "long"}, {"u64", "ulong"}, {"uint32_t", "uint"}};
    const char *type = it->type;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(type, names[i].c) == 0)
            type = names[i].msl;
    *at += sprintf(*at, "\n#line 1 \"%s\"\n", it->name);
    append_inner(at, it->declarations);
    if (!it->body)
        return;
    *at +=
        sprintf(*at, "\nkernel void %s(device %s *o %s{ %s\n", it->name, type, parameters, prelude);
    append_inner(at, it->body);
    *at += sprintf(*at, "\n}\n");
}
