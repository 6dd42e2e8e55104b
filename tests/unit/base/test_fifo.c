/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/fifo.h: first in, first out, also when pushes and pops alternate. */
#include "hal/base/fifo.h"
#include "tests/support/test.h"

struct element {
    int name;
    struct hal_link here, there;
};

static struct element *pop(struct hal_fifo *fifo)
{
    return hal_fifo_pop(fifo, offsetof(struct element, here));
}

TEST(an_empty_fifo_pops_null)
{
    struct hal_fifo fifo = {0};
    assert_null(pop(&fifo));
    assert_null(hal_fifo_first(&fifo, offsetof(struct element, here)));
}

TEST(elements_are_popped_in_order)
{
    struct hal_fifo fifo = {0};
    struct element a = {.name = 1}, b = {.name = 2}, c = {.name = 3};
    hal_fifo_push(&fifo, &a.here);
    hal_fifo_push(&fifo, &b.here);
    assert_ptr_equal(hal_fifo_first(&fifo, offsetof(struct element, here)), &a);
    assert_ptr_equal(pop(&fifo), &a);
    hal_fifo_push(&fifo, &c.here);
    hal_fifo_push(&fifo, &a.here);
    assert_ptr_equal(pop(&fifo), &b);
    assert_ptr_equal(pop(&fifo), &c);
    assert_ptr_equal(pop(&fifo), &a);
    assert_null(pop(&fifo));
}

/* An emptied FIFO forgets its last element. */
TEST(an_emptied_fifo_begins_anew)
{
    struct hal_fifo fifo = {0};
    struct element a = {.name = 1}, b = {.name = 2};
    hal_fifo_push(&fifo, &a.here);
    assert_ptr_equal(pop(&fifo), &a);
    hal_fifo_push(&fifo, &b.here);
    assert_ptr_equal(pop(&fifo), &b);
    assert_null(pop(&fifo));
}

TEST(fifos_do_not_mix)
{
    struct hal_fifo here = {0}, there = {0};
    struct element a = {.name = 1}, b = {.name = 2};
    hal_fifo_push(&here, &a.here);
    hal_fifo_push(&there, &b.there);
    hal_fifo_push(&there, &a.there);
    hal_fifo_push(&here, &b.here);
    assert_ptr_equal(pop(&here), &a);
    assert_ptr_equal(hal_fifo_pop(&there, offsetof(struct element, there)), &b);
    assert_ptr_equal(pop(&here), &b);
    assert_ptr_equal(hal_fifo_pop(&there, offsetof(struct element, there)), &a);
}
