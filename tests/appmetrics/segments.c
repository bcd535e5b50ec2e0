/* The segments of a directory are found, read, and removed when their program has ended; samples of ranks. The programs
 * are children of this test, with segments of their own. */
#include "model/program_sets.h"
#include "probe/segment/segment.h"
#include "appmetrics/segments.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <dirent.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[TEMP_PATH_MAX];
static struct registry *registry;
static struct segments *segments;
static struct program_jobs jobs;
static uint64_t other_space; /* than the one that the next program is in: 0, the true one */

static int open_all(void **state)
{
    (void)state;
    temp_dir(dir);
    setenv(SEGMENT_ENV_DIR, dir, 1);
    if (registry_open(&registry, &(struct registry_settings){ .host = "n1" }))
        return 1;
    struct segments_settings settings = { .dir = dir, .root = "", .registry = registry, .is_run = true };
    return (int)segments_open(&segments, &settings);
}

static int close_all(void **state)
{
    (void)state;
    segments_close(&segments);
    program_jobs_clear(&jobs);
    registry_close(&registry);
    temp_remove(dir);
    return 0;
}

static size_t files(void)
{
    size_t count = 0;
    DIR *stream = opendir(dir);
    if (!stream)
        return 0;
    for (const struct dirent *entry; (entry = readdir(stream));)
        count += entry->d_name[0] != '.';
    closedir(stream);
    return count;
}

static void add(struct segment *segment, const char *name, const char *labels, uint64_t value)
{
    struct segment_description description = { .name = name, .labels = labels, .kind = SEGMENT_COUNTER, .type = SEGMENT_U64 };
    segment_add_u64(segment_slots(segment, segment_metric(segment, &description)), value);
}

/* Counts, reports that through the pipe, and waits until the pipe closes; then counts again and exits without notice. */
static pid_t begin_program(int ready[2], int stay[2])
{
    static struct segment segment;
    char c;
    assert_int_equal(pipe(ready) | pipe(stay), 0);
    pid_t pid = fork();
    if (pid)
        return pid;
    close(stay[1]);
    segment_open(&segment, "mpi");
    ((struct segment_header *)(void *)segment.base)->pid_space ^= other_space;
    segment_set_rank(&segment, 3, 4);
    add(&segment, "x_total", NULL, 5);
    add(&segment, "mpi_calls_total", "function=\"MPI_Send\"", 7);
    add(&segment, "mpi_peer_bytes_total", "to=\"1\"", 70);
    add(&segment, "mpi_peer_bytes_total", "to=\"elsewhere\"", 50);
    _exit(write(ready[1], "r", 1) == 1 && read(stay[0], &c, 1) == 0 ? (add(&segment, "x_total", NULL, 1), 0) : 1);
}

static double total(const char *name)
{
    struct program_metric *metric = metric_table_find(&registry->metrics, bytes_of(name));
    return metric ? metric->values.node->total : -1;
}

static const struct sample *sample_of(const struct batch *batch, const char *instance)
{
    for (size_t i = 0; i < batch->count; i++)
        if (strcmp(batch->samples[i].instance, instance) == 0)
            return &batch->samples[i];
    return NULL;
}

