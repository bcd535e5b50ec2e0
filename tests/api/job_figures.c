/* Figures of jobs and nodes come from the best source. */
#include "tools/unit.h"

#include "agent/node_view.h"
#include "jobs/job_source.h"
#include "api/sets_json.h"
#include "samplers/all.h"
#include "api/jobs_json.h"
#include "tools/node.h"
#include "tools/sensing.h"
#include "tools/temp.h"

static void nothing(void *context, const struct job *job, enum job_event event)
{
    (void)context;
    (void)job;
    (void)event;
}

struct fixture {
    struct latest *live;
    struct jobs *jobs;
    struct batch batch;
    struct node_view node;
    struct view view;
    char root[TEMP_PATH_MAX];
};

static int begin(void **state)
{
    static struct fixture f;
    f = (struct fixture){ 0 };
    temp_dir(f.root);
    assert_int_equal(latest_open(&f.live), OK);
    assert_int_equal(jobs_open(&f.jobs, f.root, JOB_SOURCES_ALL, &(struct jobs_listener){ nothing, NULL }), OK);
    for (size_t i = 0; i < 2; i++) {
        struct job job = { .id = i ? "2" : "1", .other_id = "", .source = "told", .user = i ? "bob" : "ada",
                           .uid = i ? 1001 : 1000, .start_ns = 7, .cgroup = "", .pid = 1 };
        assert_int_equal(jobs_begin(f.jobs, &job), OK);
    }
    batch_init(&f.batch);
    f.node = (struct node_view){ f.live, f.jobs, "n1" };
    f.view = node_view_of(&f.node, VIEW_ALL);
    *state = &f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    batch_clear(&f->batch);
    jobs_close(&f->jobs);
    latest_close(&f->live);
    temp_remove(f->root);
    return 0;
}

static struct sample *add(struct fixture *f, const struct set *set, const char *instance, const char *job)
{
    struct sample *sample = batch_add(&f->batch, set, 50, instance);
    sample->job = job;
    return sample;
}

static const struct metric cgroup_metrics[] = { { "cpu", "us", COUNTER, U64, "" }, { "memory", "B", GAUGE, U64, "" } };
static const struct metric task_metrics[] = { { "tasks", "1", GAUGE, U64, "" }, { "cpu", "ns", COUNTER, U64, "" } };
static const struct metric cgroup_io_metrics[] = { { "io_read", "B", COUNTER, U64, "" },
                                                   { "io_written", "B", COUNTER, U64, "" } };
static const struct metric task_io_metrics[] = { { "read_bytes", "B", COUNTER, U64, "" },
                                                 { "write_bytes", "B", COUNTER, U64, "" } };
static const struct set cgroup_io = { "cgroup", cgroup_io_metrics, 2 }, task_io = { "taskstats", task_io_metrics, 2 };
static const struct metric rapl_metrics[] = { { "package", "uJ", COUNTER, U64, "" }, { "dram", "uJ", COUNTER, U64, "" } };
static const struct metric memory_metrics[] = { { "mem_total", "B", GAUGE, U64, "" },
                                                { "mem_available", "B", GAUGE, U64, "" } };
static const struct metric load_metrics[] = { { "load1", "1", GAUGE, F64, "" } };
static const struct set cgroup = { "cgroup", cgroup_metrics, 2 }, taskstats = { "taskstats", task_metrics, 2 };
static const struct set rapl = { "rapl", rapl_metrics, 2 }, meminfo = { "meminfo", memory_metrics, 2 };
static const struct set loadavg = { "loadavg", load_metrics, 1 };

static struct job_figures_all read_all(struct fixture *f)
{
    struct job_figures_all all;
    latest_update(f->live, &f->batch, 1);
    assert_int_equal(job_figures_read(&all, &f->view), OK);
    return all;
}

static void the_best_source_wins(void **state)
{
    struct fixture *f = *state;
    struct sample *tasks = add(f, &taskstats, "", "1");
    sample_set_u64(tasks, 0, 3);
    sample_set_u64(tasks, 1, 9000);
    sample_set_u64(add(f, &cgroup, "", "1"), 0, 5);
    sample_set_u64(add(f, &cgroup, "step_0", "1"), 0, 4); /* a part of the job */
    sample_set_u64(add(f, &taskstats, "", "2"), 1, 9000);
    sample_set_u64(add(f, &taskstats, "", "unknown"), 1, 1);
    struct job_figures_all all = read_all(f);
    const struct job_figures *one = &all.jobs[jobs_find(f->jobs, "1")->slot], *two = &all.jobs[jobs_find(f->jobs, "2")->slot];
    assert_int_equal(one->values[JOB_FIGURES_cpu_us].value, 5);
    assert_int_equal(one->values[JOB_FIGURES_cpu_us].time_ns, 50);
    assert_int_equal(one->values[JOB_FIGURES_tasks].value, 3);
    assert_int_equal(one->values[JOB_FIGURES_memory_bytes].time_ns, 0); /* unknown */
    assert_int_equal(two->values[JOB_FIGURES_cpu_us].value, 9);
    job_figures_clear(&all);
}

/* cgroup v1 misses buffered writes, taskstats misses short-lived processes. */
static void io_bytes_are_the_largest_of_all_sources(void **state)
{
    struct fixture *f = *state;
    struct sample *group = add(f, &cgroup_io, "", "1"), *tasks = add(f, &task_io, "", "1");
    sample_set_u64(group, 0, 900);
    sample_set_u64(group, 1, 0);
    sample_set_u64(tasks, 0, 300);
    sample_set_u64(tasks, 1, 700);
    struct job_figures_all all = read_all(f);
    const struct job_figures *one = &all.jobs[jobs_find(f->jobs, "1")->slot];
    assert_int_equal(one->values[JOB_FIGURES_read_bytes].value, 900);
    assert_int_equal(one->values[JOB_FIGURES_write_bytes].value, 700);
    job_figures_clear(&all);
}

