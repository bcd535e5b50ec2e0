/* A journal in a directory of the test's own, with entries whose bodies identify them: "host/stream/sequence". */
#ifndef SONDE_TESTS_TOOLS_JOURNAL_FIXTURE_H
#define SONDE_TESTS_TOOLS_JOURNAL_FIXTURE_H

#include "journal/journal.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP_NS 1000000000ull /* between two records of a stream */

static char dir[TEMP_PATH_MAX];
static struct journal *journal;
static struct journal_settings settings;

static inline int journal_setup(void **state)
{
    (void)state;
    temp_dir(dir);
    settings = (struct journal_settings){ 0 };
    return 0;
}

static inline int journal_teardown(void **state)
{
    (void)state;
    journal_close(&journal);
    temp_remove(dir);
    return 0;
}

static inline void open_journal(void)
{
    struct buf why;
    buf_init(&why, 1024);
    enum err err = journal_open(&journal, dir, &settings, &why);
    if (err)
        print_message("# %s\n", buf_text(&why));
    buf_clear(&why);
    caller_assert_int_equal(err, OK);
}
#define open_journal(...) (unit_called(__FILE__, __LINE__), (open_journal)(__VA_ARGS__))

static inline void reopen_journal(void)
{
    journal_close(&journal);
    open_journal();
}

static inline size_t body_of(char body[128], const char *host, uint64_t stream, uint64_t sequence)
{
    return (size_t)snprintf(body, 128, "%s/%llu/%llu", host, (unsigned long long)stream, (unsigned long long)sequence);
}

static inline enum err append(enum journal_kind kind, const char *host, uint64_t stream, uint64_t sequence)
{
    char body[128];
    size_t size = body_of(body, host, stream, sequence);
    return journal_append(journal, &(struct journal_entry){ .kind = kind, .host = host, .stream = stream,
        .sequence = sequence, .time_ns = sequence * STEP_NS, .body = { body, size } });
}

/* The next record of a stream, after a snapshot if one is needed. */
static inline enum err append_next(const char *host, uint64_t stream)
{
    uint64_t last = journal_last_sequence(journal, host, stream);
    enum err err = OK;
    if (journal_needs_snapshot(journal, host, stream))
        err = append(JOURNAL_SNAPSHOT, host, stream, last);
    return err ? err : append(JOURNAL_RECORD, host, stream, last + 1);
}

static inline void append_many(const char *host, uint64_t stream, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        caller_assert_int_equal(append_next(host, stream), OK);
}
#define append_many(...) (unit_called(__FILE__, __LINE__), (append_many)(__VA_ARGS__))

static inline struct journal_reader *open_reader(const char *name)
{
    struct journal_reader *reader;
    caller_assert_int_equal(journal_reader_open(journal, &reader, name, true, 0), OK);
    return reader;
}
#define open_reader(...) (unit_called(__FILE__, __LINE__), (open_reader)(__VA_ARGS__))

static inline void assert_body(const struct journal_entry *entry)
{
    char body[128];
    size_t size = body_of(body, entry->host, entry->stream, entry->sequence);
    caller_assert_int_equal(entry->body.size, size);
    caller_assert_memory_equal(entry->body.data, body, size);
    caller_assert_int_equal(entry->time_ns, entry->sequence * STEP_NS);
}
#define assert_body(...) (unit_called(__FILE__, __LINE__), (assert_body)(__VA_ARGS__))

/* The next new record or gap. */
static inline enum err next_new(struct journal_reader *reader, struct journal_entry *entry)
{
    enum err err;
    while ((err = journal_reader_next(reader, entry)) == OK) {
        if (entry->kind != JOURNAL_GAP)
            assert_body(entry);
        if (entry->is_new && entry->kind != JOURNAL_SNAPSHOT)
            return OK;
    }
    return err;
}
#define next_new(...) (unit_called(__FILE__, __LINE__), (next_new)(__VA_ARGS__))

/* Reads the records from..to of a stream, and acknowledges them if requested. */
static inline void read_records(struct journal_reader *reader, uint64_t stream, uint64_t from, uint64_t to, bool done)
{
    struct journal_entry entry;
    for (uint64_t sequence = from; sequence <= to; sequence++) {
        caller_assert_int_equal(next_new(reader, &entry), OK);
        caller_assert_int_equal(entry.kind, JOURNAL_RECORD);
        caller_assert_int_equal(entry.stream, stream);
        caller_assert_int_equal(entry.sequence, sequence);
        if (done)
            caller_assert_int_equal(journal_reader_ack(reader, entry.position), OK);
    }
}
#define read_records(...) (unit_called(__FILE__, __LINE__), (read_records)(__VA_ARGS__))

static inline struct journal_figures figures(void)
{
    struct journal_figures figures;
    journal_figures(journal, &figures);
    return figures;
}

/* The newest (or oldest) segment file. Returns its size. */
static inline size_t segment_file(char path[TEMP_PATH_MAX], bool newest)
{
    char best[256] = "";
    DIR *list = opendir(dir);
    caller_assert_non_null(list);
    for (struct dirent *one; (one = readdir(list));) {
        const char *dot = strrchr(one->d_name, '.');
        if (!dot || strcmp(dot, ".journal") != 0)
            continue;
        int order = strcmp(one->d_name, best);
        if (!*best || (newest ? order > 0 : order < 0))
            snprintf(best, sizeof best, "%s", one->d_name);
    }
    closedir(list);
    caller_assert_true(*best);
    temp_join(path, dir, best);
    struct stat st;
    caller_assert_int_equal(stat(path, &st), 0);
    return (size_t)st.st_size;
}
#define segment_file(...) (unit_called(__FILE__, __LINE__), (segment_file)(__VA_ARGS__))

#endif
