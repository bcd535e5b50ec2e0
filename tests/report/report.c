/* Compares the page and the JSON of fixed jobs to the files in tests/report/golden. After an intended change rewrite
 * them with SONDE_GOLDEN=write ./check test report/report, and review the difference before you commit it. */
#include "report/report.h"

#include "base/utf8.h"
#include "analysis/metrics_fixture.h"
#include "report/jobs.h"
#include "tools/golden.h"

#include <time.h>

static struct facts facts;
static struct report report;
static struct buf out;

static const struct terminal utf8 = { .utf8 = true, .width = 80 };
static const struct terminal ascii = { .width = 80 };
static const struct terminal coloured = { .is_terminal = true, .colour = true, .utf8 = true, .width = 200 };

static int begin(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    buf_init(&out, 16u << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    buf_clear(&out);
    return 0;
}

static void print(void (*job)(struct facts *), const struct terminal *terminal)
{
    buf_reset(&out);
    job(&facts);
    report_init(&report, &facts);
    if (terminal)
        report_print(&report, &out, terminal);
    else
        report_json(&report, &out);
    assert_int_equal(buf_err(&out), OK);
}

/* Every line is valid UTF-8, at most width columns wide and without trailing spaces; colours do not count. */
static void fits(size_t width, bool is_ascii)
{
    for (const char *line = out.data; *line;) {
        const char *stop = strchr(line, '\n');
        assert_non_null(stop);
        size_t columns = 0;
        for (const char *at = line; at < stop;) {
            if (*at == '\033') {
                at = strchr(at, 'm') + 1;
                continue;
            }
            uint32_t code;
            size_t size = utf8_next((struct bytes){ at, (size_t)(stop - at) }, &code);
            assert_true(size > 0);
            assert_true(code >= 0x20 && code != 0x7f && !(is_ascii && code > 0x7e));
            columns += utf8_width(code);
            at += size;
        }
        if (columns > width)
            fail_msg("%zu columns: %.*s", columns, (int)(stop - line), line);
        line = stop + 1;
    }
}

static void a_good_job(void **state)
{
    (void)state;
    print(jobs_good, &utf8);
    assert_golden("report/golden/good.txt", out.data);
    print(jobs_good, &ascii);
    assert_golden("report/golden/good-ascii.txt", out.data);
    fits(80, true);
    print(jobs_good, NULL);
    assert_golden("report/golden/good.json", out.data);
}

static void a_bad_job(void **state)
{
    (void)state;
    print(jobs_bad, &utf8);
    assert_golden("report/golden/bad.txt", out.data);
    print(jobs_bad, &ascii);
    fits(80, true);
    print(jobs_bad, NULL);
    assert_golden("report/golden/bad.json", out.data);
}

static void a_job_without_data(void **state)
{
    (void)state;
    print(jobs_missing, &utf8);
    assert_golden("report/golden/missing.txt", out.data);
    print(jobs_missing, NULL);
    assert_golden("report/golden/missing.json", out.data);
    assert_null(strstr(out.data, "null"));
}

static void colour_does_not_change_text(void **state)
{
    (void)state;
    print(jobs_bad, &coloured);
    fits(80, false);
    assert_non_null(strstr(out.data, "\033[31m"));
    size_t kept = 0;
    for (size_t i = 0; i < out.size; i++) {
        if (out.data[i] == '\033')
            i = (size_t)(strchr(out.data + i, 'm') - out.data);
        else
            out.data[kept++] = out.data[i];
    }
    out.data[kept] = '\0';
    out.size = kept;
    assert_golden("report/golden/bad.txt", out.data);
}

static void nothing_exceeds_the_width(void **state)
{
    (void)state;
    static void (*const jobs[])(struct facts *) = { jobs_good, jobs_bad, jobs_missing, jobs_hostile };
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        print(jobs[i], &utf8);
        fits(80, false);
        print(jobs[i], &ascii);
        fits(80, true);
        print(jobs[i], &coloured);
        fits(80, false);
        for (size_t width = 40; width < 80; width++) {
            print(jobs[i], &(struct terminal){ .utf8 = width % 2, .width = width });
            fits(width, width % 2 == 0);
        }
    }
}

/* Reproducible pseudo-random numbers. */
static uint64_t dice(void)
{
    static uint64_t seed = 42;
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return seed >> 11;
}

