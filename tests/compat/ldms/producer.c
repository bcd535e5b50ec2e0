/* Names of producers, and which jobs they stand for. */
#include "compat/ldms/producer.h"

#include "tools/unit.h"

#include <stdio.h>

static const struct job ada1 = { .id = "1", .user = "ada" }, ada2 = { .id = "2", .user = "ada" },
                        bob = { .id = "3", .user = "bob" }, nobody = { .id = "4", .user = "" };

/* "NAME=JOBS/USER …" */
static const char *producers_of(const char *template, const struct job *const *jobs, size_t count)
{
    static char text[512];
    struct ldms_producers producers = { 0 };
    size_t used = 0;
    text[0] = '\0';
    for (int round = 0; round < 2; round++) { /* memory is reused */
        assert_int_equal(ldms_producers_make(&producers, template, "n1", jobs, count), OK);
        used = 0;
        for (size_t i = 0; i < producers.count; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%s/%s", i ? ", " : "",
                                     buf_text(&producers.items[i].name), buf_text(&producers.items[i].jobs),
                                     producers.items[i].user ? producers.items[i].user : "-");
    }
    ldms_producers_clear(&producers);
    return text;
}

static void users_are_distinguished(void **state)
{
    (void)state;
    const struct job *const all[] = { &ada1, &bob, &ada2, &nobody };
    assert_string_equal(producers_of("%{user}-%{host}", all, 1), "ada-n1=1/ada");
    assert_string_equal(producers_of("%{user}-%{host}", all, 4), "ada-n1=1 2/ada, bob-n1=3/bob, n1=4/");
    assert_string_equal(producers_of("x%{job}", all, 3), "x1=1/ada, x3=3/bob, x2=2/ada");
}

static void a_host_is_one_producer(void **state)
{
    (void)state;
    const struct job *const all[] = { &ada1, &bob };
    assert_string_equal(producers_of(LDMS_PRODUCER, NULL, 0), "n1=/-");
    assert_string_equal(producers_of(LDMS_PRODUCER, all, 1), "n1=1/ada");
    assert_string_equal(producers_of(LDMS_PRODUCER, all, 2), "n1=1 3/-");
    assert_string_equal(producers_of("%{user}-%{host}", NULL, 0), "n1=/-");
}

static void invalid_templates_are_rejected(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "%{usr}", "%user", "a/b", "a b", "a,b" };
    struct buf error;
    buf_init(&error, 4096);
    assert_int_equal(ldms_producer_check("%{user}-%{host}.%{job}", &error), OK);
    assert_int_equal(error.size, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(ldms_producer_check(bad[i], &error), USAGE);
        assert_true(error.size > 0);
        buf_reset(&error);
    }
    buf_clear(&error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_are_distinguished),
        cmocka_unit_test(a_host_is_one_producer),
        cmocka_unit_test(invalid_templates_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
