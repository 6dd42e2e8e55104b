/* SPDX-License-Identifier: Apache-2.0 */
/* What forging.c is asked for in word 0 of its buffer. Header only. */
#ifndef TESTS_SUPPORT_FORGING_H
#define TESTS_SUPPORT_FORGING_H

enum forging {
    FORGING_NOTHING, /* it computes the recorded bytes */
    FORGING_PRINT,   /* a report on both standard streams, and exit status 0 */
    FORGING_SCRIBBLE_AND_EXIT,
    FORGING_SCRIBBLE, /* zeros over all memory that others share */
    FORGING_CLOSE,    /* every descriptor */
    FORGING_ANSWER,   /* on every descriptor: the replay went well */
    FORGING_SAME,     /* the same, with the recorded bytes wherever they may be expected */
    FORGING_COUNT,
};

enum { FORGING_PROOF = 4711, FORGING_WORDS = 16 };

#endif
