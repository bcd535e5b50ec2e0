/* The page of a collector's status: no line is too wide, and the important facts are there. */
#include "tools/unit.h"

#include "report/collector_status.h"

static const char answer[] =
    "{\"host\": \"login\", \"time_ns\": 1794767347000000000, \"since_ns\": 1794767340000000000, \"listens\": true, "
    "\"encrypted\": true, "
    "\"totals\": {\"connections\": 1, \"messages\": 24, \"bytes\": 18637, \"records\": 21, \"samples\": 393, \"values\": "
    "10257, "
    "\"doubles\": 2}, "
    "\"journal\": {\"dir\": \"/a/folder/with/a/name/that/is/longer/than/one/would/think/var/lib/sonde/journal\", "
    "\"bytes\": 41984, \"bytes_max\": 1073741824, \"is_full\": true, \"lost_records\": 7}, "
    "\"stages\": {\"read\": {\"count\": 1, \"ns\": 27100}, \"append\": {\"count\": 1, \"ns\": 12000}, "
    "\"sync\": {\"count\": 1, \"ns\": 1900000, \"longest_ns\": 8500000}, "
    "\"loop\": {\"count\": 1, \"ns\": 58000, \"longest_ns\": 268000}}, "
    "\"sinks\": [{\"sink\": \"csv:dir=/var/log/sonde\", \"state\": \"writes\", \"waiting_bytes\": 2500, \"samples\": 393, "
    ""
    "\"samples_per_s\": 5.2, \"batches\": 1, \"write_ns\": 248000, \"success_ns\": 1794767346000000000}, "
    "{\"sink\": \"kafka:brokers=a\", \"state\": \"fails\", \"why\": \"no answer from http://a:8086: refused\", "
    "\"samples_per_s\": 12345.6, "
    "\"failures\": 3}], "
    "\"hosts\": [{\"host\": \"node1\", \"state\": \"silent\", \"records\": 21, \"bytes\": 40000, \"missing\": 1, \"lost\": "
    "0, "
    "\"heard_ns\": 1794767300000000000, \"sample_ns\": 1794767300000000000, \"lag_ns\": 47000000000}]}";

static void nothing_is_wider_than_80_columns(void **state)
{
    (void)state;
    struct buf out;
    const struct terminal terminal = { .width = 80 };
    setenv("TZ", "UTC", 1);
    buf_init(&out, 1u << 20);
    assert_int_equal(collector_status_print(&out, &terminal, answer, sizeof answer - 1), OK);
    const char *text = buf_text(&out);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    assert_non_null(strstr(text, " 1 connection\n"));
    assert_non_null(strstr(text, "the disk is full"));
    assert_non_null(strstr(text, "7 records were dropped"));
    assert_non_null(strstr(text, " 5.2/s "));
    assert_non_null(strstr(text, " 12,346/s "));
    assert_non_null(strstr(text, " PENDING "));
    assert_non_null(strstr(text, " writing "));
    assert_non_null(strstr(text, " failing "));
    assert_non_null(strstr(text, " no answer from"));
    assert_non_null(strstr(text, "1 of 1 hosts are silent."));
    buf_clear(&out);
}

static void invalid_responses_are_rejected(void **state)
{
    (void)state;
    struct buf out;
    const struct terminal terminal = { .width = 80 };
    buf_init(&out, 1u << 20);
    for (size_t size = 0; size < sizeof answer - 1; size += 7)
        assert_int_equal(collector_status_print(&out, &terminal, answer, size), CORRUPT);
    buf_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_wider_than_80_columns),
        cmocka_unit_test(invalid_responses_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
