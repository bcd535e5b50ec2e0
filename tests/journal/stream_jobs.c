/* Jobs, their events, and gaps through encoder and decoder. */
#include "journal/stream_pair.h"

static const struct metric metrics[] = { { "cpu", "us", COUNTER, U64, "", NULL } };
static const struct set set = { "cgroup", metrics, 1, NULL };

#define START_NS 1794796508000319262ull

static struct job job_of(const char *id)
{
    return (struct job){ .id = id, .other_id = "", .source = "slurm", .user = "ada", .uid = 1001, .start_ns = START_NS,
                         .cores_milli = 2000, .memory_bytes = 1ull << 33, .cgroup = "/here/only", .pid = 77, .slot = 3 };
}

static void add(struct batch *batch, const char *job, uint64_t value)
{
    struct sample *sample = batch_add(batch, &set, START_NS + value, "");
    sample->job = job;
    sample_set_u64(sample, 0, value);
}

static void give(struct batch *batch, const struct job *const *jobs, size_t count, const struct batch_event *events,
                 size_t event_count)
{
    batch->jobs = jobs;
    batch->job_count = count;
    batch->events = events;
    batch->event_count = event_count;
}

static void a_job_starts_changes_and_ends(void **state)
{
    (void)state;
    struct pair pair;
    struct batch batch;
    struct job job = job_of("4711");
    const struct job *jobs[] = { &job }, *const *held;
    pair_open(&pair);
    batch_init(&batch);
    add(&batch, NULL, 1);
    pair_pass(&pair, &batch);
    assert_int_equal(pair.out.job_count, 0);

    batch_reset(&batch);
    add(&batch, "4711", 2);
    give(&batch, jobs, 1, &(struct batch_event){ JOB_BEGIN, &job }, 1);
    pair_pass(&pair, &batch);
    assert_ptr_equal(pair.out.events[0].job, pair.out.jobs[0]);
    assert_ptr_equal(batch_job(&pair.out, &pair.out.samples[0]), pair.out.jobs[0]);
    assert_string_equal(pair.out.jobs[0]->cgroup, "");
    assert_int_equal(pair.out.jobs[0]->pid, 0);

    batch_reset(&batch); /* jobs NULL: the known ones continue */
    add(&batch, "4711", 3);
    pair_pass(&pair, &batch);
    assert_int_equal(pair.out.job_count, 1);

    job.user = "grace";
    job.uid = UINT32_MAX;
    batch_reset(&batch);
    give(&batch, jobs, 1, &(struct batch_event){ JOB_CHANGE, &job }, 1);
    pair_pass(&pair, &batch);
    assert_string_equal(pair.out.jobs[0]->user, "grace");
    pair_begin_in_the_middle(&pair);
    assert_int_equal(stream_jobs(pair.decoder, &held), 1);
    assert_same_job(held[0], &job);

    job.end_ns = START_NS + 100;
    batch_reset(&batch);
    add(&batch, "4711", 4);
    give(&batch, jobs, 1, &(struct batch_event){ JOB_END, &job }, 1);
    pair_pass(&pair, &batch);
    assert_int_equal(stream_jobs(pair.decoder, &held), 0);
    assert_int_equal(stream_jobs(pair.encoder, &held), 0);
    struct stream_track track;
    size_t at = 0; /* nothing of the job is left, but of the node there is */
    assert_true(stream_next(pair.decoder, &at, &track));
    assert_null(track.job);
    assert_false(stream_next(pair.decoder, &at, &track));
    batch_clear(&batch);
    pair_close(&pair);
}

static void a_job_may_start_and_end_in_one_batch(void **state)
{
    (void)state;
    struct pair pair;
    struct batch batch;
    struct job job = job_of("short"), again = job_of("short");
    const struct job *jobs[] = { &job, &again }, *const *held;
    pair_open(&pair);
    batch_init(&batch);
    job.end_ns = again.start_ns = START_NS + 5;
    add(&batch, "short", 1);
    struct batch_event events[] = { { JOB_BEGIN, &job }, { JOB_END, &job }, { JOB_BEGIN, &again } };
    give(&batch, jobs, 2, events, 3);
    pair_pass(&pair, &batch);
    assert_int_equal(stream_jobs(pair.decoder, &held), 1);
    assert_true(held[0]->start_ns == START_NS + 5);
    batch_reset(&batch);
    again.end_ns = START_NS + 6;
    give(&batch, jobs + 1, 1, &(struct batch_event){ JOB_END, &again }, 1);
    pair_pass(&pair, &batch);
    assert_int_equal(stream_jobs(pair.decoder, &held), 0);
    batch_clear(&batch);
    pair_close(&pair);
}

static void many_jobs_come_and_go(void **state)
{
    (void)state;
    static char ids[300][8];
    static struct job jobs[300];
    const struct job *running[300];
    struct batch_event events[2];
    struct pair pair;
    struct batch batch;
    size_t first = 0, end = 0;
    pair_open(&pair);
    batch_init(&batch);
    for (uint64_t tick = 0; end < 300; tick++) {
        size_t event_count = 0, count = 0;
        batch_reset(&batch);
        snprintf(ids[end], sizeof ids[end], "%zu", end);
        jobs[end] = job_of(ids[end]);
        events[event_count++] = (struct batch_event){ JOB_BEGIN, &jobs[end] };
        end++;
        for (size_t i = first; i < end; i++) {
            running[count++] = &jobs[i];
            add(&batch, ids[i], tick * i);
        }
        if (tick % 3 == 2) {
            jobs[first].end_ns = START_NS + tick;
            events[event_count++] = (struct batch_event){ JOB_END, &jobs[first++] };
        }
        give(&batch, running, count, events, event_count);
        pair_pass(&pair, &batch);
        if (tick % 50 == 49)
            pair_begin_in_the_middle(&pair);
    }
    batch_clear(&batch);
    pair_close(&pair);
}