static void jobs_random(struct facts *random)
{
    jobs_bad(random);
    for (int i = 0; i < COUNTERS_SIZE; i++)
        counters_set(&random->job.summary.sum, (enum counter)i, dice() >> dice() % 53);
    random->job.summary.sum.known = dice();
    random->job.summary.total.known = dice();
    random->job.end_ns = random->job.start_ns + (dice() >> dice() % 53);
    random->timeline.end_ns = random->job.end_ns;
    random->job.cores_allowed_milli = dice() % 3 ? dice() >> dice() % 53 : 0;
    random->job.memory_limit_bytes = dice() % 3 ? dice() >> dice() % 53 : 0;
    random->job.period_ns = dice() >> dice() % 53;
    random->job.exit_code = (uint8_t)dice();
    random->job.exit_signal = dice() % 2 ? (uint8_t)(dice() % 70) : 0;
    random->job.summary.short_wall_ns = dice() >> dice() % 53;
    random->job.summary.threads_peak = dice() >> dice() % 53;
    for (int i = 0; i < TIMELINE_LINES; i++)
        plain_timeline(random, (enum timeline_line)i, (double)(dice() % 50) / 100, 1,
                    (double)(dice() >> dice() % 53) / 100);
}

static void random_jobs_fit_too(void **state)
{
    (void)state;
    for (int i = 0; i < 500; i++) {
        print(jobs_random, i % 2 ? &utf8 : &ascii);
        fits(80, i % 2 == 0);
        assert_null(strstr(out.data, "nan"));
        assert_null(strstr(out.data, "inf "));
    }
}

static void a_good_job_has_no_issues(void **state)
{
    (void)state;
    print(jobs_good, &utf8);
    assert_non_null(strstr(out.data, "No issues found."));
    assert_null(strstr(out.data, "Missing data"));
}

static void jobs_in_user_mode(struct facts *job)
{
    jobs_good(job);
    job->event_count = 0;
    job->events[job->event_count++] = (struct facts_event){ "instructions:u", 3000 };
    job->events[job->event_count++] = (struct facts_event){ "cycles:u", 2000 };
}

static void user_mode_events_have_a_ratio(void **state)
{
    (void)state;
    print(jobs_in_user_mode, &utf8);
    const char *ratio = strstr(out.data, "instructions per cycle");
    assert_non_null(ratio);
    assert_non_null(strstr(ratio, " 1.50\n"));
}

static void at_most_six_pieces_of_advice(void **state)
{
    (void)state;
    print(jobs_bad, &utf8);
    assert_true(report.advice.count > ADVICE_SHOWN);
    assert_non_null(strstr(out.data, "\n  6. "));
    assert_null(strstr(out.data, "\n  7. "));
}

static void docs_show_the_report(void **state)
{
    (void)state;
    static char page[1 << 16];
    char path[1024];
    snprintf(path, sizeof path, "%s/docs/report.md", getenv("SOURCE"));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    print(jobs_good, &utf8);
    if (!strstr(page, buf_text(&out)))
        fail_msg("docs/report.md has another page than tests/report/golden/good.txt");
}

static void jobs_with_others(struct facts *job)
{
    jobs_good(job);
    job->processes[0].sources = SEEN_WAIT | USAGE_WITH_OTHERS;
    job->processes[2].sources = USAGE_ESTIMATED;
}

static void inexact_numbers_are_marked(void **state)
{
    (void)state;
    print(jobs_with_others, &utf8);
    fits(80, false);
    assert_non_null(strstr(out.data, "\n  solve                          1 24m40s*  99 %"));
    assert_non_null(strstr(out.data, "\n  bash                           2  900ms~"));
    assert_non_null(strstr(out.data, "\n  solve -n 16 'a file'        4712 24m40s*  99 %"));
    assert_non_null(strstr(out.data, "\n  bash job.sh                 4711   800ms "));
    assert_non_null(strstr(out.data, "\n  * includes children or earlier executables of the process, which could not be\n"
                                     "    separated\n  ~ part of the CPU time is estimated\n"));
    print(jobs_with_others, NULL);
    assert_non_null(strstr(out.data, "\"with_others\": true"));
    assert_non_null(strstr(out.data, "\"estimated\": true"));
}

/* More runs than are shown, with hostile strings, the last of which failed. */
static void jobs_of_runs(struct facts *job)
{
    static struct store_run runs[9];
    jobs_hostile(job);
    for (size_t i = 0; i < 9; i++)
        runs[i] = (struct store_run){ .command = i ? bytes_of("solve") : job->job.command, .host = job->job.hosts,
                                      .status_known = true, .exit_signal = i == 8 ? 16 : 0 };
    job->runs = (struct store_runs){ .list = runs, .count = 9 };
}

static void failed_runs_come_first(void **state)
{
    (void)state;
    for (size_t width = 40; width <= 80; width++) {
        print(jobs_of_runs, &(struct terminal){ .utf8 = width % 2, .width = width });
        fits(width, width % 2 == 0);
    }
    assert_non_null(strstr(out.data, "\n  runs       SIGSTKFLT solve on "));
    assert_non_null(strstr(out.data, "\n             and 3 others\n"));
    assert_non_null(strstr(out.data, "\n  status     failed: 1 of 9 runs failed\n"));
}

