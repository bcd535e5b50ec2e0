/* A response of an agent at /sets, and exactly what sonde ls prints for it. */
#include "tools/unit.h"

#include "report/ls.h"

static const char answer[] =
    "{\"host\": \"n1\", \"uid\": 0, \"gid\": 4, \"schemas\": ["
    "{\"name\": \"meminfo\", \"size\": 2, \"metrics\": [{\"name\": \"mem_total\", \"source\": \"MemTotal\", \"unit\": "
    "\"B\", "
    "\"kind\": \"gauge\", \"type\": \"u64\", \"help\": \"memory\"}, {\"name\": \"x\", \"unit\": \"1\", \"kind\": "
    "\"gauge\", "
    "\"type\": \"f64\", \"help\": \"x\"}]},"
    "{\"name\": \"netdev\", \"size\": 1, \"instances\": \"device\", \"metrics\": [{\"name\": \"delta\", \"unit\": \"1\", "
    ""
    "\"kind\": \"gauge\", \"type\": \"i64\", \"help\": \"d\"}]}],"
    "\"sets\": [{\"schema\": 0, \"instance\": \"\", \"time_ns\": 1794767347001561000, \"first_ns\": 1, \"updates\": 4, "
    "\"period_ns\": 1000000000, \"duration_ns\": 26999, \"values\": [2048, null]},"
    "{\"schema\": 1, \"instance\": \"eth0\\u001b\", \"job\": \"4711\", \"user\": \"ada\", \"uid\": 65534, \"time_ns\": 5, "
    ""
    "\"values\": [-3]}]}";

static struct sets_answer sets;
static struct buf out;

static int begin(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    buf_init(&out, 1u << 20);
    assert_int_equal(sets_client_read(&sets, answer, sizeof answer - 1), OK);
    return 0;
}

static int end(void **state)
{
    (void)state;
    buf_clear(&out);
    sets_client_clear(&sets);
    return 0;
}

static void names(void **state)
{
    (void)state;
    assert_int_equal(sets.count, 2);
    ls_name(&out, &sets, &sets.items[0], LS_OURS);
    buf_add_char(&out, ' ');
    ls_name(&out, &sets, &sets.items[1], LS_LDMS);
    assert_string_equal(buf_text(&out), "n1/meminfo n1/4711/procnetdev2/eth0\\x1b"); /* escapes are made visible */
}

static void own_values(void **state)
{
    (void)state;
    ls_values(&out, &sets, &sets.items[0], LS_OURS);
    assert_string_equal(buf_text(&out),
                        "n1/meminfo: consistent, last update: Sun Nov 15 18:29:07 2026 +0000 [1561us] \n"
                        "D u64          mem_total                                  2048 B\n"
                        "D d64          x                                          -\n\n");
}

static void ldms_values(void **state)
{
    (void)state;
    ls_values(&out, &sets, &sets.items[0], LS_LDMS);
    assert_non_null(strstr(buf_text(&out), "\nM u64          component_id                               1\n"
                                           "D u64          job_id                                     0\n"
                                           "D u64          app_id                                     0\n"
                                           "D u64          MemTotal                                   2 kB\n"));
    buf_reset(&out);
    ls_values(&out, &sets, &sets.items[1], LS_LDMS);
    assert_non_null(strstr(buf_text(&out), "D u64          job_id                                     4711\n"));
    assert_non_null(strstr(buf_text(&out), "D s64          delta                                      -3\n"));
}