/* Each is sampled once or twice: a job that starts one process after another. Without dropping, the stream would soon
 * be full. */
static void unlimited_processes_come_and_go(void **state)
{
    (void)state;
    static struct metric wide_metrics[40];
    static const struct set wide = { "process", wide_metrics, 40, "process" };
    char names[80][16];
    struct pair pair;
    struct batch batch;
    pair_open(&pair);
    batch_init(&batch);
    for (int i = 0; i < 40; i++)
        wide_metrics[i] = (struct metric){ "m", "1", COUNTER, U64, NULL, NULL };
    for (uint64_t tick = 0; tick < 600; tick++) {
        batch_reset(&batch);
        for (size_t i = 0; i < 80; i++) {
            snprintf(names[i], sizeof names[i], "%u", (unsigned)(tick * 80 + i));
            struct sample *sample = batch_add(&batch, &wide, START_NS + tick * 1000000000, names[i]);
            sample->job = "4711";
            sample_set_u64(sample, i % 40, tick);
        }
        buf_reset(&pair.record);
        assert_int_equal(stream_encode(pair.encoder, &batch, &pair.record), OK);
        assert_int_equal(stream_decode(pair.decoder, bytes_in(&pair.record), &pair.out), OK);
    }
    assert_same_state(&pair);
    assert_true(stream_memory(pair.decoder) < 16u << 20);
    batch_clear(&batch);
    pair_close(&pair);
}

static void a_job_missing_from_the_list_is_dropped(void **state)
{
    (void)state;
    struct pair pair;
    struct batch batch;
    struct job a = job_of("1"), b = job_of("2");
    const struct job *jobs[] = { &a, &b };
    pair_open(&pair);
    batch_init(&batch);
    give(&batch, jobs, 2, NULL, 0);
    pair_pass(&pair, &batch);
    give(&batch, jobs + 1, 1, NULL, 0);
    pair_pass(&pair, &batch);
    assert_int_equal(pair_pass(&pair, &batch), 1); /* nothing new */
    pair_close(&pair);
}

static void gaps_round_trip(void **state)
{
    (void)state;
    struct pair pair;
    struct batch batch;
    struct batch_gap gaps[] = { { START_NS, START_NS + 5, 3, "spool full" }, { 0, 0, 1, "" }, { 9, 3, UINT64_MAX, "damaged" } };
    pair_open(&pair);
    batch_init(&batch);
    batch.gaps = gaps;
    batch.gap_count = 3;
    pair_pass(&pair, &batch);
    batch_reset(&batch);
    pair_pass(&pair, &batch);
    pair_close(&pair);
}

static void too_many_jobs_are_refused_and_change_nothing(void **state)
{
    (void)state;
    static struct job jobs[5000];
    static char ids[5000][8];
    static const struct job *list[5000];
    struct pair pair;
    struct batch batch;
    pair_open(&pair);
    batch_init(&batch);
    for (int i = 0; i < 5000; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        jobs[i] = job_of(ids[i]);
        list[i] = &jobs[i];
    }
    give(&batch, list, 2, NULL, 0);
    pair_pass(&pair, &batch);
    give(&batch, list, 5000, NULL, 0);
    assert_int_equal(stream_encode(pair.encoder, &batch, &pair.record), FULL);
    assert_same_state(&pair);
    give(&batch, list, 4096, NULL, 0);
    pair_pass(&pair, &batch);
    pair_begin_in_the_middle(&pair);
    pair_close(&pair);
}

/* Like the system calls of a job: the first sample of each follows one of its start. */
static void an_instance_may_occur_twice_in_one_batch(void **state)
{
    (void)state;
    static const char names[5][2] = { "a", "b", "c", "d", "e" };
    struct pair pair;
    struct batch batch;
    pair_open(&pair);
    batch_init(&batch);
    for (uint64_t tick = 0; tick < 60; tick++) {
        batch_reset(&batch);
        for (uint64_t i = 0; i < 2 * (tick % 5 + 1); i++) {
            struct sample *sample = batch_add(&batch, &set, START_NS + (i % 2 ? tick : 0), names[i / 2]);
            sample->job = "4711";
            sample_set_u64(sample, 0, i % 2 ? tick * tick : 0);
        }
        pair_pass(&pair, &batch);
    }
    batch_clear(&batch);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_starts_changes_and_ends),
        cmocka_unit_test(a_job_may_start_and_end_in_one_batch),
        cmocka_unit_test(many_jobs_come_and_go),
        cmocka_unit_test(unlimited_processes_come_and_go),
        cmocka_unit_test(a_job_missing_from_the_list_is_dropped),
        cmocka_unit_test(an_instance_may_occur_twice_in_one_batch),
        cmocka_unit_test(gaps_round_trip),
        cmocka_unit_test(too_many_jobs_are_refused_and_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
