/* One thread writes and maintains, one syncs, several read at their own speed, close and reopen; also run under the
 * thread sanitizer. Every reader gets every record, or a gap. */
#include "journal/journal.h"

#include "tools/journal_fixture.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#define READERS 4
#define RECORDS 40000ull
#define STREAMS 3

static atomic_bool is_over;
static atomic_int ready; /* readers that are open: later ones get only what is left */

struct place {
    const char *name;
    unsigned slow_every; /* sleeps now and then; 0: never */
    bool comes_back;     /* closes and reopens its reader now and then */
    uint64_t got, missed, next[STREAMS];
    const char *fault;
};

static void wait_for_more(const struct journal_reader *reader)
{
    struct pollfd poll_fd = { .fd = journal_reader_fd(reader), .events = POLLIN };
    poll(&poll_fd, 1, 20);
}

static void take(struct place *place, const struct journal_entry *entry)
{
    uint64_t *next = &place->next[entry->stream - 1];
    if (entry->kind == JOURNAL_GAP) {
        if (entry->sequence != *next + entry->gap_records - 1)
            place->fault = "a gap that does not fit";
        place->missed += entry->gap_records;
        *next = entry->sequence + 1;
    } else if (entry->kind == JOURNAL_RECORD && entry->is_new) {
        if (entry->sequence != *next)
            place->fault = "a record out of order";
        place->got++;
        *next = entry->sequence + 1;
    }
}

static void *read_along(void *context)
{
    struct place *place = context;
    struct journal_reader *reader;
    struct journal_entry entry;
    if (journal_reader_open(journal, &reader, place->name, true, 0))
        place->fault = "cannot read";
    ready++;
    for (uint64_t i = 1; !place->fault; i++) {
        bool was_over = is_over;
        enum err err = journal_reader_next(reader, &entry);
        if (err == AGAIN && was_over)
            break;
        if (err == AGAIN) {
            wait_for_more(reader);
            continue;
        }
        if (err)
            place->fault = "an error";
        else
            take(place, &entry);
        journal_reader_ack(reader, entry.position);
        (void)journal_reader_lag_bytes(reader);
        (void)journal_reader_lag_ns(reader, 1);
        if (place->slow_every && i % place->slow_every == 0)
            usleep(1000);
        if (place->comes_back && i % 1000 == 0) {
            journal_reader_close(&reader);
            if (journal_reader_open(journal, &reader, place->name, true, 0))
                return (void *)(place->fault = "cannot read again");
        }
    }
    journal_reader_close(&reader);
    return NULL;
}

static void *sync_along(void *context)
{
    (void)context;
    while (!is_over) {
        struct journal_figures now;
        if (journal_sync(journal) != OK)
            return "sync failed";
        journal_figures(journal, &now);
        usleep(500);
    }
    return NULL;
}

/* Returns the total number of missed records. */
static uint64_t play(struct place *places)
{
    pthread_t threads[READERS], syncer;
    open_journal();
    is_over = false;
    ready = 0;
    for (int i = 0; i < READERS; i++) {
        for (int s = 0; s < STREAMS; s++)
            places[i].next[s] = 1;
        assert_int_equal(pthread_create(&threads[i], NULL, read_along, &places[i]), 0);
    }
    while (ready < READERS)
        usleep(100);
    assert_int_equal(pthread_create(&syncer, NULL, sync_along, NULL), 0);
    for (uint64_t i = 0; i < RECORDS; i++) {
        assert_int_equal(append_next("host", i % STREAMS + 1), OK);
        if (i % 500 == 0)
            journal_maintain(journal, i);
        if (i % 2000 == 0)
            usleep(1000);
    }
    is_over = true;
    void *fault;
    pthread_join(syncer, &fault);
    assert_null(fault);
    uint64_t missed = 0;
    for (int i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        if (places[i].fault)
            print_message("# %s: %s\n", places[i].name, places[i].fault);
        assert_null(places[i].fault);
        assert_int_equal(places[i].got + places[i].missed, RECORDS);
        missed += places[i].missed;
    }
    return missed;
}

static void every_reader_gets_every_record(void **state)
{
    (void)state;
    settings.segment_bytes = 30000;
    struct place places[READERS] = { { "quick" }, { "slow", .slow_every = 3000 }, { "back", .comes_back = true }, { "other" } };
    assert_int_equal(play(places), 0);
    journal_maintain(journal, 1);
    journal_maintain(journal, 1);
    assert_true(figures().segments <= 2);
}

static void a_slow_reader_gets_gaps(void **state)
{
    (void)state;
    settings.bytes = 200000;
    settings.segment_bytes = 10000;
    struct place places[READERS] = { { "quick" }, { "slow", .slow_every = 50 }, { "back", .slow_every = 100, .comes_back = true },
                                     { "other", .slow_every = 20 } };
    assert_true(play(places) > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, journal_setup, journal_teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_reader_gets_every_record),
        TEST(a_slow_reader_gets_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
