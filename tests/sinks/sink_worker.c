/* The worker of a sink: delivery from the journal, retries, and the position after a restart. */
#include "tools/unit.h"

#include "base/clock.h"
#include "sinks/sink_worker.h"
#include "tools/caught.h"
#include "tools/temp.h"
#include "journal/stream.h"

#include <poll.h>
#include <stdatomic.h>

/* Behaviour and observations of the sink of this test. */
static struct {
    atomic_uint failures_left, opened, closed, written, flushed;
    _Atomic enum err fails_with, open_fails_with, flush_fails_with;
    _Atomic uint64_t last, resume, gaps;
    atomic_bool remembers;
    char source[128];
    uint64_t opening, opened_at;
} test_sink;

static enum err test_sink_open(void *state)
{
    (void)state;
    if (test_sink.open_fails_with)
        return test_sink.open_fails_with;
    test_sink.opened++;
    return OK;
}

static enum err test_sink_write(void *state, const struct batch *batch)
{
    (void)state;
    if (test_sink.failures_left) {
        test_sink.failures_left--;
        return test_sink.fails_with;
    }
    for (size_t i = 0; i < batch->count; i++)
        test_sink.last = batch->samples[i].values[0].u64;
    test_sink.written++;
    test_sink.gaps += batch->gap_count;
    if (test_sink.remembers)
        test_sink.resume = batch->position;
    return OK;
}

static enum err test_sink_flush(void *state, uint64_t deadline_ns)
{
    (void)state;
    (void)deadline_ns;
    test_sink.flushed++;
    return test_sink.flush_fails_with;
}

static void test_sink_close(void *state)
{
    (void)state;
    test_sink.closed++;
}

static enum err test_sink_resume(void *state, uint64_t *position)
{
    (void)state;
    *position = test_sink.resume;
    return OK;
}

static void test_sink_source(void *state, const struct sink_source *source)
{
    (void)state;
    snprintf(test_sink.source, sizeof test_sink.source, "%s", source->name);
    test_sink.opening = source->opening;
    test_sink.opened_at = source->opened_at;
}

struct plain_state {
    const char *path;
};
static const struct setting plain_settings[] = {
    { "path", SETTING_TEXT, NULL, offsetof(struct plain_state, path), "" },
    { 0 },
};
static const struct sink sink_plain = {
    .name = "plain", .state_size = sizeof(struct plain_state), .settings = plain_settings,
    .open = test_sink_open, .write = test_sink_write, .flush = test_sink_flush,
    .close = test_sink_close,
};
static const struct sink sink_remembers = {
    .name = "remembers", .state_size = 1, .open = test_sink_open, .write = test_sink_write, .flush = test_sink_flush,
    .close = test_sink_close,
    .resume = test_sink_resume, .source = test_sink_source,
};

static const struct metric metrics[] = { { "n", "1", COUNTER, U64, "" } };
static const struct set set = { "load", metrics, 1 };

struct fixture {
    char dir[TEMP_PATH_MAX];
    struct journal *journal;
    struct delta_stream *encoder;
    uint64_t sequence;
    struct sink_worker *worker;
};

static void open_journal(struct fixture *f)
{
    struct buf error;
    buf_init(&error, 1024);
    assert_int_equal(journal_open(&f->journal, f->dir, NULL, &error), OK);
    buf_clear(&error);
}

static int begin(void **state)
{
    static struct fixture f;
    f = (struct fixture){ 0 };
    memset(&test_sink, 0, sizeof test_sink);
    temp_dir(f.dir);
    open_journal(&f);
    assert_int_equal(stream_new(&f.encoder), OK);
    *state = &f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    sink_worker_close(&f->worker, 0);
    journal_close(&f->journal);
    stream_free(&f->encoder);
    temp_remove(f->dir);
    return 0;
}

