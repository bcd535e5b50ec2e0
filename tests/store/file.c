/* A run goes into the store and comes out as it was; again, together with others, in place of itself. */
#include "store/store.h"

#include "tools/fake_run.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <sqlite3.h>
#include <unistd.h>

struct fixture {
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    struct store *store;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    char *message;
    temp_dir(fixture->dir);
    temp_join(fixture->path, fixture->dir, "sonde.db");
    enum err err = store_open(&fixture->store, fixture->path, STORE_WRITE, &message);
    if (err != OK)
        print_error("%s\n", message);
    *state = fixture;
    return err != OK;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    store_close(&fixture->store);
    temp_remove(fixture->dir);
    free(fixture);
    return 0;
}

static void file_ok(struct store *store, const struct run *run)
{
    enum err err = store_file(store, run);
    if (err != OK)
        print_error("%s\n", store_message(store));
    assert_int_equal(err, OK);
}

static void assert_same_bytes(struct bytes a, struct bytes b)
{
    assert_int_equal(a.size, b.size);
    if (a.size)
        assert_memory_equal(a.data, b.data, a.size);
}

static void assert_same_counters(const struct counters *a, const struct counters *b)
{
    assert_int_equal(a->known, b->known);
    for (int i = 0; i < COUNTERS_SIZE; i++)
        if (counters_has(a, (enum counter)i))
            assert_int_equal(a->value[i], b->value[i]);
}

/* What the callbacks compare with: process i of run is number first + i. */
struct expected {
    const struct run *run;
    uint32_t first;
    size_t seen;
    uint64_t cpu_before_us;
};

static enum err compare_process(void *context, uint32_t number, const struct process *got)
{
    struct expected *expected = context;
    if (number < expected->first || number - expected->first >= expected->run->process_count)
        return OK;
    const struct process *want = &expected->run->processes[number - expected->first];
    assert_int_equal(number - expected->first, expected->seen++);
    assert_int_equal(got->parent, want->parent == PROCESS_NO_PARENT ? PROCESS_NO_PARENT : want->parent + expected->first);
    assert_int_equal(got->last, want->last + expected->first);
    assert_int_equal(got->pid, want->pid);
    assert_int_equal(got->ppid, want->ppid);
    assert_int_equal(got->pgid, want->pgid);
    assert_int_equal(got->pgid_known, want->pgid_known);
    assert_int_equal(got->sid, want->sid);
    assert_int_equal(got->sid_known, want->sid_known);
    assert_int_equal(got->uid, want->uid);
    assert_int_equal(got->uid_known, want->uid_known);
    assert_int_equal(got->image, want->image);
    assert_int_equal(got->start_ns, want->start_ns);
    assert_int_equal(got->end_ns, want->end_ns);
    assert_int_equal(got->state, want->state);
    assert_int_equal(got->status_known, want->status_known);
    assert_int_equal(got->exit_code, want->exit_code);
    assert_int_equal(got->exit_signal, want->exit_signal);
    assert_int_equal(got->sources, want->sources);
    assert_int_equal(got->thread_count, want->thread_count);
    assert_int_equal(got->inclusive_cpu_us, want->inclusive_cpu_us);
    assert_same_bytes(got->path, want->path);
    assert_same_bytes(got->name, want->name);
    assert_same_bytes(got->args, want->args);
    assert_same_bytes(got->cwd, want->cwd);
    assert_same_bytes(got->tags, want->tags);
    assert_same_counters(&got->counters, &want->counters);
    return OK;
}

static void assert_processes(struct store *store, int64_t row, const struct run *run, uint32_t first)
{
    struct expected expected = { .run = run, .first = first };
    assert_int_equal(store_processes(store, row, compare_process, &expected), OK);
    assert_int_equal(expected.seen, run->process_count);
}

static struct store_job job_of(struct store *store, const char *job_id)
{
    struct store_job job;
    assert_int_equal(store_job(store, job_id, &job), OK);
    return job;
}

static void a_job_comes_out_as_it_went_in(void **state)
{
    struct fixture *fixture = *state;
    struct fake_run fake;
    fake_run_make(&fake, &(struct fake_shape){ .processes = 500, .threads = 4, .samples = 10 });
    file_ok(fixture->store, &fake.run);
    struct store_job job = job_of(fixture->store, "job-1");
    assert_string_equal(job.job_id, "job-1");
    assert_string_equal(job.name, "build");
    assert_string_equal(job.user, "somebody");
    assert_string_equal(job.cwd, "/home/somebody/project");
    assert_string_equal(job.tags, "exp:alpha;member:3");
    assert_string_equal(job.hosts, "node01");
    assert_same_bytes(job.command, fake.run.command);
    assert_int_equal(job.uid, 1000);
    assert_int_equal(job.start_ns, fake.run.start_ns);
    assert_int_equal(job.end_ns, fake.run.end_ns);
    assert_true(job.ended && job.status_known);
    assert_int_equal(job.exit_code, 2);
    assert_int_equal(job.exit_signal, 0);
    assert_int_equal(job.host_count, 1);
    assert_int_equal(job.cores, 16);
    assert_int_equal(job.memory_bytes, 64ull << 30);
    assert_int_equal(job.cores_allowed_milli, 4000);
    assert_int_equal(job.memory_limit_bytes, 8ull << 30);
    assert_int_equal(job.period_ns, 1000000000);
    assert_int_equal(job.summary.images, 500);
    assert_processes(fixture->store, job.row, &fake.run, 0);
    struct summary summary;
    summary_of_run(&summary, &fake.run);
    assert_memory_equal(&summary.gaps, &job.summary.gaps, sizeof summary.gaps);
    assert_int_equal(summary.threads, job.summary.threads);
    assert_int_equal(summary.short_wall_ns, job.summary.short_wall_ns);
    assert_int_equal(summary.live_peak, job.summary.live_peak);
    assert_int_equal(summary.rss_peak_bytes, job.summary.rss_peak_bytes);
    assert_same_counters(&summary.sum, &job.summary.sum);
    assert_same_counters(&summary.total, &job.summary.total);
    store_job_clear(&job);
    fake_run_clear(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_comes_out_as_it_went_in, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
