/* Instances that come and go: found again, made, their places used anew. */
#include "samplers/instances.h"

#include "tools/unit.h"

static struct instance *find(struct instances *instances, const char *name)
{
    return instances_find(instances, bytes_of(name));
}

static void one_is_found_again_in_any_order(void **state)
{
    (void)state;
    struct instances instances;
    instances_init(&instances, 2, 10);
    instances_begin(&instances);
    struct instance *a = find(&instances, "a"), *ab = find(&instances, "ab");
    assert_true(a != ab && a->is_new && a->is_wanted);
    assert_int_equal(a->last[0] + a->last[1], 0);
    a->last[1] = 7;
    a->is_new = false;
    instances_begin(&instances);
    assert_ptr_equal(find(&instances, "ab"), ab);
    assert_ptr_equal(find(&instances, "a"), a);
    assert_int_equal(a->last[1], 7);
    assert_false(a->is_new);
    instances_clear(&instances);
}

static void there_is_a_limit_and_places_are_used_again(void **state)
{
    (void)state;
    struct instances instances;
    instances_init(&instances, 1, 2);
    instances_begin(&instances);
    struct instance *a = find(&instances, "a");
    a->last[0] = 5;
    assert_non_null(find(&instances, "b"));
    assert_null(find(&instances, "c"));
    for (int i = 0; i < 2; i++) {
        instances_begin(&instances);
        assert_non_null(find(&instances, "b"));
        assert_null(find(&instances, "c")); /* a may be back: samples of it may still be on their way */
    }
    instances_begin(&instances);
    assert_non_null(find(&instances, "b"));
    struct instance *c = find(&instances, "c");
    assert_ptr_equal(c, a);
    assert_string_equal(c->name, "c");
    assert_true(c->is_new);
    assert_int_equal(c->last[0], 0);
    instances_clear(&instances);
}

static void what_is_no_name_is_no_instance(void **state)
{
    (void)state;
    char name[INSTANCE_NAME_MAX + 1];
    struct instances instances;
    instances_init(&instances, 0, 10);
    memset(name, 'x', sizeof name);
    assert_null(find(&instances, ""));
    assert_null(instances_find(&instances, (struct bytes){ name, INSTANCE_NAME_MAX }));
    assert_non_null(instances_find(&instances, (struct bytes){ name, INSTANCE_NAME_MAX - 1 }));
    instances_clear(&instances);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_found_again_in_any_order),
        cmocka_unit_test(there_is_a_limit_and_places_are_used_again),
        cmocka_unit_test(what_is_no_name_is_no_instance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