static void put(struct fixture *f)
{
    struct batch batch;
    struct buf record, snapshot;
    batch_init(&batch);
    buf_init(&record, 65536);
    buf_init(&snapshot, 65536);
    stream_snapshot(f->encoder, &snapshot);
    sample_set_u64(batch_add(&batch, &set, (f->sequence + 1) * NS_PER_S, ""), 0, f->sequence + 1);
    assert_int_equal(stream_encode(f->encoder, &batch, &record), OK);
    struct journal_entry entry = { .kind = JOURNAL_SNAPSHOT, .host = "n1", .stream = 5, .sequence = f->sequence,
                                   .body = { snapshot.data, snapshot.size } };
    if (journal_needs_snapshot(f->journal, "n1", 5))
        assert_int_equal(journal_append(f->journal, &entry), OK);
    entry.kind = JOURNAL_RECORD;
    entry.sequence = ++f->sequence;
    entry.body = (struct bytes){ record.data, record.size };
    assert_int_equal(journal_append(f->journal, &entry), OK);
    batch_clear(&batch);
    buf_clear(&record);
    buf_clear(&snapshot);
}

static void open_outlet(struct fixture *f, const struct sink *sink)
{
    struct sink_choice choice = { .sink = sink };
    assert_int_equal(sink_worker_start(&f->worker, &(struct sink_worker_settings){ .journal = f->journal,
                                                                                   .choice = &choice }), OK);
}

static void wait_for_written(unsigned count)
{
    for (int i = 0; i < 600 && test_sink.written < count; i++)
        poll(NULL, 0, 50);
    assert_int_equal(test_sink.written, count);
}

static struct sink_worker_figures wait_for_done(struct fixture *f)
{
    struct sink_worker_figures figures = { .lag_bytes = 1 };
    for (int i = 0; i < 600 && (figures.lag_bytes || !figures.success_ns); i++) {
        poll(NULL, 0, 50);
        sink_worker_figures(f->worker, &figures);
    }
    assert_int_equal(figures.lag_bytes, 0);
    return figures;
}

static void restart(struct fixture *f)
{
    sink_worker_close(&f->worker, 100 * NS_PER_S);
    journal_close(&f->journal);
    open_journal(f);
}

static void worker_gets_all_batches_and_resumes_after_a_restart(void **state)
{
    struct fixture *f = *state;
    put(f);
    put(f);
    open_outlet(f, &sink_plain);
    wait_for_written(2);
    put(f);
    wait_for_written(3);
    struct sink_worker_figures figures = wait_for_done(f);
    assert_int_equal(figures.batches, 3);
    assert_int_equal(figures.state, SINK_WORKER_WRITING);
    assert_true(figures.rate > 0 && figures.rate < 1e9);
    restart(f);
    open_outlet(f, &sink_plain);
    put(f);
    wait_for_written(4); /* only the fourth */
    assert_int_equal(test_sink.last, 4);
}

static void a_failing_write_is_retried_and_logged_once(void **state)
{
    struct fixture *f = *state;
    test_sink.fails_with = IO;
    test_sink.failures_left = 3;
    catch_stderr();
    open_outlet(f, &sink_plain);
    put(f);
    put(f);
    wait_for_written(2);
    struct sink_worker_figures figures = wait_for_done(f);
    const char *text = caught_text();
    assert_non_null(strstr(text, "cannot write to the sink plain"));
    assert_non_null(strstr(text, "accepts samples again"));
    assert_int_equal(lines_in(text), 2);
    assert_int_equal(figures.failures, 3);
    assert_int_equal(figures.error[0], 0);
}

static void after_many_failures_the_sink_is_reopened_without_loss(void **state)
{
    struct fixture *f = *state;
    test_sink.fails_with = IO;
    test_sink.failures_left = 4;
    catch_stderr();
    open_outlet(f, &sink_plain);
    put(f);
    wait_for_written(1);
    wait_for_done(f);
    caught_text();
    assert_int_equal(test_sink.opened, 2);
    assert_int_equal(test_sink.closed, 1);
}

