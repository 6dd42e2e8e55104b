/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the counts of an indirect dispatch, or zeros when one of them is over its limit. */
#version 450

layout(local_size_x = 1) in;

layout(set = 0, binding = 0, std430) readonly buffer Given
{
    uint given[];
};

struct checked {
    uint counts[3];
    uint is_refused;
    uint given[3];
    uint reserved;
};

layout(set = 0, binding = 1, std430) writeonly buffer Checked
{
    checked checks[];
};

layout(push_constant) uniform Constants
{
    uint limits[3];
    uint word;
    uint index;
};

void main()
{
    bool is_refused = false;
    for (uint i = 0; i < 3; i++) {
        checks[index].given[i] = given[word + i];
        is_refused = is_refused || given[word + i] > limits[i];
    }
    for (uint i = 0; i < 3; i++)
        checks[index].counts[i] = is_refused ? 0 : given[word + i];
    checks[index].is_refused = is_refused ? 1 : 0;
}
