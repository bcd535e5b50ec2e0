/* job_sensors [JOBS]: the cost of a cycle of the per-job sensors. Creates JOBS cgroups with one process each, of one thread and of
 * eight, and reads the sensors in this process as the agent does; reports the CPU time of the fastest tenth of the cycles, since
 * other load only adds to it. Needs root. */
#include "base/clock.h"
#include "samplers/all.h"
#include "tools.h"
#include "tools/group.h"

#include <pthread.h>
#include <sys/prctl.h>

#define CYCLES 400
#define SAMPLERS_MAX 16
#define JOBS_MAX 5000

struct sensor {
    const struct sampler *sampler;
    void *state;
};

static struct sampler_context here = { .root = "" };
static struct sensor sensors[SAMPLERS_MAX];
static size_t sensor_count, job_count;
static struct group *groups;
static pid_t *pids;

static void *sleep_for_ever(void *unused)
{
    for (;;)
        usleep(100000);
    return unused;
}

static void run_job(const struct group *group, int threads)
{
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    group_enter(group, "");
    for (int i = 1; i < threads; i++)
        if (pthread_create(&thread, NULL, sleep_for_ever, NULL) != 0)
            _exit(1);
    sleep_for_ever(NULL);
}

static void start_jobs(bool unified, int threads)
{
    for (size_t i = 0; i < job_count; i++) {
        if (!group_make(&groups[i], unified, (unsigned)i))
            tools_die("cannot create a cgroup: needs root and cgroups of this version");
        pids[i] = fork();
        if (pids[i] == 0)
            run_job(&groups[i], threads);
    }
    usleep(300000);
}

static void stop_jobs(void)
{
    for (size_t i = 0; i < job_count; i++)
        kill(pids[i], SIGKILL);
    for (size_t i = 0; i < job_count; i++) {
        waitpid(pids[i], NULL, 0);
        group_remove(&groups[i]);
    }
}

static void open_sensor(const struct sampler *sampler, const char *key, const char *value)
{
    struct sensor *sensor = &sensors[sensor_count];
    *sensor = (struct sensor){ sampler, calloc(1, sampler->state_size ? sampler->state_size : 1) };
    setting_defaults(sampler->settings, sensor->state);
    if (key)
        setting_apply(sampler->settings, sensor->state, key, value);
    if (sampler->open(sensor->state, &here)) {
        printf("   (%s is unavailable)\n", sampler->name);
        free(sensor->state);
        return;
    }
    for (size_t i = 0; i < job_count && sampler->job; i++)
        sampler->job(sensor->state, &groups[i].job, JOB_BEGIN, NULL);
    sensor_count++;
}

static void close_sensors(void)
{
    for (size_t i = 0; i < sensor_count; i++) {
        if (sensors[i].sampler->close)
            sensors[i].sampler->close(sensors[i].state);
        free(sensors[i].state);
    }
    sensor_count = 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* CPU time of a cycle in µs. */
static double measure(size_t *samples)
{
    struct batch batch;
    double costs[CYCLES];
    batch_init(&batch);
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        batch_reset(&batch);
        for (size_t i = 0; i < sensor_count; i++)
            sensors[i].sampler->read(sensors[i].state, &batch);
        costs[cycle] = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / 1e3;
        usleep(2000);
    }
    *samples = batch.count;
    batch_clear(&batch);
    qsort(costs, CYCLES, sizeof *costs, by_size);
    return costs[CYCLES / 10];
}

static void open_node_sensors(void)
{
    static const struct sampler *const node[] = { &sampler_meminfo,    &sampler_vmstat,  &sampler_stat,
                                                  &sampler_interrupts, &sampler_loadavg, &sampler_self };
    for (size_t i = 0; i < sizeof node / sizeof *node; i++)
        open_sensor(node[i], NULL, NULL);
}

static void report(const char *what, double goal_us)
{
    size_t samples;
    double us = measure(&samples);
    printf("%-58s %8.0f us, %5zu samples", what, us, samples);
    if (goal_us > 0 && job_count == 50)
        printf("  (goal: %.0f us)", goal_us);
    printf("\n");
    fflush(stdout);
    close_sensors();
}

static void one_task(bool unified)
{
    start_jobs(unified, 1);
    open_node_sensors();
    report("   node sets alone", 0);
    open_sensor(&sampler_taskstats, NULL, NULL);
    report("   taskstats alone", 0);
    open_node_sensors();
    open_sensor(&sampler_taskstats, NULL, NULL);
    report("jobs of one task: taskstats and node sets", 700);
    if (unified) {
        open_sensor(&sampler_perf, NULL, NULL);
        report("   perf alone", 0);
    }
    stop_jobs();
}

static void eight_threads(bool unified)
{
    start_jobs(unified, 8);
    open_sensor(&sampler_taskstats, NULL, NULL);
    report("   taskstats alone", 0);
    open_sensor(&sampler_process, "each", "yes");
    report("   process alone, with each process", 0);
    open_node_sensors();
    open_sensor(&sampler_taskstats, NULL, NULL);
    open_sensor(&sampler_process, "each", "yes");
    report("jobs of 8 threads: taskstats, each process, node sets", 3000);
    stop_jobs();
}

int main(int argc, char **argv)
{
    job_count = argc > 1 ? strtoul(argv[1], NULL, 10) : 50;
    if (job_count == 0 || job_count > JOBS_MAX)
        tools_die("job_sensors [JOBS]: 5,000 at most");
    groups = calloc(job_count, sizeof *groups);
    pids = calloc(job_count, sizeof *pids);
    signal(SIGPIPE, SIG_IGN); /* so that the cgroups are removed */
    if (!groups || !pids)
        tools_die("out of memory");
    for (int unified = 0; unified < 2; unified++) {
        if (access(group_mount(unified), F_OK) != 0)
            continue;
        printf("%zu jobs, cgroup %s\n", job_count, unified ? "v2" : "v1");
        one_task(unified);
        eight_threads(unified);
    }
    free(groups);
    free(pids);
    return 0;
}