/* A sink that buffers accepts every batch, also while its server is down. */
static void buffered_batches_are_no_success(void **state)
{
    struct fixture *f = *state;
    struct sink_choice choice = { .sink = &sink_plain };
    struct sink_worker_figures figures = { 0 };
    assert_int_equal(setting_list_put(&choice.settings, "path", "postgresql://u:secret@db/x"), OK);
    test_sink.flush_fails_with = AGAIN;
    catch_stderr();
    put(f);
    put(f);
    assert_int_equal(sink_worker_start(&f->worker, &(struct sink_worker_settings){ .journal = f->journal, .choice = &choice }),
                     OK);
    for (int i = 0; i < 600 && figures.failures < 5; i++) { /* after the fourth it is reopened, and both are written again */
        poll(NULL, 0, 50);
        sink_worker_figures(f->worker, &figures);
    }
    assert_int_equal(figures.state, SINK_WORKER_FAILING);
    assert_int_equal(test_sink.written, 4);
    assert_int_equal(figures.samples, 2);
    test_sink.flush_fails_with = OK;
    sink_worker_reopen(f->worker); /* ends the back-off */
    figures = wait_for_done(f);
    const char *text = caught_text();
    assert_int_equal(lines_in(text), 2);
    assert_non_null(strstr(text, "cannot write to the sink plain:path=postgresql://u:***@db/x: "));
    assert_non_null(strstr(text, "the sink plain:path=postgresql://u:***@db/x accepts samples again"));
    assert_int_equal(figures.state, SINK_WORKER_WRITING);
    assert_int_equal(figures.samples, 2);
    setting_list_clear(&choice.settings);
}

static void a_sink_that_cannot_be_opened_misses_nothing(void **state)
{
    struct fixture *f = *state;
    test_sink.open_fails_with = ABSENT;
    catch_stderr();
    open_outlet(f, &sink_plain);
    put(f);
    put(f);
    struct sink_worker_figures figures = { 0 };
    for (int i = 0; i < 600 && !figures.lag_bytes; i++) {
        poll(NULL, 0, 50);
        sink_worker_figures(f->worker, &figures);
    }
    assert_true(figures.lag_bytes > 0);
    assert_int_equal(figures.state, SINK_WORKER_FAILING);
    journal_maintain(f->journal, clock_realtime_ns());
    test_sink.open_fails_with = OK;
    sink_worker_reopen(f->worker); /* ends the back-off */
    wait_for_written(2);
    wait_for_done(f);
    caught_text();
}

static void close_does_not_wait_for_a_failing_sink(void **state)
{
    struct fixture *f = *state;
    test_sink.fails_with = IO;
    test_sink.failures_left = 1000000;
    catch_stderr();
    open_outlet(f, &sink_plain);
    put(f);
    poll(NULL, 0, 300);
    uint64_t begin_ns = clock_monotonic_ns();
    sink_worker_close(&f->worker, 100 * NS_PER_S);
    assert_true(clock_monotonic_ns() - begin_ns < 50 * NS_PER_S);
    caught_text();
    test_sink.failures_left = 0;
    open_outlet(f, &sink_plain);
    wait_for_written(1);
}

static void close_writes_the_rest_of_the_journal(void **state)
{
    struct fixture *f = *state;
    open_outlet(f, &sink_plain);
    for (int i = 0; i < 100; i++)
        put(f);
    sink_worker_close(&f->worker, 10 * NS_PER_S);
    assert_int_equal(test_sink.written, 100);
    assert_true(test_sink.flushed >= 1);
}

static enum err take_piece(void *context, const char *host, const struct batch_piece *piece, struct buf *error)
{
    assert_string_equal(host, "n1");
    unsigned *pieces = context;
    buf_add_text(error, "not yet");
    return piece->offset == 7 && ++*pieces > 2 ? OK : AGAIN;
}

static void put_piece(struct fixture *f)
{
    struct batch_piece piece = { .name = "run", .offset = 7, .total = 9, .data = { "ab", 2 } };
    struct batch batch = { .piece = &piece };
    struct buf record;
    buf_init(&record, 65536);
    assert_int_equal(stream_encode(f->encoder, &batch, &record), OK);
    struct journal_entry entry = { .kind = JOURNAL_RECORD, .host = "n1", .stream = 5, .sequence = ++f->sequence,
                                   .body = { record.data, record.size } };
    assert_int_equal(journal_append(f->journal, &entry), OK);
    buf_clear(&record);
}

