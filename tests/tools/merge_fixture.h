/* Setup shared by the tests of merge: an empty spool with a run record, and the run merged from it. */
#ifndef SONDE_TESTS_TOOLS_MERGE_FIXTURE_H
#define SONDE_TESTS_TOOLS_MERGE_FIXTURE_H

#include "tools/spool_maker.h"
#include "tools/unit.h"

struct fixture {
    struct spool_maker spool;
    struct merged merged;
};

static inline int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    spool_maker_init(&f->spool);
    *state = f;
    return f == NULL;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;
    merge_clear(&f->merged);
    spool_maker_clear(&f->spool);
    free(f);
    return 0;
}

static inline const struct run *merge(struct fixture *f)
{
    merge_clear(&f->merged);
    spool_merge(&f->spool, &f->merged);
    return &f->merged.run;
}

/* A row of the table of tests. */
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
