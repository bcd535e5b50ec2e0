/* Sequence gaps of streams, over a restart and nested. */
#include "tools/unit.h"

#include "collector/seq_gaps.h"
#include "collector/known_hosts.h"
#include "tools/temp.h"

static char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];

static int begin(void **state)
{
    (void)state;
    temp_dir(dir);
    temp_join(path, dir, "holes");
    return 0;
}

static int end(void **state)
{
    (void)state;
    temp_remove(dir);
    return 0;
}

static void gaps_survive_a_restart(void **state)
{
    (void)state;
    struct seq_gaps gaps;
    assert_int_equal(seq_gaps_open(&gaps, path), OK);
    assert_int_equal(seq_gaps_stream(&gaps, "n1", 7, 5), 7);
    assert_int_equal(seq_gaps_add(&gaps, "n1", 7, 5, 10), OK);
    assert_int_equal(seq_gaps_add(&gaps, "n2", 7, 6, 6), OK); /* another host with the same stream id */
    assert_int_equal(seq_gaps_add(&gaps, "n1", 3, 1, 4), OK);
    uint64_t first = seq_gaps_stream(&gaps, "n1", 7, 5), other = seq_gaps_stream(&gaps, "n2", 7, 6);
    assert_true(first != 7 && other != 7 && first != other);
    assert_int_equal(seq_gaps_stream(&gaps, "n1", 7, 4), 7);
    assert_int_equal(seq_gaps_stream(&gaps, "n1", 7, 11), 7);
    assert_true(seq_gaps_stream(&gaps, "n1", 7, 10) == first);
    assert_int_equal(seq_gaps_add(&gaps, "n1", first, 5, 6), OK); /* skipped while the gap was filled */
    uint64_t inner = seq_gaps_stream(&gaps, "n1", 7, 6);
    assert_true(inner != first && inner != 7);
    assert_true(seq_gaps_stream(&gaps, "n1", 7, 7) == first);
    assert_int_equal(seq_gaps_sync(&gaps), OK);
    seq_gaps_close(&gaps);
    assert_int_equal(seq_gaps_open(&gaps, path), OK);
    assert_true(seq_gaps_stream(&gaps, "n1", 7, 6) == inner);
    assert_true(seq_gaps_stream(&gaps, "n1", 7, 9) == first);
    assert_int_equal(gaps.count, 4);
    seq_gaps_close(&gaps);
}

static void truncated_line_is_ignored(void **state)
{
    (void)state;
    struct seq_gaps gaps;
    static const char text[] = "7 5 10 n1\nrubbish\n8 2 1 n1\n\n9 1 2 n";
    temp_write(path, text, sizeof text - 1);
    assert_int_equal(seq_gaps_open(&gaps, path), OK);
    assert_int_equal(gaps.count, 1);
    assert_int_equal(seq_gaps_add(&gaps, "n3", 4, 1, 1), OK);
    seq_gaps_close(&gaps);
    assert_int_equal(seq_gaps_open(&gaps, path), OK);
    assert_int_equal(gaps.count, 2);
    seq_gaps_close(&gaps);
}

static void known_hosts_survive_a_restart(void **state)
{
    (void)state;
    struct known_hosts known_hosts = { 0 };
    struct known_host *known_host;
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(known_hosts_get(&known_hosts, bytes_of(name), &known_host), OK);
        known_host->first_ns = 5;
        known_host->last_received_ns = 100 + (uint64_t)i;
        known_host->missing = 3;
    }
    assert_int_equal(known_hosts.map.count, 1000);
    assert_int_equal(known_hosts_save(&known_hosts, path), OK);
    known_hosts_clear(&known_hosts);
    assert_int_equal(known_hosts_load(&known_hosts, path), OK);
    assert_int_equal(known_hosts.map.count, 1000);
    known_host = known_hosts_find(&known_hosts, bytes_of("n42"));
    assert_int_equal(known_host->last_received_ns, 142);
    assert_int_equal(known_host->missing, 3);
    assert_true(known_host_is_silent(known_host, 142 + KNOWN_HOST_SILENT_NS + 1));
    assert_false(known_host_is_silent(known_host, 142 + KNOWN_HOST_SILENT_NS));
    known_host->interval_ns = KNOWN_HOST_SILENT_NS;
    assert_false(known_host_is_silent(known_host, 142 + 2 * KNOWN_HOST_SILENT_NS));
    struct known_host **sorted = known_hosts_sorted(&known_hosts);
    assert_string_equal(sorted[1]->host, "n1");
    assert_string_equal(sorted[2]->host, "n10");
    free(sorted);
    known_hosts_clear(&known_hosts);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(gaps_survive_a_restart), TEST(truncated_line_is_ignored), TEST(known_hosts_survive_a_restart),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
