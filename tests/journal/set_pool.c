/* The pool of sets: one copy for all, also when many threads take and release sets. */
#include "journal/set_pool.h"

#include "tools/unit.h"

#include <pthread.h>

static const struct metric metrics[] = { { "a", "1", COUNTER, U64, "help", NULL }, { "b", "B", GAUGE, F64, NULL, "B" } };
static const struct set first = { "first", metrics, 2, "cpu" }, second = { "first", metrics, 2, NULL },
                        third = { "third", metrics + 1, 1, NULL };

static const struct set *take(const struct set *set)
{
    const struct set *kept;
    struct set *copy = set_copy(set);
    assert_non_null(copy);
    assert_int_equal(set_pool_take(copy, &kept), OK);
    assert_true(set_equal(kept, set));
    return kept;
}

static void equal_sets_share_one_copy(void **state)
{
    (void)state;
    const struct set *a = take(&first), *b = take(&first), *c = take(&second);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    assert_int_equal(set_pool_count(), 2);
    set_pool_release(a);
    assert_string_equal(b->metrics[1].source, "B");
    assert_null(b->metrics[1].help);
    set_pool_release(b);
    assert_int_equal(set_pool_count(), 1);
    set_pool_release(c);
    assert_int_equal(set_pool_count(), 0);
}

static void sets_that_differ_in_any_string_are_separate(void **state)
{
    (void)state;
    struct metric changed[2] = { metrics[0], metrics[1] };
    struct set other = { "first", changed, 2, "cpu" };
    changed[1].source = "C";
    assert_false(set_equal(&first, &other));
    changed[1].source = "B";
    changed[0].help = "";
    assert_false(set_equal(&first, &other));
    changed[0].help = "help";
    changed[0].kind = GAUGE;
    assert_false(set_equal(&first, &other));
    changed[0].kind = COUNTER;
    assert_true(set_equal(&first, &other));
}

static void *take_and_release(void *unused)
{
    const struct set *sets[] = { &first, &second, &third };
    for (int i = 0; i < 3000; i++) {
        const struct set *a = take(sets[i % 3]), *b = take(sets[(i + 1) % 3]);
        set_pool_release(a);
        set_pool_release(b);
    }
    return unused;
}

static void threads_share_the_pool(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_release, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(set_pool_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_sets_share_one_copy),
        cmocka_unit_test(sets_that_differ_in_any_string_are_separate),
        cmocka_unit_test(threads_share_the_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
