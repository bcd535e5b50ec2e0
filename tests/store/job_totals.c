/* What is summed up when a run is saved: top lists, executables, events, hosts; and threads and series unchanged. */
#include "store/store.h"

#include "tools/store_fixture.h"

struct seen {
    struct fake_run fake[2];
    uint64_t cpu_us[32];
    uint32_t numbers[32];
    size_t count, rows;
    uint64_t sum;
    struct buf text;
};

static enum err see_process(void *context, uint32_t number, const struct process *process)
{
    struct seen *seen = context;
    seen->numbers[seen->count] = number;
    seen->cpu_us[seen->count++] = counters_cpu_us(&process->counters);
    return OK;
}

static enum err see_thread(void *context, uint32_t number, const struct thread *thread)
{
    struct seen *seen = context;
    seen->numbers[seen->count] = number;
    seen->cpu_us[seen->count++] = counters_cpu_us(&thread->counters);
    return OK;
}

static int downwards(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/* Two runs of one job, the second with the most expensive process. */
static int64_t save_two(struct store_fixture *fixture, struct seen *seen)
{
    memset(seen, 0, sizeof *seen);
    buf_init(&seen->text, 1 << 20);
    struct fake_shape a = { .run_id = "a", .processes = 100, .threads = 3, .events = 2, .samples = 5000 };
    struct fake_shape b = { .run_id = "b", .processes = 60, .threads = 2, .events = 2, .samples = 7, .host = "node00" };
    fake_run_make(&seen->fake[0], &a);
    fake_run_make(&seen->fake[1], &b);
    counters_set(&seen->fake[1].run.processes[59].counters, COUNTER_usertime, 99000000);
    fixture_file(fixture->store, &seen->fake[0].run);
    fixture_file(fixture->store, &seen->fake[1].run);
    struct store_job job = fixture_job(fixture->store, NULL);
    int64_t row = job.row;
    store_job_clear(&job);
    return row;
}

static void forget(struct seen *seen)
{
    buf_clear(&seen->text);
    fake_run_clear(&seen->fake[0]);
    fake_run_clear(&seen->fake[1]);
}

static void the_top_processes_are_those_of_all_runs(void **state)
{
    struct store_fixture *fixture = *state;
    struct seen seen;
    uint64_t all[160];
    size_t count = 0;
    int64_t row = save_two(fixture, &seen);
    assert_int_equal(store_top_processes(fixture->store, row, see_process, &seen), OK);
    for (int f = 0; f < 2; f++)
        for (size_t i = 0; i < seen.fake[f].run.process_count; i++)
            all[count++] = counters_cpu_us(&seen.fake[f].run.processes[i].counters);
    qsort(all, count, sizeof all[0], downwards);
    assert_int_equal(seen.count, 10);
    assert_memory_equal(seen.cpu_us, all, 10 * sizeof all[0]);
    assert_int_equal(seen.numbers[0], 159);
    forget(&seen);
}

static void the_top_threads_are_those_of_all_runs(void **state)
{
    struct store_fixture *fixture = *state;
    struct seen seen;
    uint64_t all[500];
    size_t count = 0;
    int64_t row = save_two(fixture, &seen);
    assert_int_equal(store_top_threads(fixture->store, row, see_thread, &seen), OK);
    for (int f = 0; f < 2; f++)
        for (size_t i = 0; i < seen.fake[f].run.process_count; i++) {
            const struct process *process = &seen.fake[f].run.processes[i];
            for (uint32_t t = 0; process->thread_count > 1 && t < process->thread_count; t++)
                all[count++] = counters_cpu_us(&seen.fake[f].run.threads[process->thread_first + t].counters);
        }
    qsort(all, count, sizeof all[0], downwards);
    assert_int_equal(seen.count, 10);
    assert_memory_equal(seen.cpu_us, all, 10 * sizeof all[0]);
    forget(&seen);
}

struct thread_walk {
    const struct run *run;
    size_t at, seen;
};

static enum err compare_thread(void *context, uint32_t number, const struct thread *got)
{
    struct thread_walk *walk = context;
    if (number >= 100)
        return OK;
    while (walk->run->processes[walk->at].thread_count < 2 || walk->seen == walk->run->processes[walk->at].thread_count) {
        walk->at++;
        walk->seen = 0;
    }
    const struct process *process = &walk->run->processes[walk->at];
    const struct thread *want = &walk->run->threads[process->thread_first + walk->seen++];
    assert_int_equal(number, walk->at);
    assert_int_equal(got->tid, want->tid);
    assert_int_equal(got->start_ns, want->start_ns);
    assert_int_equal(got->end_ns, want->end_ns);
    assert_memory_equal(got->name, want->name, sizeof got->name);
    assert_int_equal(got->counters.known, want->counters.known);
    assert_int_equal(counters_cpu_us(&got->counters), counters_cpu_us(&want->counters));
    assert_int_equal(got->events, UINT32_MAX);
    return OK;
}

static void threads_round_trip(void **state)
{
    struct store_fixture *fixture = *state;
    struct seen seen;
    int64_t row = save_two(fixture, &seen);
    struct thread_walk walk = { .run = &seen.fake[0].run };
    assert_int_equal(store_threads(fixture->store, row, compare_thread, &walk), OK);
    assert_int_equal(walk.at, 93);
    assert_int_equal(walk.seen, 3);
    assert_sql(fixture->path, "SELECT count(*) FROM threads", "42"); /* 10 x 3 + 6 x 2 */
    assert_sql(fixture->path, "SELECT count(*) FROM thread", "186"); /* and 144 single ones */
    assert_sql(fixture->path, "SELECT count(*) FROM thread WHERE process = 3", "3");
    assert_sql(fixture->path, "SELECT tid || name FROM thread WHERE process = 0", "300bash");
    forget(&seen);
}

static enum err see_executable(void *context, const struct summary_executable *executable)
{
    struct seen *seen = context;
    assert_true(!seen->count || executable->cpu_us <= seen->cpu_us[seen->count - 1]);
    seen->cpu_us[seen->count++] = executable->cpu_us;
    seen->sum += executable->count;
    buf_printf(&seen->text, "%.*s ", (int)executable->name.size, executable->name.data);
    return OK;
}

static void executables_are_summed_over_runs(void **state)
{
    struct store_fixture *fixture = *state;
    struct seen seen;
    int64_t row = save_two(fixture, &seen);
    assert_int_equal(store_executables(fixture->store, row, see_executable, &seen), OK);
    assert_int_equal(seen.sum, 160);
    assert_int_equal(seen.count, 6);
    assert_sql(fixture->path, "SELECT count FROM executable WHERE name = 'make'", "2");
    assert_sql(fixture->path, "SELECT count(*) FROM executables", "6");
    forget(&seen);
}

static enum err see_event(void *context, const char *event, uint64_t sum)
{
    struct seen *seen = context;
    seen->sum += sum;
    buf_printf(&seen->text, "%s ", event);
    return OK;
}

static enum err see_count(void *context, uint32_t number, uint32_t tid, const char *event, uint64_t value)
{
    struct seen *seen = context;
    if (number == 3)
        buf_printf(&seen->text, "%s%u ", event, tid);
    seen->count++;
    seen->sum += tid ? 0 : value;
    return OK;
}

static void events_are_kept_and_summed(void **state)
{
    struct store_fixture *fixture = *state;
    struct seen seen;
    int64_t row = save_two(fixture, &seen);
    assert_int_equal(store_events(fixture->store, row, see_event, &seen), OK);
    assert_string_equal(buf_text(&seen.text), "task-clock page-faults ");
    uint64_t sum = seen.sum;
    seen.sum = 0;
    buf_reset(&seen.text);
    assert_int_equal(store_event_counts(fixture->store, row, see_count, &seen), OK);
    assert_int_equal(seen.sum, sum);
    assert_int_equal(seen.count, 160 * 2 + 42 * 2);
    assert_string_equal(buf_text(&seen.text), "task-clock0 page-faults0 task-clock303 page-faults303 "
                        "task-clock304 page-faults304 task-clock305 page-faults305 ");
    forget(&seen);
}

static void processes_without_a_count_are_reported(void **state)
{
    struct store_fixture *fixture = *state;
    struct seen seen;
    uint64_t missing, all;
    int64_t row = save_two(fixture, &seen);
    assert_int_equal(store_events_missing(fixture->store, row, &missing, &all), OK);
    assert_int_equal(missing, 0);
    assert_int_equal(all, 160);
    fixture_exec(fixture->path, "DELETE FROM process_events WHERE process = 7;"
                 "DELETE FROM process_events WHERE process = 9 AND event ="
                 " (SELECT id FROM events WHERE name = 'page-faults')");
    assert_int_equal(store_events_missing(fixture->store, row, &missing, &all), OK);
    assert_int_equal(missing, 2);
    assert_int_equal(all, 160);
    fixture_exec(fixture->path, "DELETE FROM process_events; UPDATE run_events SET value = NULL");
    assert_int_equal(store_events_missing(fixture->store, row, &missing, &all), OK);
    assert_int_equal(missing, 160);
    buf_reset(&seen.text);
    assert_int_equal(store_events(fixture->store, row, see_event, &seen), OK);
    assert_string_equal(buf_text(&seen.text), "");
    forget(&seen);
}

static enum err see_host(void *context, const struct host *host)
{
    struct seen *seen = context;
    buf_printf(&seen->text, "%.*s/%.*s/%.*s/%d/%d ", (int)host->name.size, host->name.data, (int)host->kernel.size,
               host->kernel.data, (int)host->cpu_model.size, host->cpu_model.data, (int)host->cores,
               (int)(host->memory_bytes >> 30));
    return OK;
}

static void hosts_are_sorted_by_name(void **state)
{
    struct store_fixture *fixture = *state;
    struct seen seen;
    int64_t row = save_two(fixture, &seen);
    assert_int_equal(store_hosts(fixture->store, row, see_host, &seen), OK);
    assert_string_equal(buf_text(&seen.text), "node00/6.1.0-13-amd64/Some CPU @ 2.0 GHz/16/64 "
                        "node01/6.1.0-13-amd64/Some CPU @ 2.0 GHz/16/64 ");
    forget(&seen);
}

static enum err compare_series(void *context, const char *host, const struct run_series *got)
{
    struct seen *seen = context;
    const struct run *run = &seen->fake[strcmp(host, "node00") == 0].run;
    const struct run_series *want = &run->series[seen->count++ % 2];
    buf_printf(&seen->text, "%s/%s ", host, got->set.name);
    assert_string_equal(got->set.name, want->set.name);
    assert_string_equal(got->instance, want->instance);
    assert_int_equal(got->set.size, want->set.size);
    for (size_t i = 0; i < want->set.size; i++) {
        assert_string_equal(got->set.metrics[i].name, want->set.metrics[i].name);
        assert_string_equal(got->set.metrics[i].unit, want->set.metrics[i].unit);
        assert_string_equal(got->set.metrics[i].help, want->set.metrics[i].help);
        assert_int_equal(got->set.metrics[i].kind, want->set.metrics[i].kind);
        assert_int_equal(got->set.metrics[i].type, want->set.metrics[i].type);
    }
    assert_int_equal(got->count, want->count);
    assert_memory_equal(got->times_ns, want->times_ns, want->count * sizeof *want->times_ns);
    assert_memory_equal(got->known, want->known, want->count * want->set.size);
    assert_memory_equal(got->values, want->values, want->count * want->set.size * sizeof *want->values);
    return OK;
}

static void series_round_trip(void **state)
{
    struct store_fixture *fixture = *state;
    struct seen seen;
    int64_t row = save_two(fixture, &seen);
    assert_int_equal(store_series(fixture->store, row, compare_series, &seen), OK);
    assert_string_equal(buf_text(&seen.text), "node00/tree node00/node node01/tree node01/node ");
    assert_sql(fixture->path, "SELECT count(*) FROM sets", "2");
    assert_sql(fixture->path, "SELECT group_concat(name, ' ') FROM set_metrics WHERE set_id ="
               " (SELECT id FROM sets WHERE name = 'tree')", "cpu rss threads");
    assert_sql(fixture->path, "SELECT max(chunk) FROM series", "1");
    forget(&seen);
}

static void a_damaged_series_is_reported(void **state)
{
    struct store_fixture *fixture = *state;
    struct seen seen;
    sqlite3 *db;
    int64_t row = save_two(fixture, &seen);
    assert_int_equal(sqlite3_open(fixture->path, &db), SQLITE_OK);
    sqlite3_exec(db, "UPDATE series SET data = substr(data, 1, 5) WHERE number = 1", NULL, NULL, NULL);
    assert_int_equal(sqlite3_changes(db), 3); /* chunks */
    sqlite3_close(db);
    assert_int_equal(store_series(fixture->store, row, compare_series, &seen), CORRUPT);
    assert_non_null(strstr(store_message(fixture->store), "node"));
    forget(&seen);
}

static void the_views_are_readable(void **state)
{
    struct store_fixture *fixture = *state;
    struct seen seen;
    save_two(fixture, &seen);
    assert_sql(fixture->path, "SELECT exe || ' ' || args || ' ' || cwd || ' ' || host || ' ' || user || ' ' || state"
               " FROM process WHERE job_id = 'job-1' AND number = 1",
               "make make -j4 all /home/somebody/project/src node01 somebody ended");
    assert_sql(fixture->path, "SELECT count(*) FROM process WHERE host = 'node00'", "60");
    assert_sql(fixture->path, "SELECT start_utc FROM process WHERE number = 0", "2023-11-14 22:13:20");
    assert_sql(fixture->path, "SELECT printf('%.6f', duration_s) FROM process WHERE number = 99", "0.000750");
    assert_sql(fixture->path, "SELECT name || processes FROM job", "build160");
    assert_sql(fixture->path, "SELECT count(*) FROM processes c JOIN processes p ON p.job = c.job AND p.number = c.parent"
               " WHERE c.number > p.last OR c.depth <> p.depth + 1", "0");
    forget(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(the_top_processes_are_those_of_all_runs),
        STORE_TEST(the_top_threads_are_those_of_all_runs),
        STORE_TEST(threads_round_trip),
        STORE_TEST(executables_are_summed_over_runs),
        STORE_TEST(events_are_kept_and_summed),
        STORE_TEST(processes_without_a_count_are_reported),
        STORE_TEST(hosts_are_sorted_by_name),
        STORE_TEST(series_round_trip),
        STORE_TEST(a_damaged_series_is_reported),
        STORE_TEST(the_views_are_readable),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
