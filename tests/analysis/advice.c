/* The order of advice, the form of every sentence, and that docs/advice.md lists every rule. */
#include "analysis/advice.h"

#include "analysis/plain.h"
#include "tools/unit.h"

static struct facts facts;
static struct advice_list list;

/* Everything wrong at once, so that nearly every rule applies. */
static void spoil(void)
{
    plain_init(&facts);
    facts.job.exit_code = 1;
    facts.job.ended = false;
    struct summary *summary = &facts.job.summary;
    summary->killed = summary->crashed = summary->running = 2;
    summary->rss_peak_bytes = (uint64_t)(31 * GIB);
    summary->short_processes = 5000;
    summary->short_wall_ns = 60000000000;
    summary->threads = 50000;
    summary->threads_peak = 2000;
    plain_cpu(&facts, 60, 60);
    plain_count(&facts, COUNTER_time_waiting, 900e9);
    plain_count(&facts, COUNTER_time_oncpu, 120e9);
    plain_count(&facts, COUNTER_delayacct_blkio_time, 900e6);
    plain_count(&facts, COUNTER_majflt, 1e6);
    plain_count(&facts, COUNTER_syscw, 1e7);
    plain_count(&facts, COUNTER_wchar, 1e7);
    plain_count(&facts, COUNTER_rchar, 1);
    plain_count(&facts, COUNTER_invol_ctxsw, 1e6);
    plain_timeline(&facts, TIMELINE_CPU, 0, 0.5, 1);
    advice_find(&list, &facts);
}

static void most_severe_first(void **state)
{
    (void)state;
    spoil();
    assert_true(list.count > ADVICE_SHOWN);
    assert_int_equal(list.items[0].severity, SEVERITY_PROBLEM);
    for (size_t i = 1; i < list.count; i++) {
        const struct advice *before = &list.items[i - 1], *after = &list.items[i];
        assert_true(before->severity >= after->severity);
        if (before->severity == after->severity)
            assert_true(before->weight >= after->weight);
    }
}

static void each_has_a_sentence_and_a_fix(void **state)
{
    (void)state;
    spoil();
    for (size_t i = 0; i < list.count; i++) {
        const struct advice *advice = &list.items[i];
        size_t sentence = strlen(advice->sentence), fix = strlen(advice->fix);
        assert_in_range(sentence, 10, sizeof advice->sentence - 2);
        assert_in_range(fix, 10, sizeof advice->fix - 2);
        assert_int_equal(advice->sentence[sentence - 1], '.');
        assert_int_equal(advice->fix[fix - 1], '.');
        assert_null(strstr(advice->sentence, "nan"));
        assert_null(strstr(advice->sentence, "inf"));
        assert_true(advice->weight >= 0 && advice->weight <= 1);
    }
}

static void unless_names_an_earlier_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < rules_count; i++) {
        bool found = !rules_all[i]->unless;
        for (size_t k = 0; k < i && !found; k++)
            found = strcmp(rules_all[k]->name, rules_all[i]->unless) == 0;
        assert_true(found);
    }
}

static void rules_need_their_data(void **state)
{
    (void)state;
    plain_init(&facts);
    for (size_t i = 0; i < rules_count; i++) {
        const struct rule *rule = rules_all[i];
        assert_true(advice_can_judge(rule, &facts));
        uint64_t known = facts.job.summary.sum.known;
        facts.job.summary.sum.known = 0;
        assert_int_equal(advice_can_judge(rule, &facts), rule->counters == 0);
        facts.job.summary.sum.known = known;
        uint64_t end_ns = facts.job.end_ns;
        facts.job.end_ns = 0;
        assert_int_equal(advice_can_judge(rule, &facts), !(rule->needs & NEED_DURATION));
        facts.job.end_ns = end_ns;
    }
}

static void docs_list_every_rule(void **state)
{
    (void)state;
    static char page[100000];
    char path[1024];
    snprintf(path, sizeof path, "%s/docs/advice.md", getenv("SOURCE"));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(page, 1, sizeof page - 1, file) > 0);
    fclose(file);
    for (size_t i = 0; i < rules_count; i++) {
        char row[64];
        snprintf(row, sizeof row, "| `%s` |", rules_all[i]->name);
        if (!strstr(page, row))
            fail_msg("docs/advice.md has no row for %s", rules_all[i]->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(most_severe_first),
        cmocka_unit_test(each_has_a_sentence_and_a_fix),
        cmocka_unit_test(unless_names_an_earlier_rule),
        cmocka_unit_test(rules_need_their_data),
        cmocka_unit_test(docs_list_every_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