static void jobs_with_set_uid(struct facts *job)
{
    jobs_good(job);
    jobs_add_executable(job, "bash", 1, 0.5, 1);
    job->executables[3].path = (struct bytes){ 0 };
}

static void unknown_paths_are_marked(void **state)
{
    (void)state;
    print(jobs_with_set_uid, &utf8);
    assert_non_null(strstr(out.data, "\n  bash                           2   900ms "));
    assert_non_null(strstr(out.data, "\n  bash, path unknown             1   500ms "));
    facts.executables[1].path = bytes_of("/bin/bash");
    facts.executables[3].path = bytes_of("/opt/bash");
    buf_reset(&out);
    report_print(&report, &out, &utf8);
    assert_non_null(strstr(out.data, "\n  /bin/bash  "));
    assert_non_null(strstr(out.data, "\n  /opt/bash  "));
}

static void jobs_programs(struct facts *job)
{
    plain_init(job);
    job_metrics_init(&job->metrics);
    metrics_fixture_example(&job->metrics);
    assert_int_equal(mpi_read(&job->mpi, &job->metrics), OK);
    assert_int_equal(syscall_stats_read(&job->calls, &job->metrics), OK);
}

static void forget_programs(void)
{
    mpi_clear(&facts.mpi);
    syscall_stats_clear(&facts.calls);
    job_metrics_clear(&facts.metrics);
}

static void program_metrics(void **state)
{
    (void)state;
    print(jobs_programs, &utf8);
    assert_golden("report/golden/programs.txt", out.data);
    fits(80, false);
    forget_programs();
    print(jobs_programs, NULL);
    assert_golden("report/golden/programs.json", out.data);
    forget_programs();
}

/* Counted in libc: two calls there, and 5,011 further reads counted by the kernel. */
static void jobs_with_calls_beside(struct facts *job)
{
    plain_init(job);
    job_metrics_init(&job->metrics);
    metrics_fixture_call(&job->metrics, "close", 1, 0, NAN, NAN);
    metrics_fixture_call(&job->metrics, "read", 1, 0, 500, NAN);
    metrics_fixture_call(&job->metrics, "read/pipe", 1, 0, 500, NAN);
    metrics_fixture_call(&job->metrics, "read/other", 5011, NAN, 10022, NAN);
    assert_int_equal(mpi_read(&job->mpi, &job->metrics), OK);
    assert_int_equal(syscall_stats_read(&job->calls, &job->metrics), OK);
}

static void extra_reads_have_no_share(void **state)
{
    (void)state;
    print(jobs_with_calls_beside, &utf8);
    assert_non_null(strstr(buf_text(&out), "\n  read outside libc          5,011                          9.8K       "
                                           "2\n"));
    assert_non_null(strstr(buf_text(&out), "\n  read pipe                      1          50 %             500     "
                                           "500\n"));
    forget_programs();
}

static void jobs_with_bytes_alone(struct facts *job)
{
    plain_init(job);
    job_metrics_init(&job->metrics);
    metrics_fixture_call(&job->metrics, "write/other", NAN, NAN, 499584, NAN);
    assert_int_equal(mpi_read(&job->mpi, &job->metrics), OK);
    assert_int_equal(syscall_stats_read(&job->calls, &job->metrics), OK);
}

static void bytes_of_uncounted_calls(void **state)
{
    (void)state;
    print(jobs_with_bytes_alone, &utf8);
    assert_non_null(strstr(buf_text(&out), "\nSystem calls "));
    assert_null(strstr(buf_text(&out), "\nI/O by file type "));
    assert_non_null(strstr(buf_text(&out), "\n  write outside libc                                        488K\n"));
    forget_programs();
    print(jobs_with_bytes_alone, NULL);
    assert_non_null(strstr(buf_text(&out), "{\"call\": \"write\", \"to\": \"other\", \"bytes\": 499584}"));
    forget_programs();
}

/* One bin of 480 with 9 cores: the peak must not depend on how many columns there are. */
static void jobs_with_a_spike(struct facts *job)
{
    jobs_good(job);
    for (int bin = 0; bin < TIMELINE_BINS; bin++)
        job->timeline.line[TIMELINE_CPU][bin] = bin == 77 ? 9 : 1;
}

static void the_peak_does_not_depend_on_the_width(void **state)
{
    (void)state;
    for (size_t width = 40; width <= 200; width += 20) {
        print(jobs_with_a_spike, &(struct terminal){ .width = width });
        assert_non_null(strstr(buf_text(&out), "peak 9 cores\n"));
    }
}

