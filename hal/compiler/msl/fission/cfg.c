/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow by number; dominance as bit sets, by iteration. */
#include "hal/compiler/msl/fission/cfg.h"

#include <stdlib.h>
#include <string.h>

void cfg_finish(struct cfg *cfg)
{
    free(cfg->blocks);
    free(cfg->first_next);
    free(cfg->next);
    free(cfg->cut);
    free(cfg->post);
    free(cfg->dominators);
    ir_map_finish(&cfg->numbers);
    *cfg = (struct cfg){0};
}

void cfg_build(struct cfg *cfg, ir_value function)
{
    cfg_finish(cfg);
    cfg->count = LLVMCountBasicBlocks(function);
    cfg->words = ir_words(cfg->count);
    cfg->blocks = ir_alloc(cfg->count, sizeof *cfg->blocks);
    cfg->first_next = ir_alloc(cfg->count + 1, sizeof *cfg->first_next);
    size_t at = 0, edges = 0;
    ir_each_block(block, function)
    {
        cfg->blocks[at++] = block;
        ir_map_set(&cfg->numbers, block, at);
        edges += ir_successor_count(block);
    }
    cfg->next = ir_alloc(edges, sizeof *cfg->next);
    cfg->cut = ir_alloc(edges, sizeof *cfg->cut);
    edges = 0;
    for (size_t i = 0; i < cfg->count; i++) {
        cfg->first_next[i] = edges;
        for (unsigned k = 0; k < ir_successor_count(cfg->blocks[i]); k++)
            cfg->next[edges++] = cfg_number(cfg, ir_successor(cfg->blocks[i], k));
    }
    cfg->first_next[cfg->count] = edges;
}

size_t cfg_number(const struct cfg *cfg, ir_block block)
{
    return (size_t)ir_map_get(&cfg->numbers, block) - 1;
}

/* ---- Post-dominators ------------------------------------------------------------------------ */

static ir_bits *row(ir_bits *matrix, const struct cfg *cfg, size_t index)
{
    return matrix + index * cfg->words;
}

void cfg_find_post_dominators(struct cfg *cfg)
{
    const size_t bytes = cfg->words * sizeof(ir_bits);
    free(cfg->post);
    cfg->post = ir_alloc(cfg->count * cfg->words, sizeof(ir_bits));
    memset(cfg->post, 0xff, cfg->count * bytes);
    ir_bits *set = ir_alloc(cfg->words, sizeof *set);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = cfg->count; i-- > 0;) {
            bool ends = true;
            memset(set, 0xff, bytes);
            for (size_t e = cfg->first_next[i]; e < cfg->first_next[i + 1]; e++) {
                if (cfg->cut[e])
                    continue;
                ends = false;
                const ir_bits *other = row(cfg->post, cfg, cfg->next[e]);
                for (size_t w = 0; w < cfg->words; w++)
                    set[w] &= other[w];
            }
            if (ends)
                memset(set, 0, bytes);
            ir_add(set, i);
            if (memcmp(set, row(cfg->post, cfg, i), bytes) != 0) {
                memcpy(row(cfg->post, cfg, i), set, bytes);
                changed = true;
            }
        }
    }
    free(set);
}

static size_t set_size(const ir_bits *set, size_t words)
{
    size_t size = 0;
    for (size_t w = 0; w < words; w++)
        size += (size_t)__builtin_popcountll(set[w]);
    return size;
}

/* Of all blocks that post-dominate the block, the nearest one is post-dominated by all others. */
size_t cfg_immediate_post_dominator(const struct cfg *cfg, size_t block)
{
    size_t best = SIZE_MAX, best_size = 0;
    const ir_bits *mine = cfg->post + block * cfg->words;
    for (size_t i = 0; i < cfg->count; i++) {
        if (i == block || !ir_has(mine, i))
            continue;
        const size_t size = set_size(cfg->post + i * cfg->words, cfg->words);
        if (best == SIZE_MAX || size > best_size) {
            best = i;
            best_size = size;
        }
    }
    return best;
}

void cfg_reach(const struct cfg *cfg, size_t block, size_t stop, ir_bits *set)
{
    size_t *stack = ir_alloc(cfg->count + 1, sizeof *stack), depth = 0;
    if (block != stop && !ir_has(set, block)) {
        ir_add(set, block);
        stack[depth++] = block;
    }
    while (depth) {
        const size_t i = stack[--depth];
        for (size_t e = cfg->first_next[i]; e < cfg->first_next[i + 1]; e++) {
            const size_t next = cfg->next[e];
            if (cfg->cut[e] || next == stop || ir_has(set, next))
                continue;
            ir_add(set, next);
            stack[depth++] = next;
        }
    }
    free(stack);
}

/* ---- Dominators and loops ------------------------------------------------------------------- */

void cfg_find_dominators(struct cfg *cfg)
{
    const size_t bytes = cfg->words * sizeof(ir_bits);
    free(cfg->dominators);
    cfg->dominators = ir_alloc(cfg->count * cfg->words, sizeof(ir_bits));
    memset(cfg->dominators, 0xff, cfg->count * bytes);
    memset(cfg->dominators, 0, bytes);
    ir_add(cfg->dominators, 0);
    ir_bits *set = ir_alloc(cfg->words, sizeof *set);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < cfg->count; i++)
            for (size_t e = cfg->first_next[i]; e < cfg->first_next[i + 1]; e++) {
                const size_t next = cfg->next[e];
                ir_bits *theirs = row(cfg->dominators, cfg, next);
                memcpy(set, row(cfg->dominators, cfg, i), bytes);
                ir_add(set, next);
                ir_bits lost = 0;
                for (size_t w = 0; w < cfg->words; w++) {
                    lost |= theirs[w] & ~set[w];
                    theirs[w] &= set[w];
                }
                changed = changed || lost;
            }
    }
    free(set);
}

size_t cfg_loop(const struct cfg *cfg, size_t header, ir_bits *out_blocks)
{
    size_t back_edges = 0;
    memset(out_blocks, 0, cfg->words * sizeof *out_blocks);
    for (size_t i = 0; i < cfg->count; i++) {
        if (!ir_has(cfg->dominators + i * cfg->words, header))
            continue;
        for (size_t e = cfg->first_next[i]; e < cfg->first_next[i + 1]; e++)
            if (cfg->next[e] == header) {
                back_edges++;
                ir_add(out_blocks, i);
            }
    }
    if (!back_edges)
        return 0;
    ir_add(out_blocks, header);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < cfg->count; i++) {
            if (ir_has(out_blocks, i) || !ir_has(cfg->dominators + i * cfg->words, header))
                continue;
            for (size_t e = cfg->first_next[i]; e < cfg->first_next[i + 1]; e++)
                if (cfg->next[e] != header && ir_has(out_blocks, cfg->next[e])) {
                    ir_add(out_blocks, i);
                    changed = true;
                }
        }
    }
    return back_edges;
}
