/* From batches to the journal: consecutive records, jobs with them, and a full disk. */
#include "agent/sender.h"

#include "agent/job_events.h"
#include "base/clock.h"
#include "tools/caught.h"
#include "tools/temp.h"
#include "tools/unit.h"
#include "journal/stream.h"

#include <signal.h>
#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static unsigned long calls;
#else
/* The C library's allocator under its internal names. Counted per thread: libzmq may allocate. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static __thread unsigned long calls;

void *malloc(size_t size)
{
    calls++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    calls++;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    calls++;
    return __libc_realloc(old, size);
}
#endif

static const struct metric metrics[] = { { "count", "1", COUNTER, U64, "how often" } };
static const struct set set = { "numbers", metrics, 1 };

static char dir[TEMP_PATH_MAX];
static struct sender *sender;
static struct buf error;
static uint64_t taken;

static void open_sender(void)
{
    struct uplink_config config = { .plain = true, .spool = dir };
    assert_int_equal(uplink_config_set(&config, "collector", "tcp://127.0.0.1:9", &error), OK); /* nothing listens there */
    enum err err = sender_open(&sender, &config, "node17", &error);
    config.spool = NULL;
    uplink_config_clear(&config);
    assert_int_equal(err, OK);
}

static int begin(void **state)
{
    (void)state;
    buf_init(&error, 4096);
    temp_dir(dir);
    taken = 0;
    open_sender();
    return 0;
}

static int end(void **state)
{
    (void)state;
    sender_close(&sender, 0);
    temp_remove(dir);
    buf_clear(&error);
    return 0;
}

static void take(const struct job_events *events)
{
    struct batch batch;
    batch_init(&batch);
    struct sample *sample = batch_add(&batch, &set, NS_PER_S * ++taken, "");
    sample_set_u64(sample, 0, taken);
    if (events)
        job_events_fill((struct job_events *)events, &batch);
    sender_add(sender, &batch);
    batch_clear(&batch);
}

struct reading {
    struct journal *journal;
    struct journal_reader *reader;
    struct delta_stream *stream;
    struct batch batch;
    uint64_t sequence;
};

static void read_begin(struct reading *reading)
{
    *reading = (struct reading){ 0 };
    sender_close(&sender, 0);
    batch_init(&reading->batch);
    assert_int_equal(stream_new(&reading->stream), OK);
    assert_int_equal(journal_open(&reading->journal, dir, &(struct journal_settings){ 0 }, &error), OK);
    assert_int_equal(journal_reader_open(reading->journal, &reading->reader, "test", true, 0), OK);
}

static bool read_next(struct reading *reading)
{
    struct journal_entry entry;
    enum err err;
    while ((err = journal_reader_next(reading->reader, &entry)) == OK && entry.kind == JOURNAL_SNAPSHOT)
        assert_int_equal(stream_restore(reading->stream, entry.body), OK);
    if (err)
        return false;
    assert_string_equal(entry.host, "node17");
    assert_int_equal(entry.sequence, ++reading->sequence);
    assert_int_equal(stream_decode(reading->stream, entry.body, &reading->batch), OK);
    return true;
}

static void read_end(struct reading *reading)
{
    journal_reader_close(&reading->reader);
    journal_close(&reading->journal);
    stream_free(&reading->stream);
    batch_clear(&reading->batch);
}

static void batches_are_in_the_journal(void **state)
{
    (void)state;
    struct reading reading;
    struct sender_figures figures;
    for (int i = 0; i < 10; i++)
        take(NULL);
    sender_maintain(sender);
    sender_figures(sender, &figures);
    assert_int_equal(figures.records, 10);
    assert_int_equal(figures.dropped, 0);
    assert_string_equal(figures.journal_dir, dir);
    read_begin(&reading);
    for (uint64_t i = 1; i <= 10; i++) {
        assert_true(read_next(&reading));
        assert_int_equal(reading.batch.samples[0].values[0].u64, i);
    }
    assert_false(read_next(&reading));
    read_end(&reading);
}

