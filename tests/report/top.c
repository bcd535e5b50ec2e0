/* The page of `sonde top`, from two responses of GET /jobs. */
#include "report/top.h"

#include "tools/unit.h"

#define JOB(id, cpu, cpu_time) \
    "{\"id\": \"" id "\", \"source\": \"told\", \"user\": \"ada\", \"start_ns\": 1000000000, \"cores_milli\": 2000, " \
    "\"memory_bytes\": 2147483648, \"figures\": {\"cpu_us\": [" cpu ", " cpu_time "], \"memory_bytes\": [1073741824, 5], " \
    "\"read_bytes\": [" cpu ", " cpu_time "], \"unheard_of\": [1, 2]}}"
#define ANSWER(jobs) "{\"host\": \"n1\", \"time_ns\": 61000000000, \"jobs\": [" jobs "], \"others\": 2}"

static struct jobs_answer read(const char *text)
{
    struct jobs_answer now;
    assert_int_equal(jobs_client_read(&now, text, strlen(text)), OK);
    return now;
}

static const char *page_of(const struct jobs_answer *now, const struct top_view *view, size_t width)
{
    static struct buf out;
    struct terminal terminal = { .width = width };
    buf_clear(&out);
    buf_init(&out, 1u << 20);
    top_print(&out, now, view, &terminal);
    return buf_text(&out);
}

static void the_page(void **state)
{
    (void)state;
    struct jobs_answer first = read(ANSWER(JOB("1", "0", "1000000000") "," JOB("20", "0", "1000000000")));
    struct jobs_answer second = read(ANSWER(JOB("1", "500000", "2000000000") "," JOB("20", "1500000", "2000000000")));
    jobs_client_set_rates(&second, &first);
    top_sort(&second, TOP_CPU, false);
    struct top_view view = { .sort = TOP_CPU, .is_batch = true };
    assert_string_equal(page_of(&second, &view, 100),
                        "n1\n"
                        "2 jobs and 2 of other users, by cpu\n"
                        "\n"
                        "JOB USER  CORES CPU       MEM   OF READ/s WRITE/s TASKS  TIME\n"
                        "20  ada  1.50/2 ######.. 1.0G 2.0G   1.4M       -     - 1m00s\n"
                        "1   ada  0.50/2 ##...... 1.0G 2.0G   488K       -     - 1m00s\n");
    top_sort(&second, TOP_CPU, true);
    assert_string_equal(second.jobs[0].id, "1");
    top_sort(&second, TOP_IO, false);
    assert_string_equal(second.jobs[0].id, "20");
    top_sort(&second, TOP_TIME, false); /* equal: by id */
    assert_string_equal(second.jobs[0].id, "1");
    view.rows = 1;
    view.first = 1;
    view.error = "no agent";
    const char *page = page_of(&second, &view, 100);
    assert_non_null(strstr(page, "\nno agent\n"));
    assert_null(strstr(page, "\n1 "));
    assert_non_null(strstr(page, "\n20 "));
    jobs_client_clear(&first);
    jobs_client_clear(&second);
    page_of(&(struct jobs_answer){ 0 }, &view, 10);
}

static void keys_are_explained_if_they_fit(void **state)
{
    (void)state;
    struct jobs_answer now = read(ANSWER(JOB("1", "0", "1000000000")));
    struct top_view view = { .sort = TOP_MEMORY };
    now.others = 0;
    assert_non_null(strstr(page_of(&now, &view, 80), ", by memory   c cpu  m mem  i io  t time  p power  r reverse  q quit\n"));
    assert_non_null(strstr(page_of(&now, &view, 60), ", by memory   c m i t p r q\n"));
    now.others = 1234567;
    assert_non_null(strstr(page_of(&now, &view, 80), ", by memory   c m i t p r q\n"));
    jobs_client_clear(&now);
}

static void keys(void **state)
{
    (void)state;
    enum top_sort sort = TOP_CPU;
    assert_true(top_key('m', &sort));
    assert_int_equal(sort, TOP_MEMORY);
    assert_true(top_key('p', &sort));
    assert_int_equal(sort, TOP_POWER);
    assert_false(top_key('x', &sort));
    assert_int_equal(sort, TOP_POWER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page),
        cmocka_unit_test(keys),
        cmocka_unit_test(keys_are_explained_if_they_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