static void program_is_read_to_its_end_and_forgotten(void **state)
{
    int ready[2], stay[2];
    char c;
    struct batch batch;
    (void)state;
    batch_init(&batch);
    pid_t pid = begin_program(ready, stay);
    assert_int_equal(read(ready[0], &c, 1), 1);
    segments_tick(segments);
    assert_true(total("x_total") == 5);
    assert_int_equal(registry->stats.segments, 1);
    assert_true(total("mpi_peer_bytes_total{to=\"1\"}") < 0); /* a matter of ranks */
    segments_sample(segments, &batch, 1);
    assert_int_equal(sample_of(&batch, "3/MPI_Send")->values[MPI_CALLS].u64, 7);
    assert_int_equal(sample_of(&batch, "3/")->values[MPI_CALLS].u64, 7);
    assert_int_equal(sample_of(&batch, "3>1")->values[MPI_PEER_BYTES].u64, 70);
    assert_int_equal(sample_of(&batch, "3>elsewhere")->values[MPI_PEER_BYTES].u64, 50);
    uint64_t life_ns = sample_of(&batch, "3/")->values[MPI_LIFE].u64;
    usleep(50000);
    close(stay[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    segments_tick(segments);
    assert_true(total("x_total") == 6);
    batch_reset(&batch);
    segments_sample(segments, &batch, 2);
    assert_null(sample_of(&batch, "3/MPI_Send")); /* nothing new */
    assert_true(sample_of(&batch, "3/")->values[MPI_LIFE].u64 >= life_ns + 50000000); /* until it was found to have ended */
    segments_forget_finished(segments);
    assert_int_equal(segments_count(segments), 0);
    assert_int_equal(registry->stats.segments, 0);
    assert_int_equal(files(), 0);
    batch_clear(&batch);
    close(ready[0]);
    close(ready[1]);
    close(stay[0]);
}

/* Sets the gauge "level" in the segment, and returns how many programs have set it in the registry. */
static uint64_t set_level(struct segment *segment, double value)
{
    struct segment_description description = { .name = "level", .kind = SEGMENT_GAUGE, .type = SEGMENT_F64 };
    segment_gauge_set(segment_slots(segment, segment_metric(segment, &description)), value);
    segments_tick(segments);
    struct program_metric *metric = metric_table_find(&registry->metrics, bytes_of("level"));
    assert_non_null(metric);
    cells_refresh_gauges(metric);
    return metric->values.node->gauge.programs;
}

static void nan_gauge_is_unset(void **state)
{
    static struct segment segment;
    (void)state;
    segment_open(&segment, "sonde");
    assert_int_equal(set_level(&segment, 7), 1);
    assert_int_equal(set_level(&segment, NAN), 0);
    assert_int_equal(set_level(&segment, NAN), 0);
    assert_int_equal(set_level(&segment, INFINITY), 1);
    assert_int_equal(set_level(&segment, NAN), 0);
    segment_end(&segment);
}

static void unpublished_metrics_are_counted(void **state)
{
    static struct segment segment;
    (void)state;
    segment_open(&segment, "sonde");
    add(&segment, "x_total", NULL, 5);
    struct segment_header *header = (void *)segment.base;
    for (uint64_t i = 1; i <= 2; i++) {
        header->lost += 3;
        segments_tick(segments);
        segments_tick(segments);
        assert_int_equal(registry->stats.unpublished, 3 * i);
    }
    segment_end(&segment);
}

struct pipes {
    int ready[2], stay[2];
};

static pid_t begin_ready(struct pipes *pipes)
{
    char c;
    pid_t pid = begin_program(pipes->ready, pipes->stay);
    assert_int_equal(read(pipes->ready[0], &c, 1), 1);
    return pid;
}

static void end_program(struct pipes *pipes, pid_t pid)
{
    close(pipes->stay[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(pipes->stay[0]);
    close(pipes->ready[0]);
    close(pipes->ready[1]);
}

/* The calls of a rank in the next samples; each series must be there once. */
static uint64_t sampled_calls(uint64_t time_ns)
{
    struct batch batch;
    batch_init(&batch);
    segments_tick(segments);
    segments_sample(segments, &batch, time_ns);
    for (size_t i = 0; i < batch.count; i++)
        assert_ptr_equal(sample_of(&batch, batch.samples[i].instance), &batch.samples[i]);
    const struct sample *sample = sample_of(&batch, "3/MPI_Send"), *whole = sample_of(&batch, "3/");
    uint64_t calls = sample ? sample->values[MPI_CALLS].u64 : 0;
    if (sample)
        assert_int_equal(whole->values[MPI_CALLS].u64, calls);
    batch_clear(&batch);
    segments_forget_finished(segments);
    return calls;
}

static void programs_with_the_same_rank_are_one_series(void **state)
{
    struct pipes one, two, later;
    (void)state;
    pid_t first = begin_ready(&one);
    pid_t second = begin_ready(&two);
    assert_int_equal(sampled_calls(1), 14);
    end_program(&two, second); /* first: it has a copy of the other's pipe */
    end_program(&one, first);
    assert_int_equal(sampled_calls(2), 0); /* nothing new */
    assert_int_equal(segments_count(segments), 0);
    pid_t third = begin_ready(&later);
    assert_int_equal(sampled_calls(3), 21); /* a counter does not fall when the next mpirun begins */
    end_program(&later, third);
}

static void write_process(pid_t pid, const char *file, const char *text)
{
    char path[TEMP_PATH_MAX], name[64];
    snprintf(name, sizeof name, "root/proc/%d/%s", (int)pid, file);
    temp_join(path, dir, name);
    temp_write(path, text, strlen(text));
}

/* What the program that now begins has counted for job 4711, in whose cgroup a process with its pid is. */
static double counted_for_the_job(void)
{
    struct pipes pipes;
    char status[64];
    pid_t pid = begin_ready(&pipes);
    snprintf(status, sizeof status, "Uid:\t%u\n", (unsigned)getuid());
    write_process(pid, "status", status);
    write_process(pid, "cgroup", "4:memory:/slurm/uid_0/job_4711/step_0\n");
    segments_tick(segments);
    segments_forget_finished(segments);
    end_program(&pipes, pid);
    double counted = 0;
    const struct program_metric *metric = metric_table_find(&registry->metrics, bytes_of("x_total"));
    const struct cell *cell;
    LIST_FOREACH(cell, &metric->values.cells, in_metric)
        counted += cell->scope->kind == SCOPE_JOB ? cell->total : 0;
    return counted;
}

static void pid_of_another_namespace_is_ignored(void **state)
{
    char root[TEMP_PATH_MAX];
    (void)state;
    temp_join(root, dir, "root");
    jobs = (struct program_jobs){ .root = root };
    struct job job = { .id = "4711", .other_id = "", .source = "slurm", .user = "u", .uid = getuid(), .cgroup = "" };
    program_jobs_update(&jobs, registry, &job, JOB_BEGIN);
    segments_close(&segments);
    struct segments_settings settings = { .dir = dir, .root = "", .registry = registry, .jobs = &jobs, .is_run = true };
    assert_int_equal(segments_open(&segments, &settings), OK);
    other_space = 1;
    double of_another = counted_for_the_job();
    other_space = 0;
    assert_true(of_another == 0);
    assert_true(counted_for_the_job() == 5);
}

static double total_of_job(const char *name, const char *job)
{
    struct program_metric *metric = metric_table_find(&registry->metrics, bytes_of(name));
    const struct cell *cell = metric ? LIST_FIRST(&metric->values.cells) : NULL;
    for (; cell; cell = LIST_NEXT(cell, in_metric))
        if (cell->scope->id && strcmp(cell->scope->id, job) == 0)
            return cell->total;
    return -1;
}

static void open_with_jobs(void)
{
    segments_close(&segments);
    jobs = (struct program_jobs){ .root = "" };
    struct segments_settings settings = { .dir = dir, .root = "", .registry = registry, .jobs = &jobs, .is_run = true };
    assert_int_equal(segments_open(&segments, &settings), OK);
}

static void running_program_moves_into_a_declared_job(void **state)
{
    static struct segment segment;
    struct batch batch;
    (void)state;
    open_with_jobs();
    batch_init(&batch);
    segment_open(&segment, "mpi");
    segment_set_rank(&segment, 0, 1);
    add(&segment, "x_total", NULL, 5);
    add(&segment, "mpi_calls_total", "function=\"MPI_Send\"", 7);
    assert_int_equal(set_level(&segment, 3), 1);
    segments_sample(segments, &batch, 1);
    struct job job = { .id = "night", .other_id = "", .source = "told", .user = "", .cgroup = "", .pid = (uint32_t)getpid() };
    program_jobs_update(&jobs, registry, &job, JOB_BEGIN);
    add(&segment, "x_total", NULL, 2);
    add(&segment, "mpi_calls_total", "function=\"MPI_Send\"", 4);
    segments_tick(segments);
    assert_true(total("x_total") == 7);
    assert_true(total_of_job("x_total", "night") == 2); /* what was counted before was not the job's */
    struct program_metric *level = metric_table_find(&registry->metrics, bytes_of("level"));
    cells_refresh_gauges(level);
    assert_int_equal(level->values.node->gauge.programs, 1);
    assert_int_equal(LIST_FIRST(&level->values.cells)->gauge.programs, 1);
    batch_reset(&batch);
    segments_sample(segments, &batch, 2);
    assert_string_equal(sample_of(&batch, "0/MPI_Send")->job, "night");
    assert_int_equal(sample_of(&batch, "0/MPI_Send")->values[MPI_CALLS].u64, 4);
    program_jobs_update(&jobs, registry, &job, JOB_END);
    add(&segment, "x_total", NULL, 1);
    segments_tick(segments);
    assert_true(total_of_job("x_total", "night") == 3); /* as long as it lives */
    batch_clear(&batch);
    segment_end(&segment);
}

static void tell(const char *id, pid_t pid, enum job_event event)
{
    struct job job = { .id = id, .other_id = "", .source = "told", .user = "", .uid = getuid(), .cgroup = "" };
    job.pid = (uint32_t)pid;
    program_jobs_update(&jobs, registry, &job, event);
}

/* The farther job is that of our parent, the nearer one our own. */
static void program_moves_into_a_nearer_job(void **state)
{
    static struct segment segment;
    (void)state;
    open_with_jobs();
    tell("far", getppid(), JOB_BEGIN);
    segment_open(&segment, "sonde");
    add(&segment, "x_total", NULL, 5);
    segments_tick(segments);
    tell("near", getpid(), JOB_BEGIN);
    add(&segment, "x_total", NULL, 10);
    segments_tick(segments);
    assert_true(total("x_total") == 15);
    assert_true(total_of_job("x_total", "far") == 5);
    assert_true(total_of_job("x_total", "near") == 10);
    tell("near", getpid(), JOB_END);
    tell("far too", getppid(), JOB_BEGIN);
    add(&segment, "x_total", NULL, 1);
    segments_tick(segments);
    assert_true(total_of_job("x_total", "near") == 10); /* it is over */
    segment_end(&segment);
}

static void program_stays_in_the_job_it_named(void **state)
{
    static struct segment segment;
    (void)state;
    open_with_jobs();
    setenv("SONDE_JOB", "named", 1);
    segment_open(&segment, "sonde");
    unsetenv("SONDE_JOB");
    tell("named", 0, JOB_BEGIN);
    add(&segment, "x_total", NULL, 5);
    segments_tick(segments);
    tell("told", getpid(), JOB_BEGIN);
    add(&segment, "x_total", NULL, 10);
    segments_tick(segments);
    assert_true(total_of_job("x_total", "named") == 15);
    segment_end(&segment);
}

/* Its job is its own, that of its parent another: the last that it counted is not its parent's. */
static void ended_program_stays_in_its_job(void **state)
{
    struct pipes pipes;
    (void)state;
    open_with_jobs();
    pid_t pid = begin_ready(&pipes);
    tell("own", pid, JOB_BEGIN);
    segments_tick(segments);
    assert_true(total_of_job("x_total", "own") == 5);
    tell("parent", getpid(), JOB_BEGIN);
    end_program(&pipes, pid);
    segments_tick(segments);
    assert_true(total_of_job("x_total", "own") == 6);
}

static void other_files_are_left_alone(void **state)
{
    char path[TEMP_PATH_MAX];
    (void)state;
    temp_join(path, dir, "sonde.1.sonde.8000000000000000");
    char nonsense[8192];
    memset(nonsense, 'x', sizeof nonsense);
    temp_write(path, nonsense, sizeof nonsense);
    temp_join(path, dir, "other");
    temp_write(path, "y", 1);
    segments_tick(segments);
    segments_forget_finished(segments);
    assert_int_equal(registry->stats.bad_segments, 1);
    assert_int_equal(files(), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(program_is_read_to_its_end_and_forgotten, open_all, close_all),
        cmocka_unit_test_setup_teardown(nan_gauge_is_unset, open_all, close_all),
        cmocka_unit_test_setup_teardown(unpublished_metrics_are_counted, open_all, close_all),
        cmocka_unit_test_setup_teardown(programs_with_the_same_rank_are_one_series, open_all, close_all),
        cmocka_unit_test_setup_teardown(pid_of_another_namespace_is_ignored, open_all, close_all),
        cmocka_unit_test_setup_teardown(running_program_moves_into_a_declared_job, open_all, close_all),
        cmocka_unit_test_setup_teardown(program_moves_into_a_nearer_job, open_all, close_all),
        cmocka_unit_test_setup_teardown(program_stays_in_the_job_it_named, open_all, close_all),
        cmocka_unit_test_setup_teardown(ended_program_stays_in_its_job, open_all, close_all),
        cmocka_unit_test_setup_teardown(other_files_are_left_alone, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