/* The kernel's sectors and milliseconds under LDMS's names, bytes and microseconds under ours. */
static void ldms_disks(void **state)
{
    (void)state;
    static const struct metric metrics[] = { { "read", "B", COUNTER, U64, "", "sect_read" },
                                             { "read_time", "us", COUNTER, U64, "", "time_read" },
                                             { "reads", "1", COUNTER, U64, "", "reads_comp" } };
    static const struct set disks = { "diskstats", metrics, 3, "device" };
    union value values[] = { { .u64 = 4096 }, { .u64 = 7000 }, { .u64 = 5 } };
    uint8_t known[] = { 1, 1, 1 };
    const struct sets_item item = { .schema = &disks, .instance = "sda", .values = values, .known = known };
    ls_values(&out, &sets, &item, LS_LDMS);
    assert_non_null(strstr(buf_text(&out), "D u64          sect_read                                  8 sectors\n"
                                           "D u64          time_read                                  7 msec\n"
                                           "D u64          reads_comp                                 5\n"));
    buf_reset(&out);
    ls_values(&out, &sets, &item, LS_OURS);
    assert_non_null(strstr(buf_text(&out), "D u64          read                                       4096 B\n"));
}

static void chosen_sets_as_json(void **state)
{
    (void)state;
    const bool one[] = { false, true };
    struct sets_answer again;
    ls_json(&out, &sets, one);
    assert_null(strstr(buf_text(&out), "meminfo"));
    assert_int_equal(sets_client_read(&again, buf_text(&out), out.size), OK);
    assert_int_equal(again.count, 1);
    assert_string_equal(again.host, "n1");
    assert_string_equal(again.items[0].schema->name, "netdev");
    assert_string_equal(again.items[0].schema->instances, "device");
    assert_string_equal(again.items[0].job, "4711");
    assert_string_equal(again.items[0].user, "ada");
    assert_int_equal(again.items[0].uid, 65534);
    assert_int_equal(again.items[0].values[0].i64, -3);
    sets_client_clear(&again);
}

static void table_layout(void **state)
{
    (void)state;
    const bool all[] = { true, true }, one[] = { false, true };
    ls_table(&out, &sets, all, LS_OURS);
    assert_non_null(strstr(buf_text(&out), "\nmeminfo        n1/meminfo                   CR "));
    assert_non_null(strstr(buf_text(&out), "      0      4 -r--r--r-- 1794767347.001561          0.000026 \"updates\"=\"4\""));
    assert_non_null(strstr(buf_text(&out), "  65534  65534 -r-------- "));
    assert_non_null(strstr(buf_text(&out), " \"user\"=\"ada\"\n"));
    assert_non_null(strstr(buf_text(&out), "\nTotal Sets: 2, Meta Data (kB): "));
    buf_reset(&out);
    ls_table(&out, &sets, one, LS_OURS);
    assert_non_null(strstr(buf_text(&out), "\nTotal Sets: 1, "));
    buf_reset(&out);
    ls_table(&out, &sets, all, LS_LDMS);
    assert_non_null(strstr(buf_text(&out), "          0.000026 \"updt_hint_us\"=\"1000000:0\"\n"));
    sets.items[0].period_ns = 499986123; /* measured by a collector */
    buf_reset(&out);
    ls_table(&out, &sets, all, LS_LDMS);
    assert_non_null(strstr(buf_text(&out), "\"updt_hint_us\"=\"500000:0\"\n"));
}

static void producers(void **state)
{
    (void)state;
    static const char text[] = "{\"host\": \"c2\", \"producer\": \"%{user}-%{host}\", \"schemas\": ["
        "{\"name\": \"meminfo\", \"size\": 0, \"metrics\": []}, {\"name\": \"self\", \"size\": 1, \"metrics\": [{\"name\": "
        "\"pid\", \"unit\": \"1\", \"kind\": \"gauge\", \"type\": \"u64\", \"help\": \"\"}]}], "
        "\"sets\": [{\"schema\": 0, \"instance\": \"\", \"values\": []}, {\"schema\": 0, \"instance\": \"\", \"host\": \"c3\"}, "
        "{\"schema\": 1, \"instance\": \"\", \"values\": [77]}, "
        "{\"schema\": 0, \"instance\": \"\", \"job\": \"3\", \"user\": \"userB\"}], "
        "\"jobs\": [{\"job\": \"1\", \"user\": \"userA\"}, {\"job\": \"3\", \"user\": \"userB\"}, {\"job\": \"4\", \"user\": "
        "\"userA\"}, {\"host\": \"c4\", \"job\": \"5\", \"user\": \"userC\"}]}";
    struct sets_answer answer_of_c2;
    assert_int_equal(sets_client_read(&answer_of_c2, text, sizeof text - 1), OK);
    assert_int_equal(ls_convert_ldms(&answer_of_c2), OK);
    for (size_t i = 0; i < answer_of_c2.count; i++) {
        ls_name(&out, &answer_of_c2, &answer_of_c2.items[i], LS_LDMS);
        buf_add_char(&out, '\n');
    }
    assert_string_equal(buf_text(&out), "userA-c2/meminfo\nuserB-c2/meminfo\nc3/meminfo\nuserA-c2/dstat\nuserB-c2/dstat\n"
                                        "userB-c2/3/meminfo\n");
    buf_reset(&out);
    ls_values(&out, &answer_of_c2, &answer_of_c2.items[3], LS_LDMS);
    assert_non_null(strstr(buf_text(&out), "D u64          job_id                                     1 4\n"));
    assert_non_null(strstr(buf_text(&out), "D u64          pid                                        77\n"));
    sets_client_clear(&answer_of_c2);
}

