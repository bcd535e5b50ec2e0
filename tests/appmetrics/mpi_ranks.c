/* Ranks of jobs: programs that run one after another are one series, which goes on in an agent that is started anew. The programs
 * are children of this test, each of them rank 3 of four. */
#include "model/program_sets.h"
#include "probe/segment/segment.h"
#include "appmetrics/segments.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <sys/wait.h>
#include <unistd.h>

static char folder[TEMP_PATH_MAX];
static struct registry *registry;
static struct segments *boards;
static struct program_jobs jobs;
static struct batch batch;

static void start(void)
{
    struct segments_settings settings = { .dir = folder, .root = "", .registry = NULL, .jobs = &jobs };
    assert_int_equal(registry_open(&registry, &(struct registry_settings){ .host = "n1" }), OK);
    settings.registry = registry;
    jobs = (struct program_jobs){ .root = "" };
    assert_int_equal(segments_open(&boards, &settings), OK);
}

static void stop(void)
{
    segments_close(&boards);
    program_jobs_clear(&jobs);
    registry_close(&registry);
}

static int open_all(void **state)
{
    (void)state;
    temp_dir(folder);
    setenv(SEGMENT_ENV_DIR, folder, 1);
    batch_init(&batch);
    start();
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    stop();
    batch_clear(&batch);
    temp_remove(folder);
    return 0;
}

/* That we and our children are in. */
static void tell_job(void)
{
    struct job job = { .id = "night", .other_id = "", .source = "told", .user = "", .uid = getuid(), .cgroup = "" };
    job.pid = (uint32_t)getpid();
    program_jobs_update(&jobs, registry, &job, JOB_BEGIN);
}

static void start_anew(void)
{
    stop();
    start();
    tell_job();
}

struct program {
    pid_t pid;
    int to[2], from[2];
};

static void send(struct segment *board, unsigned calls)
{
    static const struct segment_description sends = {
        .name = "mpi_calls_total", .labels = "function=\"MPI_Send\"", .kind = SEGMENT_COUNTER, .type = SEGMENT_U64,
    };
    static const struct segment_description bytes = {
        .name = "mpi_peer_bytes_total", .labels = "to=\"1\"", .kind = SEGMENT_COUNTER, .type = SEGMENT_U64,
    };
    segment_add_u64(segment_slots(board, segment_metric(board, &sends)), calls);
    segment_add_u64(segment_slots(board, segment_metric(board, &bytes)), 10ull * calls);
}

/* Sends as often as it is told, until nobody tells it any more. */
static void be_program(const struct program *program, uint64_t number)
{
    static struct segment board;
    unsigned char calls;
    for (int fd = 3; fd < 256; fd++) /* those of others, and of the agent */
        if (fd != program->to[0] && fd != program->from[1])
            close(fd);
    segment_open(&board, "mpi");
    segment_set_world(&board, number, 0);
    segment_set_rank(&board, 3, 4);
    while (read(program->to[0], &calls, 1) == 1) {
        send(&board, calls);
        if (write(program->from[1], &calls, 1) != 1)
            _exit(1);
    }
    _exit(0);
}

static void look(void)
{
    batch_reset(&batch);
    segments_tick(boards);
    segments_sample(boards, &batch, 1);
    segments_forget_finished(boards);
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

/* Nobody has looked yet. */
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
static uint64_t told(const char *instance)
{
    for (size_t i = 0; i < batch.count; i++)
        if (strcmp(batch.samples[i].instance, instance) == 0)
            return batch.samples[i].values[strchr(instance, '>') ? MPI_PEER_BYTES : MPI_CALLS].u64;
    return 0;
}

/* As from one line of a script to the next. */
static void a_program_that_begins_before_the_one_before_was_seen_to_end_goes_on_with_its_series(void **state)
{
    struct program one, two;
    (void)state;
    tell_job();
    begin(&one, 11, 7);
    end_unseen(&one);
    begin(&two, 22, 5);
    assert_int_equal(told("3/MPI_Send"), 12);
    assert_int_equal(told("3#2/MPI_Send"), 0);
    end(&two);
}

static void what_programs_did_that_have_gone_is_there(void **state)
{
    struct program one, two;
    (void)state;
    tell_job();
    begin(&one, 11, 7);
    assert_int_equal(told("3/MPI_Send"), 7);
    end(&one);
    begin(&two, 22, 5);
    assert_int_equal(told("3/MPI_Send"), 12);
    for (unsigned char i = 1; i <= 2; i++) { /* the second time from what the first one has kept on */
        start_anew();
        count(&two, 1);
        assert_int_equal(told("3/MPI_Send"), 12 + i);
        assert_int_equal(told("3/"), 12 + i);
        assert_int_equal(told("3>1"), 10 * (12 + i));
    }
    end(&two);
    start_anew();
    begin(&one, 33, 4);
    assert_int_equal(told("3/MPI_Send"), 18);
    end(&one);
}

static void what_a_program_did_before_its_job_is_not_there(void **state)
{
    struct program one, two;
    (void)state;
    begin(&one, 11, 7);
    tell_job();
    count(&one, 4);
    assert_int_equal(told("3/MPI_Send"), 4);
    for (unsigned char i = 1; i <= 2; i++) {
        start_anew();
        count(&one, 1);
        assert_int_equal(told("3/MPI_Send"), 4 + i);
        assert_int_equal(told("3/"), 4 + i);
        assert_int_equal(told("3>1"), 10 * (4 + i));
    }
    end(&one);
    start_anew();
    begin(&two, 22, 5);
    assert_int_equal(told("3/MPI_Send"), 11);
    end(&two);
}

static void programs_side_by_side_keep_their_numbers(void **state)
{
    struct program one, two;
    (void)state;
    tell_job();
    begin(&one, 11, 7);
    begin(&two, 22, 5);
    assert_int_equal(told("3#2/MPI_Send"), 5);
    start_anew();
    count(&one, 1);
    assert_int_equal(told("3/MPI_Send"), 8);
    assert_int_equal(told("3#2/MPI_Send"), 5);
    end(&two);
    begin(&two, 33, 5);
    assert_int_equal(told("3#2/MPI_Send"), 10);
    end(&one);
    start_anew();
    count(&two, 2);
    assert_int_equal(told("3#2/MPI_Send"), 12);
    assert_int_equal(told("3/MPI_Send"), 0);
    end(&two);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_program_that_begins_before_the_one_before_was_seen_to_end_goes_on_with_its_series),
        T(what_programs_did_that_have_gone_is_there), T(what_a_program_did_before_its_job_is_not_there),
        T(programs_side_by_side_keep_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
