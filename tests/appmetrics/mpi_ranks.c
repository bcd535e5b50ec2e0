/* Ranks of jobs: programs that run one after another are one series, which goes on in an agent that is started again.
 * The programs are children of this test, each of them rank 3 of four. */
#include "model/program_sets.h"
#include "probe/segment/segment.h"
#include "appmetrics/segments.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <sys/wait.h>
#include <unistd.h>

static char dir[TEMP_PATH_MAX];
static struct registry *registry;
static struct segments *segments;
static struct program_jobs jobs;
static struct batch batch;

static void start(void)
{
    struct segments_settings settings = { .dir = dir, .root = "", .registry = NULL, .jobs = &jobs };
    assert_int_equal(registry_open(&registry, &(struct registry_settings){ .host = "n1" }), OK);
    settings.registry = registry;
    jobs = (struct program_jobs){ .root = "" };
    assert_int_equal(segments_open(&segments, &settings), OK);
}

static void stop(void)
{
    segments_close(&segments);
    program_jobs_clear(&jobs);
    registry_close(&registry);
}

static int open_all(void **state)
{
    (void)state;
    temp_dir(dir);
    setenv(SEGMENT_ENV_DIR, dir, 1);
    batch_init(&batch);
    start();
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    stop();
    batch_clear(&batch);
    temp_remove(dir);
    return 0;
}

/* That we and our children are in. */
static void tell_job(void)
{
    struct job job = { .id = "night", .other_id = "", .source = "told", .user = "", .uid = getuid(), .cgroup = "" };
    job.pid = (uint32_t)getpid();
    program_jobs_update(&jobs, registry, &job, JOB_BEGIN);
}

static void restart(void)
{
    stop();
    start();
    tell_job();
}

struct program {
    pid_t pid;
    int to[2], from[2];
};

static void send(struct segment *segment, unsigned calls)
{
    static const struct segment_description sends = {
        .name = "mpi_calls_total", .labels = "function=\"MPI_Send\"", .kind = SEGMENT_COUNTER, .type = SEGMENT_U64,
    };
    static const struct segment_description bytes = {
        .name = "mpi_peer_bytes_total", .labels = "to=\"1\"", .kind = SEGMENT_COUNTER, .type = SEGMENT_U64,
    };
    segment_add_u64(segment_slots(segment, segment_metric(segment, &sends)), calls);
    segment_add_u64(segment_slots(segment, segment_metric(segment, &bytes)), 10ull * calls);
}

/* Sends as often as the pipe says, until it is closed. */
static void be_program(const struct program *program, uint64_t number)
{
    static struct segment segment;
    unsigned char calls;
    for (int fd = 3; fd < 256; fd++) /* those of others, and of the agent */
        if (fd != program->to[0] && fd != program->from[1])
            close(fd);
    segment_open(&segment, "mpi");
    segment_set_world(&segment, number, 0);
    segment_set_rank(&segment, 3, 4);
    while (read(program->to[0], &calls, 1) == 1) {
        send(&segment, calls);
        if (write(program->from[1], &calls, 1) != 1)
            _exit(1);
    }
    _exit(0);
}

static void look(void)
{
    batch_reset(&batch);
    segments_tick(segments);
    segments_sample(segments, &batch, 1);
    segments_forget_finished(segments);
}

static void count(const struct program *program, unsigned char calls)
{
    assert_int_equal(write(program->to[1], &calls, 1), 1);
    assert_int_equal(read(program->from[0], &calls, 1), 1);
    look();
}

static void begin(struct program *program, uint64_t number, unsigned char calls)
{
    assert_int_equal(pipe(program->to) | pipe(program->from), 0);
    program->pid = fork();
    if (!program->pid)
        be_program(program, number);
    count(program, calls);
}

/* No tick has happened yet. */
static void end_unseen(const struct program *program)
{
    close(program->to[1]);
    assert_int_equal(waitpid(program->pid, NULL, 0), program->pid);
    close(program->to[0]);
    close(program->from[0]);
    close(program->from[1]);
}

static void end(const struct program *program)
{
    end_unseen(program);
    look();
}

/* The first value of what was sampled last; 0: nothing new. */
static uint64_t sampled_value(const char *instance)
{
    for (size_t i = 0; i < batch.count; i++)
        if (strcmp(batch.samples[i].instance, instance) == 0)
            return batch.samples[i].values[strchr(instance, '>') ? MPI_PEER_BYTES : MPI_CALLS].u64;
    return 0;
}

/* As from one line of a script to the next. */
static void next_program_continues_the_series_of_an_ended_one(void **state)
{
    struct program one, two;
    (void)state;
    tell_job();
    begin(&one, 11, 7);
    end_unseen(&one);
    begin(&two, 22, 5);
    assert_int_equal(sampled_value("3/MPI_Send"), 12);
    assert_int_equal(sampled_value("3#2/MPI_Send"), 0);
    end(&two);
}

static void sums_of_ended_programs_are_restored(void **state)
{
    struct program one, two;
    (void)state;
    tell_job();
    begin(&one, 11, 7);
    assert_int_equal(sampled_value("3/MPI_Send"), 7);
    end(&one);
    begin(&two, 22, 5);
    assert_int_equal(sampled_value("3/MPI_Send"), 12);
    for (unsigned char i = 1; i <= 2; i++) { /* the second time from what the first one has saved */
        restart();
        count(&two, 1);
        assert_int_equal(sampled_value("3/MPI_Send"), 12 + i);
        assert_int_equal(sampled_value("3/"), 12 + i);
        assert_int_equal(sampled_value("3>1"), 10 * (12 + i));
    }
    end(&two);
    restart();
    begin(&one, 33, 4);
    assert_int_equal(sampled_value("3/MPI_Send"), 18);
    end(&one);
}

static void baseline_before_the_job_is_restored(void **state)
{
    struct program one, two;
    (void)state;
    begin(&one, 11, 7);
    tell_job();
    count(&one, 4);
    assert_int_equal(sampled_value("3/MPI_Send"), 4);
    for (unsigned char i = 1; i <= 2; i++) {
        restart();
        count(&one, 1);
        assert_int_equal(sampled_value("3/MPI_Send"), 4 + i);
        assert_int_equal(sampled_value("3/"), 4 + i);
        assert_int_equal(sampled_value("3>1"), 10 * (4 + i));
    }
    end(&one);
    restart();
    begin(&two, 22, 5);
    assert_int_equal(sampled_value("3/MPI_Send"), 11);
    end(&two);
}

static void concurrent_programs_keep_their_numbers(void **state)
{
    struct program one, two;
    (void)state;
    tell_job();
    begin(&one, 11, 7);
    begin(&two, 22, 5);
    assert_int_equal(sampled_value("3#2/MPI_Send"), 5);
    restart();
    count(&one, 1);
    assert_int_equal(sampled_value("3/MPI_Send"), 8);
    assert_int_equal(sampled_value("3#2/MPI_Send"), 5);
    end(&two);
    begin(&two, 33, 5);
    assert_int_equal(sampled_value("3#2/MPI_Send"), 10);
    end(&one);
    restart();
    count(&two, 2);
    assert_int_equal(sampled_value("3#2/MPI_Send"), 12);
    assert_int_equal(sampled_value("3/MPI_Send"), 0);
    end(&two);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(next_program_continues_the_series_of_an_ended_one),
        T(sums_of_ended_programs_are_restored), T(baseline_before_the_job_is_restored),
        T(concurrent_programs_keep_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