/* Memory between two samples, or before the first. */
static void jobs_between_samples(struct facts *job)
{
    jobs_good(job);
    job->job.summary.rss_peak_bytes = 1 << 20;
}

static void jobs_with_added_rss(struct facts *job)
{
    jobs_good(job);
    job->sampled_memory = FACTS_MEMORY_RSS;
}

static void memory_names_its_source(void **state)
{
    (void)state;
    static const struct { void (*job)(struct facts *job); const char *text, *json; } rows[] = {
        { jobs_good, " (PSS)\n", "\"pss\"" },
        { jobs_between_samples, " (one process)\n", "\"process\"" },
        { jobs_with_added_rss, " (RSS sum)\n", "\"rss\"" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[64];
        snprintf(json, sizeof json, "\"memory_peak_source\": %s", rows[i].json);
        print(rows[i].job, &ascii);
        assert_non_null(strstr(buf_text(&out), rows[i].text));
        print(rows[i].job, NULL);
        assert_non_null(strstr(buf_text(&out), json));
    }
}

/* The first rank waits for the two that work. */
static void jobs_with_one_waiter(struct facts *job)
{
    plain_init(job);
    job_metrics_init(&job->metrics);
    metrics_fixture_mpi(&job->metrics, "0/MPI_Recv", 10, 8, NAN, NAN, 7, 0, NAN);
    metrics_fixture_mpi(&job->metrics, "0/", 10, 8, NAN, NAN, 7, NAN, 10);
    metrics_fixture_mpi(&job->metrics, "1/", 10, 1, NAN, NAN, 0, NAN, 10);
    metrics_fixture_mpi(&job->metrics, "2/", 10, 1, NAN, NAN, 0, NAN, 10);
    assert_int_equal(mpi_read(&job->mpi, &job->metrics), OK);
    assert_int_equal(syscall_stats_read(&job->calls, &job->metrics), OK);
}

static void one_waiting_rank(void **state)
{
    (void)state;
    print(jobs_with_one_waiter, &utf8);
    assert_non_null(strstr(buf_text(&out), "\n  waiting    rank 0 for 70 % of the time\n"));
    assert_non_null(strstr(buf_text(&out), " Rank 0 waits for 2 others for 70 % of its time: "));
    forget_programs();
}

static void jobs_with_requests_lost(struct facts *job)
{
    jobs_programs(job);
    job->mpi.requests_lost = 3616;
}

static void missing_bytes_are_reported(void **state)
{
    (void)state;
    print(jobs_with_requests_lost, &utf8);
    assert_non_null(strstr(buf_text(&out), "missing    bytes of 3,616 requests: "));
    fits(80, false);
    forget_programs();
    print(jobs_with_requests_lost, NULL);
    assert_non_null(strstr(buf_text(&out), "\"requests_lost\": 3616"));
    forget_programs();
}

/* An attached job without processes, and one that an agent has saved. */
static struct store_run attached;

static void jobs_without_processes(struct facts *job)
{
    plain_init(job);
    job->job.command = (struct bytes){ 0 };
    job->job.status_known = false;
    job->job.summary.images = 0;
    job->runs = (struct store_runs){ .list = &attached, .count = 1 };
}

static void batch_system_is_mentioned(void **state)
{
    (void)state;
    print(jobs_without_processes, &utf8);
    assert_non_null(strstr(buf_text(&out), "\n  status     unknown\n"));
    attached.by_agent = true;
    print(jobs_without_processes, &utf8);
    assert_non_null(strstr(buf_text(&out), "\n  status     unknown here; see the batch system\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_job),
        cmocka_unit_test(a_bad_job),
        cmocka_unit_test(a_job_without_data),
        cmocka_unit_test(colour_does_not_change_text),
        cmocka_unit_test(nothing_exceeds_the_width),
        cmocka_unit_test(random_jobs_fit_too),
        cmocka_unit_test(a_good_job_has_no_issues),
        cmocka_unit_test(docs_show_the_report),
        cmocka_unit_test(user_mode_events_have_a_ratio),
        cmocka_unit_test(at_most_six_pieces_of_advice),
        cmocka_unit_test(program_metrics),
        cmocka_unit_test(extra_reads_have_no_share),
        cmocka_unit_test(bytes_of_uncounted_calls),
        cmocka_unit_test(one_waiting_rank),
        cmocka_unit_test(unknown_paths_are_marked),
        cmocka_unit_test(failed_runs_come_first),
        cmocka_unit_test(inexact_numbers_are_marked),
        cmocka_unit_test(missing_bytes_are_reported),
        cmocka_unit_test(batch_system_is_mentioned),
        cmocka_unit_test(memory_names_its_source),
        cmocka_unit_test(the_peak_does_not_depend_on_the_width),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