static void jobs_are_sent_with_samples(void **state)
{
    (void)state;
    struct reading reading;
    struct job_events events = { 0 };
    struct job job = { .id = "4711", .other_id = "", .source = "slurm", .user = "ann", .uid = 1000, .cgroup = "" };
    take(&events);
    assert_int_equal(job_events_begin(&events, &job, JOB_BEGIN), OK);
    take(&events);
    assert_false(job_events_end(&events, &job, JOB_BEGIN)); /* sender_add does not clear it: the agent does */
    take(&events);
    assert_int_equal(job_events_begin(&events, &job, JOB_END), OK);
    take(&events);
    job_events_end(&events, &job, JOB_END);
    take(&events);
    read_begin(&reading);
    assert_true(read_next(&reading));
    assert_int_equal(reading.batch.job_count, 0);
    assert_true(read_next(&reading));
    assert_int_equal(reading.batch.job_count, 1);
    assert_int_equal(reading.batch.event_count, 1);
    assert_int_equal(reading.batch.events[0].event, JOB_BEGIN);
    assert_string_equal(reading.batch.events[0].job->user, "ann");
    assert_true(read_next(&reading));
    assert_int_equal(reading.batch.job_count, 1);
    assert_int_equal(reading.batch.event_count, 0);
    assert_true(read_next(&reading));
    assert_int_equal(reading.batch.events[0].event, JOB_END);
    assert_string_equal(reading.batch.jobs[0]->id, "4711");
    assert_true(read_next(&reading));
    assert_int_equal(reading.batch.job_count, 0);
    read_end(&reading);
    job_events_clear(&events);
}

static void nothing_is_allocated_once_warm(void **state)
{
    (void)state;
    struct batch batch;
    batch_init(&batch);
    unsigned long before = 0;
    for (int i = 0; i < 2000; i++) {
        before = i == 200 ? calls : before;
        batch_reset(&batch);
        for (int k = 0; k < 50; k++) {
            struct sample *sample = batch_add(&batch, &set, NS_PER_S * ++taken, k % 2 ? "a" : "b");
            sample_set_u64(sample, 0, taken * 3);
        }
        sender_add(sender, &batch);
        sender_maintain(sender);
    }
    assert_int_equal(calls - before, 0);
    batch_clear(&batch);
}

/* A file size limit simulates a full disk. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void full_disk_is_reported_as_a_gap(void **state)
{
    (void)state;
    struct reading reading;
    struct sender_figures figures;
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 200; i++)
        take(NULL);
    catch_stderr();
    limit_files(2000); /* stderr, redirected to a file, stays below it */
    for (int i = 0; i < 5; i++)
        take(NULL);
    sender_figures(sender, &figures);
    bool has_trouble = figures.journal_error[0];
    limit_files(RLIM_INFINITY);
    take(NULL);
    take(NULL);
    const char *logged = caught_text();
    assert_non_null(strstr(logged, "cannot write the journal"));
    assert_non_null(strstr(logged, "5 readings were lost"));
    assert_int_equal(figures.dropped, 5);
    assert_true(has_trouble);
    sender_figures(sender, &figures);
    assert_string_equal(figures.journal_error, "");
    read_begin(&reading);
    for (int i = 0; i < 201; i++)
        assert_true(read_next(&reading));
    assert_int_equal(reading.batch.samples[0].values[0].u64, 206);
    assert_int_equal(reading.batch.gap_count, 1);
    assert_int_equal(reading.batch.gaps[0].batches, 5);
    assert_int_equal(reading.batch.gaps[0].from_ns, 201 * NS_PER_S);
    assert_int_equal(reading.batch.gaps[0].to_ns, 205 * NS_PER_S);
    assert_true(read_next(&reading));
    assert_int_equal(reading.batch.samples[0].values[0].u64, 207);
    assert_int_equal(reading.batch.gap_count, 0);
    read_end(&reading);
}

static void restart_adds_a_stream(void **state)
{
    (void)state;
    struct reading reading;
    take(NULL);
    sender_close(&sender, 0);
    open_sender();
    take(NULL);
    read_begin(&reading);
    assert_true(read_next(&reading));
    reading.sequence = 0;
    assert_true(read_next(&reading));
    assert_int_equal(reading.batch.samples[0].values[0].u64, 2);
    read_end(&reading);
}

static void journal_belongs_to_one_agent(void **state)
{
    (void)state;
    struct sender *other;
    struct uplink_config config = { .plain = true, .spool = dir };
    assert_int_equal(uplink_config_set(&config, "collector", "tcp://127.0.0.1:9", &error), OK);
    assert_int_equal(sender_open(&other, &config, "node17", &error), AGAIN);
    assert_true(error.size > 0);
    assert_true(sender_has_same_journal(sender, &config));
    config.spool = NULL;
    assert_false(sender_has_same_journal(sender, &config));
    uplink_config_clear(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(batches_are_in_the_journal, begin, end),
        cmocka_unit_test_setup_teardown(jobs_are_sent_with_samples, begin, end),
        cmocka_unit_test_setup_teardown(nothing_is_allocated_once_warm, begin, end),
        cmocka_unit_test_setup_teardown(full_disk_is_reported_as_a_gap, begin, end),
        cmocka_unit_test_setup_teardown(restart_adds_a_stream, begin, end),
        cmocka_unit_test_setup_teardown(journal_belongs_to_one_agent, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
