/* Minimum, mean, maximum and last value of each window, per host and per job over its hosts; each once, also after a
 * crash. */
#include "tools/unit.h"

#include "base/clock.h"
#include "sinks/stream_decoders.h"
#include "collector/rollup.h"
#include "collector/rollup_track.h"
#include "tools/temp.h"
#include "journal/stream.h"

#include <poll.h>

#define WINDOW_NS (60 * NS_PER_S)

static const struct metric metrics[] = {
    { "n", "1", COUNTER, U64, "" }, { "m", "B", GAUGE, I64, "" }, { "f", "1", GAUGE, F64, "" },
};
static const struct set set = { "load", metrics, 3, "device" };

struct writer {
    const char *host;
    struct delta_stream *encoder;
    uint64_t sequence;
};

struct fixture {
    char from_dir[TEMP_PATH_MAX], to_dir[TEMP_PATH_MAX];
    struct journal *from, *to;
    struct rollup *rollup;
    struct writer one, two;
    uint64_t base; /* a window */
};

static void open_journals(struct fixture *f)
{
    struct buf error;
    buf_init(&error, 1024);
    assert_int_equal(journal_open(&f->from, f->from_dir, NULL, &error), OK);
    assert_int_equal(journal_open(&f->to, f->to_dir, NULL, &error), OK);
    buf_clear(&error);
}

static void open_rollup(struct fixture *f)
{
    struct rollup_settings settings = { f->from, f->to, "top", WINDOW_NS };
    assert_int_equal(rollup_open(&f->rollup, &settings), OK);
}

static int begin(void **state)
{
    static struct fixture f;
    f = (struct fixture){ .one.host = "n1", .two.host = "n2", .base = clock_realtime_ns() / WINDOW_NS - 100 };
    temp_dir(f.from_dir);
    temp_dir(f.to_dir);
    open_journals(&f);
    assert_int_equal(stream_new(&f.one.encoder), OK);
    assert_int_equal(stream_new(&f.two.encoder), OK);
    *state = &f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    rollup_close(&f->rollup);
    journal_close(&f->from);
    journal_close(&f->to);
    stream_free(&f->one.encoder);
    stream_free(&f->two.encoder);
    temp_remove(f->from_dir);
    temp_remove(f->to_dir);
    return 0;
}

/* One record: the node's sample, and the same for job 7. */
static void put(struct fixture *f, struct writer *writer, uint64_t window, uint64_t second, uint64_t n, int64_t m)
{
    struct batch batch;
    struct buf record, snapshot;
    batch_init(&batch);
    buf_init(&record, 65536);
    buf_init(&snapshot, 65536);
    for (int job = 0; job < 2; job++) {
        struct sample *sample = batch_add(&batch, &set, (f->base + window) * WINDOW_NS + second * NS_PER_S, "sda");
        sample->job = job ? "7" : NULL;
        sample_set_u64(sample, 0, n);
        sample_set_u64(sample, 1, (uint64_t)m);
        if (n % 2)
            sample_set_f64(sample, 2, (double)n / 2);
    }
    stream_snapshot(writer->encoder, &snapshot);
    assert_int_equal(stream_encode(writer->encoder, &batch, &record), OK);
    struct journal_entry entry = { .host = writer->host, .stream = 5, .sequence = writer->sequence,
                                   .kind = JOURNAL_SNAPSHOT,
                                   .body = { snapshot.data, snapshot.size } };
    if (!writer->sequence || journal_needs_snapshot(f->from, writer->host, 5))
        assert_int_equal(journal_append(f->from, &entry), OK);
    entry.kind = JOURNAL_RECORD;
    entry.sequence = ++writer->sequence;
    entry.body = (struct bytes){ record.data, record.size };
    assert_int_equal(journal_append(f->from, &entry), OK);
    batch_clear(&batch);
    buf_clear(&record);
    buf_clear(&snapshot);
}

/* "HOST[/JOB] WINDOW: n min mean max last; ..." for each emitted sample, in the order of the second journal. */
static const char *emitted(struct fixture *f)
{
    static char text[65536];
    struct journal_reader *reader;
    struct journal_entry entry;
    struct stream_decoders *channels;
    const struct batch *batch;
    size_t size = 0;
    text[0] = '\0';
    journal_sync(f->to);
    assert_int_equal(journal_reader_open(f->to, &reader, "test", true, 0), OK);
    assert_int_equal(stream_decoders_new(&channels), OK);
    while (journal_reader_next(reader, &entry) != AGAIN) {
        assert_int_equal(stream_decoders_decode(channels, &entry, &batch), OK);
        for (size_t i = 0; batch && i < batch->count; i++) {
            const struct sample *s = &batch->samples[i];
            assert_string_equal(s->set->name, "load_rollup");
            size += (size_t)snprintf(text + size, sizeof text - size, "%s%s%s %llu: %llu %g %llu %llu, %lld %lld\n",
                                     batch->host,
                                     s->job ? "/" : "", s->job ? s->job : "",
                                     (unsigned long long)(s->time_ns / WINDOW_NS - 1 - f->base),
                                     (unsigned long long)s->values[0].u64, s->values[1].f64,
                                     (unsigned long long)s->values[2].u64, (unsigned long long)s->values[3].u64,
                                     (long long)s->values[4].i64, (long long)s->values[6].i64);
        }
    }
    stream_decoders_free(&channels);
    journal_reader_close(&reader);
    return text;
}