static void packages_are_summed_and_memory_is_used_memory(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < 2; i++) {
        struct sample *sample = add(f, &rapl, i ? "1" : "0", NULL);
        sample_set_u64(sample, 0, 100);
        sample_set_u64(sample, 1, 10);
    }
    struct sample *memory = add(f, &meminfo, "", NULL);
    sample_set_u64(memory, 0, 1000);
    sample_set_u64(memory, 1, 400);
    sample_set_f64(add(f, &loadavg, "", NULL), 0, 1.25);
    struct job_figures_all all = read_all(f);
    assert_int_equal(all.node.values[JOB_FIGURES_energy_uj].value, 220);
    assert_int_equal(all.node.values[JOB_FIGURES_memory_bytes].value, 600);
    assert_int_equal(all.node.values[JOB_FIGURES_load_milli].value, 1250);
    assert_int_equal(all.node.values[JOB_FIGURES_cpu_us].time_ns, 0);
    job_figures_clear(&all);
}

/* I/O of a volume is not added to that of its disks. */
static void io_of_the_node_is_that_of_its_disks(void **state)
{
    struct fixture *f = *state;
    static const char *const settings[] = { NULL, "partitions", "all" };
    for (size_t i = 0; i < 3; i++) {
        struct sensing s;
        sensing_init(&s, &sampler_diskstats, node_root("lvm"));
        if (settings[i])
            sensing_set(&s, settings[i], "yes");
        assert_int_equal(sensing_open(&s), OK);
        batch_reset(&f->batch);
        assert_int_equal(sampler_diskstats.read(s.state, &f->batch), OK);
        struct job_figures_all all = read_all(f);
        assert_int_equal(all.node.values[JOB_FIGURES_read_bytes].value, (100 + 200 + 30 + 40) * 512);
        assert_int_equal(all.node.values[JOB_FIGURES_write_bytes].value, (1000 + 1000 + 3 + 4) * 512);
        job_figures_clear(&all);
        batch_reset(&f->batch);
        sensing_end(&s);
    }
}

static void users_see_their_own_jobs(void **state)
{
    struct fixture *f = *state;
    struct buf out;
    buf_init(&out, 1u << 16);
    sample_set_u64(add(f, &cgroup, "", "1"), 0, 5);
    sample_set_u64(add(f, &cgroup, "", "2"), 0, 6);
    latest_update(f->live, &f->batch, 1);
    f->view.uid = VIEW_NODE;
    jobs_json_write_node(&f->view, &out);
    assert_null(strstr(buf_text(&out), "\"user\""));
    buf_reset(&out);
    f->view.uid = 1001;
    jobs_json_write_node(&f->view, &out);
    assert_null(strstr(buf_text(&out), "ada"));
    assert_non_null(strstr(buf_text(&out), "\"user\": \"bob\""));
    assert_non_null(strstr(buf_text(&out), "\"cpu_us\": [6, 50]"));
    assert_non_null(strstr(buf_text(&out), "\"others\": 1"));
    buf_reset(&out);
    sets_json_write(&out, &f->view, true);
    assert_null(strstr(buf_text(&out), "\"job\": \"1\""));
    assert_non_null(strstr(buf_text(&out), "\"job\": \"2\""));
    assert_non_null(strstr(buf_text(&out), "\"values\": [6, null]"));
    buf_clear(&out);
}

/* Three equal nodes; on the third, one job is not visible. */
static void jobs_on_several_nodes_are_merged(void **state)
{
    struct fixture *f = *state;
    struct jobs_json jobs = { 0 };
    struct buf out;
    buf_init(&out, 1 << 16);
    struct sample *sample = add(f, &cgroup, "", "1");
    sample_set_u64(sample, 0, 40);
    sample_set_u64(sample, 1, 1000);
    latest_update(f->live, &f->batch, 1);
    assert_int_equal(jobs_json_add(&jobs, &f->view), OK);
    assert_int_equal(jobs_json_add(&jobs, &f->view), OK);
    f->view.uid = 1000;
    assert_int_equal(jobs_json_add(&jobs, &f->view), OK);
    assert_int_equal(jobs.count, 2);
    jobs_json_write(&jobs, &f->view, &out);
    assert_non_null(strstr(buf_text(&out), "\n  \"nodes\": 3,"));
    assert_non_null(strstr(buf_text(&out), "\"nodes\": 3, \"figures\": {\"cpu_us\": [120, 50], \"memory_bytes\": [3000, 50]}"));
    assert_non_null(strstr(buf_text(&out), "\"others\": 1"));
    jobs_json_clear(&jobs);
    buf_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_best_source_wins, begin, end),
        cmocka_unit_test_setup_teardown(io_bytes_are_the_largest_of_all_sources, begin, end),
        cmocka_unit_test_setup_teardown(packages_are_summed_and_memory_is_used_memory, begin, end),
        cmocka_unit_test_setup_teardown(io_of_the_node_is_that_of_its_disks, begin, end),
        cmocka_unit_test_setup_teardown(users_see_their_own_jobs, begin, end),
        cmocka_unit_test_setup_teardown(jobs_on_several_nodes_are_merged, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
