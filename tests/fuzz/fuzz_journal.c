/* A journal whose files hold arbitrary bytes: it opens, delivers intact entries, reaches the end, and accepts new
 * records. The first byte selects the file and whether checksums are repaired, so that the code after them is reached
 * too. */
#include "journal/journal_blob.h"
#include "journal/journal_format.h"

#include "fuzz/dir.h"

#define BASE 0x1000ull
#define STEPS_MAX 200000

int fuzz_journal(const uint8_t *data, size_t size);

/* Makes the entry at the start of bytes valid: magic, sizes, NUL, checksum. Returns its size; 0: it does not fit. */
static size_t repair_entry(uint8_t *bytes, size_t size, uint64_t position)
{
    struct journal_header head;
    char host[256] = { 0 };
    if (size < sizeof head + 2)
        return 0;
    memcpy(&head, bytes, sizeof head);
    size_t host_size = 2 + head.host_size % 4u, body_size = head.size % 200u;
    if (sizeof head + host_size + body_size > size)
        return 0;
    uint8_t *at = bytes + sizeof head;
    for (size_t i = 0; i + 1 < host_size; i++)
        host[i] = (char)(at[i] = 'a' + at[i] % 2);
    at[host_size - 1] = 0;
    struct journal_entry entry = {
        .kind = head.kind % 4u, .host = host, .stream = head.stream % 4, .sequence = head.sequence, .time_ns = head.time_ns,
        .body = { (const char *)at + host_size, body_size },
    };
    fuzz_require(journal_header_write(&head, &entry, position) == OK);
    memcpy(bytes, &head, sizeof head);
    return sizeof head + host_size + body_size;
}

static void write_segment(const uint8_t *data, size_t size, uint64_t base, int repairs)
{
    char name[64];
    uint8_t *copy = malloc(size + 1);
    memcpy(copy, data, size);
    size_t at = JOURNAL_SEGMENT_HEADER_BYTES, step;
    while (repairs && at < size && (step = repair_entry(copy + at, size - at, base + at)))
        at += step;
    snprintf(name, sizeof name, "%016llx.journal", (unsigned long long)base);
    fuzz_dir_write(name, copy, size);
    free(copy);
}

static void write_blob(const char *name, const uint8_t *data, size_t size)
{
    struct buf blob;
    int directory = open(fuzz_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    journal_blob_start(&blob);
    buf_add(&blob, data, size);
    fuzz_require(journal_blob_save(&blob, directory, name) == OK);
    close(directory);
}

/* A journal with a valid cursor, which gaps can belong to. */
static void make_cursor(void)
{
    struct journal *journal;
    struct journal_reader *reader;
    struct buf error;
    buf_init(&error, 1024);
    fuzz_require(journal_open(&journal, fuzz_dir, NULL, &error) == OK);
    fuzz_require(journal_reader_open(journal, &reader, "sink", true, 0) == OK);
    journal_reader_close(&reader);
    journal_close(&journal);
    buf_clear(&error);
}

static void make_files(const uint8_t *data, size_t size)
{
    uint8_t mode = size ? data[0] % 6 : 0;
    data += size > 0;
    size -= size > 0;
    if (mode < 2)
        write_segment(data, size, BASE, mode);
    if (mode == 2 || mode == 3) {
        write_segment(data, size / 2, BASE, mode == 2);
        write_segment(data + size / 2, size - size / 2, BASE + size / 2, 1);
    }
    if (mode >= 4) {
        make_cursor();
        write_blob(mode == 4 ? "streams" : "sink.gaps", data, size);
    }
}

static void read_all(struct journal *journal, uint64_t *last)
{
    struct journal_reader *reader;
    struct journal_entry entry;
    enum err err;
    unsigned steps = 0;
    fuzz_require(journal_reader_open(journal, &reader, "sink", true, 0) == OK);
    while ((err = journal_reader_next(reader, &entry)) != AGAIN) {
        fuzz_require(err == OK || err == CORRUPT);
        fuzz_require(++steps < STEPS_MAX);
        if (err == OK && entry.kind == JOURNAL_RECORD && entry.stream == 99 && strcmp(entry.host, "new") == 0)
            *last = entry.sequence;
        if (err == OK && entry.kind != JOURNAL_GAP && entry.body.size) {
            volatile char touched = entry.body.data[0] ^ entry.body.data[entry.body.size - 1];
            (void)touched;
        }
    }
    journal_reader_close(&reader);
}

static void append_new(struct journal *journal, uint64_t sequence)
{
    struct journal_entry entry = { .kind = JOURNAL_SNAPSHOT, .host = "new", .stream = 99, .sequence = sequence - 1 };
    if (journal_needs_snapshot(journal, "new", 99))
        fuzz_require(journal_append(journal, &entry) == OK);
    entry.kind = JOURNAL_RECORD;
    entry.sequence = sequence;
    entry.body = bytes_of("a record");
    fuzz_require(journal_append(journal, &entry) == OK);
}

int fuzz_journal(const uint8_t *data, size_t size)
{
    struct journal_settings settings = { .bytes = 1u << 20, .age_ns = 1000, .segment_bytes = 300 };
    bool has_appended = false;
    fuzz_dir_begin();
    make_files(data, size);
    for (uint64_t turn = 0; turn < 2; turn++) {
        struct journal *journal;
        struct buf error;
        uint64_t last = 0;
        buf_init(&error, 1024);
        fuzz_require(journal_open(&journal, fuzz_dir, &settings, &error) == OK);
        uint64_t known = journal_last_sequence(journal, "new", 99);
        read_all(journal, &last);
        fuzz_require(!has_appended || known == last);
        if (turn == 0 && known < UINT64_MAX - 8) { /* continue a stream that the files happen to contain */
            for (uint64_t i = 1; i <= 4; i++)
                append_new(journal, known + i);
            has_appended = true;
        }
        if (turn == 1)
            journal_maintain(journal, UINT64_MAX / 2);
        journal_close(&journal);
        buf_clear(&error);
    }
    return 0;
}