static void wait_for_windows(struct fixture *f, uint64_t windows)
{
    struct rollup_figures figures = { 0 };
    for (int i = 0; i < 600 && figures.windows < windows; i++) {
        poll(NULL, 0, 50);
        rollup_figures(f->rollup, &figures);
    }
    assert_true(figures.windows >= windows);
}

static void put_two_windows(struct fixture *f)
{
    put(f, &f->one, 0, 1, 4, -5);
    put(f, &f->two, 0, 2, 10, 1);
    put(f, &f->one, 0, 30, 5, 7);
    put(f, &f->two, 0, 59, 11, 2);
    put(f, &f->one, 0, 40, 9, 1);
    put(f, &f->one, 1, 0, 100, 0);
    put(f, &f->two, 1, 0, 200, 0);
}

static const char two_windows[] = "n1 0: 4 6 9 9, -5 7\nn1/7 0: 4 6 9 9, -5 7\n"
                                  "n2 0: 10 10.5 11 11, 1 2\nn2/7 0: 10 10.5 11 11, 1 2\n"
                                  "top/7 0: 4 7.8 11 20, -5 7\n";

static void hosts_and_jobs(void **state)
{
    struct fixture *f = *state;
    put_two_windows(f);
    put(f, &f->one, 2, 0, 300, 0);
    open_rollup(f);
    wait_for_windows(f, 4); /* two of n1, one of n2, one of the jobs */
    assert_ptr_equal(strstr(emitted(f), "n1 0: 4 6 9 9, -5 7\nn1/7 0: 4 6 9 9, -5 7\n"), emitted(f));
    assert_non_null(strstr(emitted(f), "\nn2 0: 10 10.5 11 11, 1 2\n"));
    assert_non_null(strstr(emitted(f), "\ntop/7 0: 4 7.8 11 20, -5 7\n")); /* last: the sum over the hosts */
    assert_non_null(strstr(emitted(f), "\nn1 1: 100 100 100 100, 0 0\n"));
}

static void window_after_a_crash_is_stored_once(void **state)
{
    struct fixture *f = *state;
    put_two_windows(f);
    open_rollup(f);
    wait_for_windows(f, 2); /* the jobs' window is open: nothing of it is acknowledged in the first journal */
    rollup_close(&f->rollup);
    journal_close(&f->from);
    journal_close(&f->to);
    open_journals(f);
    open_rollup(f);
    put(f, &f->one, 2, 0, 300, 0);
    put(f, &f->two, 2, 0, 300, 0);
    wait_for_windows(f, 3);
    const char *text = emitted(f);
    assert_memory_equal(text, two_windows, sizeof two_windows - 1 - strlen("top/7 0: 4 7.8 11 20, -5 7\n"));
    assert_non_null(strstr(text, "\ntop/7 0: 4 7.8 11 20, -5 7\n"));
    assert_null(strstr(strstr(text, "n1 0:") + 1, "n1 0:"));
}

static void clock_set_back_loses_nothing(void **state)
{
    struct fixture *f = *state;
    put(f, &f->one, 1440, 0, 1, 0); /* a day ahead */
    put(f, &f->one, 1441, 0, 2, 0);
    put(f, &f->one, 3, 0, 3, 0);
    put(f, &f->one, 4, 0, 4, 0);
    put(f, &f->two, 3, 0, 7, 0);
    put(f, &f->two, 4, 0, 8, 0);
    put(f, &f->two, 5, 0, 8, 0);
    open_rollup(f);
    wait_for_windows(f, 5);
    const char *text = emitted(f);
    assert_non_null(strstr(text, "n1 1440: 1 1 1 1"));
    assert_non_null(strstr(text, "n1 3: 3 3 3 3"));
    assert_non_null(strstr(text, "n2 3: 7 7 7 7"));
    assert_non_null(strstr(text, "top/7 3: 3 5 7 10"));
}

static void unknown_values_stay_unknown(void **state)
{
    (void)state;
    struct rollup_set *sets = NULL;
    struct rollup_tracks tracks = { 0 };
    struct batch batch;
    batch_init(&batch);
    struct sample *sample = batch_add(&batch, &set, 5, "");
    sample_set_u64(sample, 0, 3);
    struct rollup_track *track = rollup_track_of(&tracks, &sets, sample);
    rollup_track_add(track, sample);
    assert_ptr_equal(rollup_track_of(&tracks, &sets, sample), track);
    batch_reset(&batch);
    assert_int_equal(rollup_track_emit(track, &batch, 60), OK);
    const struct sample *given_sample = &batch.samples[0];
    assert_string_equal(given_sample->set->metrics[1].name, "n_mean");
    assert_int_equal(given_sample->set->metrics[1].type, F64);
    assert_int_equal(given_sample->known[3], 1);
    assert_int_equal(given_sample->known[4], 0);
    rollup_tracks_sweep(&tracks); /* nothing received since */
    assert_null(tracks.first);
    rollup_tracks_clear(&tracks);
    rollup_sets_clear(&sets);
    batch_clear(&batch);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(hosts_and_jobs),
        TEST(window_after_a_crash_is_stored_once),
        TEST(clock_set_back_loses_nothing),
        cmocka_unit_test(unknown_values_stay_unknown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