/* The caller may pass an open sink; parts of runs are delivered again until they are accepted. */
static void worker_delivers_parts_of_runs(void **state)
{
    struct fixture *f = *state;
    unsigned pieces = 0;
    struct sink_choice choice = { .sink = &sink_plain };
    struct sink_worker_settings settings = { .journal = f->journal, .choice = &choice, .take_piece = take_piece,
                                             .context = &pieces };
    put(f);
    put_piece(f);
    put(f);
    catch_stderr();
    assert_int_equal(sink_worker_start(&f->worker, &settings), OK);
    wait_for_written(3);
    wait_for_done(f);
    assert_non_null(strstr(caught_text(), "cannot save a run in the sink plain: not yet."));
    assert_int_equal(test_sink.opened, 1);
    assert_int_equal(pieces, 3);
}

static void cursor_names_belong_to_their_sinks(void **state)
{
    (void)state;
    struct sink_choice choices[] = { { .sink = &sink_plain }, { .sink = &sink_remembers } };
    char name[64];
    sink_worker_name(&choices[1], name);
    assert_true(sink_worker_name_is_used(name, choices, 2));
    assert_false(sink_worker_name_is_used(name, choices, 1));
    assert_true(sink_worker_name_is_used("uplink", choices, 0));
}

static void a_sink_with_resume_starts_at_its_own_position(void **state)
{
    struct fixture *f = *state;
    test_sink.remembers = true;
    open_outlet(f, &sink_remembers);
    put(f);
    wait_for_written(1);
    uint64_t first = test_sink.resume, opening = test_sink.opening;
    char name[sizeof test_sink.source];
    snprintf(name, sizeof name, "%s", test_sink.source);
    assert_true(test_sink.opened_at < first);
    put(f);
    put(f);
    wait_for_written(3);
    restart(f);
    test_sink.resume = first; /* a crash lost the last two */
    open_outlet(f, &sink_remembers);
    wait_for_written(5);
    assert_int_equal(test_sink.last, 3);
    /* the name of the reader is stable, the opening number is not */
    assert_non_null(strstr(name, "sink-remembers-"));
    assert_string_equal(test_sink.source, name);
    assert_int_not_equal(test_sink.opening, opening);
    assert_true(test_sink.opened_at > first);
}

static void a_closed_pipe_ends_the_worker(void **state)
{
    struct fixture *f = *state;
    test_sink.fails_with = GONE;
    test_sink.failures_left = 1000000;
    open_outlet(f, &sink_plain);
    put(f);
    struct sink_worker_figures figures = { 0 };
    for (int i = 0; i < 600 && figures.state != SINK_WORKER_CLOSED; i++) {
        poll(NULL, 0, 50);
        sink_worker_figures(f->worker, &figures);
    }
    assert_int_equal(figures.state, SINK_WORKER_CLOSED);
    assert_int_equal(test_sink.closed, 1);
}

static void cursor_names_are_stable(void **state)
{
    (void)state;
    struct sink_choice choice = { .sink = &sink_plain };
    char one[64], other[64];
    sink_worker_name(&choice, one);
    sink_worker_name(&choice, other);
    assert_string_equal(one, other);
    assert_int_equal(setting_list_put(&choice.settings, "path", "/x"), OK);
    sink_worker_name(&choice, other);
    assert_string_not_equal(one, other);
    assert_int_equal(setting_list_put(&choice.settings, "password", "secret"), OK);
    assert_int_equal(setting_list_put(&choice.settings, "url", "http://u:secret@h/"), OK);
    sink_worker_name(&choice, other);
    assert_string_equal(other, "sink-plain-33c86666"); /* as on the disks of running installations */
    setting_list_clear(&choice.settings);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(worker_gets_all_batches_and_resumes_after_a_restart),
        TEST(a_failing_write_is_retried_and_logged_once),
        TEST(after_many_failures_the_sink_is_reopened_without_loss),
        TEST(buffered_batches_are_no_success),
        TEST(a_sink_that_cannot_be_opened_misses_nothing),
        TEST(close_does_not_wait_for_a_failing_sink),
        TEST(close_writes_the_rest_of_the_journal),
        TEST(a_sink_with_resume_starts_at_its_own_position),
        TEST(worker_delivers_parts_of_runs),
        TEST(a_closed_pipe_ends_the_worker),
        cmocka_unit_test(cursor_names_belong_to_their_sinks),
        cmocka_unit_test(cursor_names_are_stable),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
