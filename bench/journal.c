/* bench-journal [DIR]: appends per second to a journal in DIR, with no, one and four concurrent readers, and the time to reopen it.
 * Prints a line for each. */
#include "base/clock.h"
#include "journal/journal.h"

#include "tools.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS 1000000ull
#define BODY_BYTES 60
#define STREAMS 100
#define READERS_MAX 4

static struct journal *journal;
static atomic_bool is_over;

static void *read_along(void *context)
{
    struct journal_reader *reader;
    struct journal_entry entry;
    uint64_t *got = context;
    char name[32];
    snprintf(name, sizeof name, "reader-%p", context);
    if (journal_reader_open(journal, &reader, name, true, 0))
        tools_die("cannot read");
    for (;;) {
        bool was_over = is_over;
        enum err err = journal_reader_next(reader, &entry);
        if (err == AGAIN && was_over)
            break;
        if (err == AGAIN) {
            struct pollfd poll_fd = { .fd = journal_reader_fd(reader), .events = POLLIN };
            poll(&poll_fd, 1, 100);
            continue;
        }
        *got += entry.kind == JOURNAL_RECORD;
        if (*got % 64 == 0)
            journal_reader_ack(reader, entry.position);
    }
    journal_reader_close(&reader);
    journal_remove_cursor(journal, name);
    return NULL;
}

static void append(uint64_t stream, uint64_t sequence)
{
    static const char body[BODY_BYTES];
    struct journal_entry entry = { .kind = JOURNAL_SNAPSHOT, .host = "node17", .stream = stream, .sequence = sequence - 1,
                                   .time_ns = 1, .body = { body, sizeof body } };
    if (journal_needs_snapshot(journal, entry.host, stream) && journal_append(journal, &entry) != OK)
        tools_die("cannot append a state");
    entry.kind = JOURNAL_RECORD;
    entry.sequence = sequence;
    if (journal_append(journal, &entry) != OK)
        tools_die("cannot append");
}

static void measure(unsigned readers)
{
    pthread_t threads[READERS_MAX];
    uint64_t got[READERS_MAX] = { 0 }, first = journal_last_sequence(journal, "node17", 1);
    is_over = false;
    for (unsigned i = 0; i < readers; i++)
        pthread_create(&threads[i], NULL, read_along, &got[i]);
    uint64_t begun_ns = clock_monotonic_ns(), cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < RECORDS; i++) {
        append(i % STREAMS + 1, first + i / STREAMS + 1);
        if (i % 100000 == 0)
            journal_maintain(journal, clock_realtime_ns());
    }
    double s = (double)(clock_monotonic_ns() - begun_ns) / 1e9, cpu_s = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) / 1e9;
    is_over = true;
    for (unsigned i = 0; i < readers; i++)
        pthread_join(threads[i], NULL);
    double all_s = (double)(clock_monotonic_ns() - begun_ns) / 1e9;
    printf("   %u readers: %8.0f appends/s (%.2f us of CPU each); all read after %.2f s\n", readers, (double)RECORDS / s,
           cpu_s * 1e6 / (double)RECORDS, all_s);
}

int main(int argc, char **argv)
{
    char dir[512];
    struct buf why;
    snprintf(dir, sizeof dir, "%s/journal", argc > 1 ? argv[1] : ".");
    buf_init(&why, 1024);
    if (journal_open(&journal, dir, NULL, &why))
        tools_die(buf_text(&why));
    measure(0);
    measure(1);
    measure(4);
    struct journal_figures figures;
    journal_figures(journal, &figures);
    journal_close(&journal);
    uint64_t begun_ns = clock_monotonic_ns();
    if (journal_open(&journal, dir, NULL, &why))
        tools_die(buf_text(&why));
    printf("   reopened in %.0f ms: %.0f MB, %llu entries\n", (double)(clock_monotonic_ns() - begun_ns) / 1e6,
           (double)figures.bytes / 1e6, (unsigned long long)figures.entries);
    journal_close(&journal);
    buf_clear(&why);
    return 0;
}
