/* The table of the jobs on a node, from an agent's response. */
#include "report/node_jobs.h"

#include "tools/unit.h"

static const struct terminal terminal = { .width = 120 };

static enum err print(const char *text, struct buf *out)
{
    buf_init(out, 65536);
    return node_jobs_print(bytes_of(text), &terminal, out);
}

static void jobs_are_rows(void **state)
{
    (void)state;
    struct buf out;
    assert_int_equal(print("{\"host\": \"n1\", \"time_ns\": 1000000000000, \"jobs\": ["
                           "{\"id\": \"4711\", \"user\": \"anna\", \"start_ns\": 940000000000, \"cores_milli\": 2500, "
                           "\"memory_bytes\": 1073741824, \"source\": \"slurm\", \"cgroup\": \"/slurm\", \"new\": [{}]}, "
                           ""
                           "{\"id\": \"3385\", \"other_id\": \"sEKNKTV3WPV500\", \"source\": \"slurm\"}], "
                           "\"others\": 1200}", &out),
                     OK);
    const char *text = buf_text(&out);
    assert_non_null(strstr(text, "4711"));
    assert_non_null(strstr(text, "anna"));
    assert_non_null(strstr(text, "1m00s"));
    assert_non_null(strstr(text, "2.5"));
    assert_non_null(strstr(text, "1.0G"));
    assert_non_null(strstr(text, "sEKNKTV3WPV500"));
    assert_non_null(strstr(text, "1,200 jobs of other users"));
    buf_clear(&out);
}

static void no_jobs_is_a_sentence(void **state)
{
    (void)state;
    struct buf out;
    assert_int_equal(print("{\"time_ns\": 1, \"jobs\": [], \"others\": 0}", &out), OK);
    assert_string_equal(buf_text(&out), "No jobs on this node.\n");
    buf_clear(&out);
    assert_int_equal(print("{\"jobs\": [], \"others\": 2}", &out), OK);
    assert_non_null(strstr(buf_text(&out), "None of your jobs"));
    buf_clear(&out);
}

static void names_are_escaped(void **state)
{
    (void)state;
    struct buf out;
    assert_int_equal(print("{\"jobs\": [{\"id\": \"1\", \"user\": \"\\u001b[31mred\"}]}", &out), OK);
    assert_null(strchr(buf_text(&out), 0x1b));
    buf_clear(&out);
}

static void invalid_input_is_rejected(void **state)
{
    (void)state;
    static const char *const texts[] = { "", "{}", "[]", "{\"jobs\": 7}", "{\"jobs\": [7]}", "{\"jobs\": [{\"id\": "
                                                                                             "7}]}",
                                         "{\"jobs\": [{\"id\": \"1\"}]", "<html>" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct buf out;
        assert_int_equal(print(texts[i], &out), CORRUPT);
        buf_clear(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_rows),
        cmocka_unit_test(no_jobs_is_a_sentence),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(invalid_input_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