static size_t column_of(const char *text, const char *line, const char *word)
{
    const char *begin = strstr(text, line);
    assert_non_null(begin);
    const char *at = strstr(begin, word);
    assert_non_null(at);
    return (size_t)(at - begin);
}

static void columns_are_as_wide_as_their_longest_name(void **state)
{
    (void)state;
    static const char text[] = "{\"host\": \"a-node-with-a-long-name\", \"schemas\": ["
        "{\"name\": \"interrupts_errors\", \"size\": 0, \"metrics\": []}, {\"name\": \"stat\", \"size\": 0, \"metrics\": "
        "[]}], "
        "\"sets\": [{\"schema\": 0, \"instance\": \"\"}, {\"schema\": 1, \"instance\": \"\"}]}";
    const bool all[] = { true, true }, one[] = { false, true };
    struct sets_answer wide;
    assert_int_equal(sets_client_read(&wide, text, sizeof text - 1), OK);
    ls_table(&out, &wide, all, LS_OURS);
    size_t column = column_of(buf_text(&out), "interrupts_errors", " CR ");
    assert_int_equal(column_of(buf_text(&out), "\nstat", " CR "), column + 1); /* the position includes the line feed */
    assert_int_equal(column_of(buf_text(&out), "Schema", "Flags"), column - 2);
    buf_reset(&out);
    ls_table(&out, &wide, one, LS_OURS); /* names that are not shown take no columns */
    assert_true(column_of(buf_text(&out), "\nstat", " CR ") < column);
    sets_client_clear(&wide);
}

static void invalid_responses_are_rejected(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "[]", "{\"sets\": [{\"instance\": \"\"}]}", "{\"sets\": [{\"schema\": 0}]}",
        "{\"schemas\": [{\"name\": \"a\", \"metrics\": []}], \"sets\": [{\"schema\": 0, \"values\": [1]}]}",
        "{\"schemas\": [{\"name\": \"a\", \"size\": 9}], \"sets\": [{\"schema\": 0, \"values\": [1]}]}",
    };
    struct sets_answer other;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (sets_client_read(&other, bad[i], strlen(bad[i])) != CORRUPT)
            fail_msg("%s", bad[i]);
    assert_int_equal(sets_client_read(&other, "{}", 2), OK);
    sets_client_clear(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names, begin, end),
        cmocka_unit_test_setup_teardown(own_values, begin, end),
        cmocka_unit_test_setup_teardown(ldms_values, begin, end),
        cmocka_unit_test_setup_teardown(ldms_disks, begin, end),
        cmocka_unit_test_setup_teardown(chosen_sets_as_json, begin, end),
        cmocka_unit_test_setup_teardown(table_layout, begin, end),
        cmocka_unit_test_setup_teardown(producers, begin, end),
        cmocka_unit_test_setup_teardown(columns_are_as_wide_as_their_longest_name, begin, end),
        cmocka_unit_test(invalid_responses_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
