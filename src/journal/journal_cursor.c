/* Cursor files: two copies of a position in one file, the gaps in another. */
#include "journal/journal_cursor.h"

#include "base/vec.h"
#include "journal/journal_blob.h"
#include "journal/journal_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC 0x3172756353u /* "Scur1" */
#define COPY_BYTES 512      /* a disk sector, which is written completely or not at all */
#define GAPS_SUFFIX ".gaps"
#define FILE_NAME_BYTES (3 * JOURNAL_NAME_MAX + 16)
#define GAPS_MAX (4u << 20)

struct saved_position {
    uint64_t magic, check, saves, acked, acked_ns;
};

static bool is_safe_in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Names come from users: characters that are unsafe in a file name are written as %2f. */
static enum err file_name(char file[FILE_NAME_BYTES], const char *name, const char *suffix)
{
    size_t at = 0;
    if (!*name || strnlen(name, JOURNAL_NAME_MAX) >= JOURNAL_NAME_MAX)
        return USAGE;
    for (; *name; name++) {
        if (is_safe_in_name(*name))
            file[at++] = *name;
        else
            at += (size_t)snprintf(file + at, 4, "%%%02x", (uint8_t)*name);
    }
    snprintf(file + at, FILE_NAME_BYTES - at, "%s", suffix);
    return OK;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool journal_cursor_name(const char *file, char name[JOURNAL_NAME_MAX])
{
    size_t size = strlen(file), suffix = strlen(JOURNAL_CURSOR_SUFFIX), at = 0;
    if (size <= suffix || strcmp(file + size - suffix, JOURNAL_CURSOR_SUFFIX) != 0)
        return false;
    for (const char *c = file; c < file + size - suffix; c++) {
        if (at + 1 >= JOURNAL_NAME_MAX)
            return false;
        if (is_safe_in_name(*c)) {
            name[at++] = *c;
            continue;
        }
        if (*c != '%' || hex_digit(c[1]) < 0 || hex_digit(c[2]) < 0)
            return false;
        name[at++] = (char)(hex_digit(c[1]) * 16 + hex_digit(c[2]));
        c += 2;
    }
    name[at] = '\0';
    return at > 0;
}

static uint64_t checksum_of(const struct saved_position *copy)
{
    uint64_t fields[] = { copy->saves, copy->acked, copy->acked_ns };
    return journal_checksum(MAGIC, fields, sizeof fields);
}

static void read_copy(struct journal_cursor *cursor, int which)
{
    struct saved_position copy;
    if (pread(cursor->fd, &copy, sizeof copy, (off_t)which * COPY_BYTES) != (ssize_t)sizeof copy)
        return;
    if (copy.magic != MAGIC || copy.check != checksum_of(&copy) || copy.saves <= cursor->saves)
        return;
    cursor->saves = copy.saves;
    cursor->acked = copy.acked;
    cursor->acked_ns = copy.acked_ns;
}

static enum err write_copy(struct journal_cursor *cursor)
{
    struct saved_position copy = { .magic = MAGIC, .saves = cursor->saves + 1, .acked = cursor->acked,
                         .acked_ns = cursor->acked_ns };
    copy.check = checksum_of(&copy);
    ssize_t put = pwrite(cursor->fd, &copy, sizeof copy, (off_t)(copy.saves & 1) * COPY_BYTES);
    if (put != (ssize_t)sizeof copy)
        return put < 0 ? err_from_errno(errno) : FULL;
    cursor->saves = copy.saves;
    cursor->saved = copy.acked;
    return OK;
}

static struct journal_cursor *new_cursor(const char *name)
{
    struct journal_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return NULL;
    snprintf(cursor->name, sizeof cursor->name, "%s", name);
    cursor->fd = cursor->wake_fd = -1;
    cursor->delivery_every = 1;
    return cursor;
}

static void clear_gap(struct journal_gap *gap)
{
    free(gap->host);
    *gap = (struct journal_gap){ 0 };
}

void journal_cursor_free(struct journal_cursor **cursor)
{
    if (!*cursor)
        return;
    for (size_t i = 0; i < (*cursor)->gap_count; i++)
        clear_gap(&(*cursor)->gaps[i]);
    free((*cursor)->gaps);
    if ((*cursor)->fd >= 0)
        close((*cursor)->fd);
    free(*cursor);
    *cursor = NULL;
}

static enum err open_file(struct journal_cursor **cursor, int directory, const char *name, int flags)
{
    char file[FILE_NAME_BYTES];
    enum err err = file_name(file, name, JOURNAL_CURSOR_SUFFIX);
    if (err)
        return err;
    *cursor = new_cursor(name);
    if (!*cursor)
        return NOMEM;
    (*cursor)->fd = openat(directory, file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    return (*cursor)->fd < 0 ? err_from_errno(errno) : OK;
}

static enum err add_gap(struct journal_cursor *cursor, const struct journal_gap *gap)
{
    if (cursor->gap_count >= GAPS_MAX)
        return FULL;
    if (array_reserve(cursor->gaps, cursor->gap_capacity, cursor->gap_count + 1, VEC_MAX))
        return NOMEM;
    char *host = strdup(gap->host);
    if (!host)
        return NOMEM;
    cursor->gaps[cursor->gap_count] = *gap;
    cursor->gaps[cursor->gap_count++].host = host;
    return OK;
}

static enum err load_gap(struct journal_cursor *cursor, struct bytes *content)
{
    char host[256];
    struct journal_gap gap = { .host = host, .is_final = true };
    uint64_t reason;
    if (!journal_blob_take_string(content, host) || !journal_blob_take_u64(content, &gap.stream) ||
        !journal_blob_take_u64(content, &gap.from_ns) || !journal_blob_take_u64(content, &gap.to_ns) ||
        !journal_blob_take_u64(content, &gap.records) || !journal_blob_take_u64(content, &gap.sequence) ||
        !journal_blob_take_u64(content, &reason) ||
        !journal_blob_take_u64(content, &gap.after) || !journal_blob_take_u64(content, &gap.up_to) ||
        !journal_blob_take_u64(content, &gap.position) || reason > JOURNAL_DAMAGED)
        return CORRUPT;
    gap.reason = (enum journal_reason)reason;
    return gap.position > cursor->acked ? add_gap(cursor, &gap) : OK;
}

static enum err load_gaps(struct journal_cursor *cursor, int directory)
{
    char file[FILE_NAME_BYTES];
    struct buf blob;
    struct bytes content;
    file_name(file, cursor->name, GAPS_SUFFIX);
    enum err err = journal_blob_load(&blob, directory, file, &content);
    if (err)
        return err == ABSENT ? OK : err;
    cursor->gaps_in_file = true;
    while (!err && content.size)
        err = load_gap(cursor, &content);
    buf_clear(&blob);
    return err;
}

enum err journal_cursor_load(struct journal_cursor **cursor, int directory, const char *name)
{
    *cursor = NULL;
    enum err err = open_file(cursor, directory, name, 0);
    if (!err) {
        read_copy(*cursor, 0);
        read_copy(*cursor, 1);
        err = (*cursor)->saves ? load_gaps(*cursor, directory) : CORRUPT;
        (*cursor)->saved = (*cursor)->delivered = (*cursor)->acked;
    }
    if (err)
        journal_cursor_free(cursor);
    return err;
}

/* Writes both copies, so that later updates need no new disk blocks. */
enum err journal_cursor_create(struct journal_cursor **cursor, int directory, const char *name, uint64_t acked)
{
    *cursor = NULL;
    journal_cursor_remove(directory, name);
    enum err err = open_file(cursor, directory, name, O_CREAT | O_TRUNC);
    if (!err) {
        (*cursor)->acked = (*cursor)->delivered = acked;
        err = write_copy(*cursor);
    }
    if (!err)
        err = write_copy(*cursor);
    if (err) {
        journal_cursor_free(cursor);
        journal_cursor_remove(directory, name);
    }
    return err;
}

void journal_cursor_remove(int directory, const char *name)
{
    char file[FILE_NAME_BYTES];
    if (file_name(file, name, JOURNAL_CURSOR_SUFFIX))
        return;
    unlinkat(directory, file, 0);
    file_name(file, name, GAPS_SUFFIX);
    unlinkat(directory, file, 0);
}

enum err journal_cursor_save(struct journal_cursor *cursor, int directory)
{
    enum err err = cursor->saved == cursor->acked ? OK : write_copy(cursor);
    if (!err && cursor->gaps_in_file && cursor->gap_count == 0) {
        char file[FILE_NAME_BYTES];
        file_name(file, cursor->name, GAPS_SUFFIX);
        unlinkat(directory, file, 0);
        cursor->gaps_in_file = false;
    }
    return err;
}

bool journal_cursor_pack_gaps(struct journal_cursor *cursor, struct buf *gaps)
{
    if (cursor->gap_count == 0 || write_copy(cursor) != OK)
        return false;
    journal_blob_start(gaps);
    for (size_t i = 0; i < cursor->gap_count; i++) {
        const struct journal_gap *gap = &cursor->gaps[i];
        const uint64_t numbers[] = { gap->stream, gap->from_ns, gap->to_ns, gap->records, gap->sequence,
                                     (uint64_t)gap->reason, gap->after, gap->up_to, gap->position };
        journal_blob_string(gaps, gap->host);
        buf_add(gaps, numbers, sizeof numbers);
    }
    cursor->gaps_in_file = true;
    return true;
}

enum err journal_cursor_save_gaps(const struct journal_cursor *cursor, int directory, struct buf *gaps)
{
    char file[FILE_NAME_BYTES];
    file_name(file, cursor->name, GAPS_SUFFIX);
    if (fdatasync(cursor->fd) != 0) {
        buf_clear(gaps);
        return err_from_errno(errno);
    }
    return journal_blob_save(gaps, directory, file);
}

enum err journal_cursor_add_gap(struct journal_cursor *cursor, const struct journal_gap *gap, uint64_t kept)
{
    for (size_t i = cursor->gap_count; i > 0; i--) {
        struct journal_gap *old = &cursor->gaps[i - 1];
        if (old->is_final || old->reason != gap->reason || old->stream != gap->stream || old->up_to < kept ||
            old->up_to > gap->after || strcmp(old->host, gap->host) != 0)
            continue;
        old->records += gap->records;
        old->sequence = gap->sequence;
        old->to_ns = gap->to_ns ? gap->to_ns : old->to_ns;
        old->from_ns = old->from_ns ? old->from_ns : gap->from_ns;
        old->up_to = gap->up_to;
        return OK;
    }
    return add_gap(cursor, gap);
}

bool journal_cursor_has_gap(const struct journal_cursor *cursor, uint64_t end)
{
    for (size_t i = 0; i < cursor->gap_count; i++)
        if (cursor->gaps[i].after < end && end <= cursor->gaps[i].up_to)
            return true;
    return false;
}

static int by_position(const void *a, const void *b)
{
    const struct journal_gap *one = a, *other = b;
    return one->position < other->position ? -1 : one->position > other->position;
}

/* Each gap covers at least one entry, and an entry has more than one byte, so there are enough positions. */
void journal_cursor_place_gaps(struct journal_cursor *cursor, uint64_t up_to)
{
    uint64_t position = up_to;
    for (size_t i = cursor->gap_count; i > 0; i--)
        if (!cursor->gaps[i - 1].is_final && cursor->gaps[i - 1].up_to == up_to)
            cursor->gaps[i - 1].position = --position;
    if (cursor->gap_count)
        qsort(cursor->gaps, cursor->gap_count, sizeof *cursor->gaps, by_position);
}

struct journal_gap *journal_cursor_next_unreported_gap(struct journal_cursor *cursor)
{
    for (size_t i = 0; i < cursor->gap_count; i++)
        if (!cursor->gaps[i].is_reported)
            return &cursor->gaps[i];
    return NULL;
}

/* When the list is full, drops every other entry and records fewer from then on. */
static void add_delivery(struct journal_cursor *cursor, uint64_t position, uint64_t time_ns)
{
    if (cursor->delivery_count && ++cursor->delivery_skipped < cursor->delivery_every)
        return;
    cursor->delivery_skipped = 0;
    if (cursor->delivery_count == JOURNAL_DELIVERIES_MAX) {
        for (size_t i = 0; i < JOURNAL_DELIVERIES_MAX / 2; i++)
            cursor->deliveries[i] = cursor->deliveries[2 * i];
        cursor->delivery_count = JOURNAL_DELIVERIES_MAX / 2;
        cursor->delivery_every *= 2;
    }
    cursor->deliveries[cursor->delivery_count++] = (struct journal_delivery){ position, time_ns };
}

void journal_cursor_deliver(struct journal_cursor *cursor, uint64_t position, uint64_t time_ns)
{
    if (position <= cursor->acked) {
        cursor->acked_ns = time_ns ? time_ns : cursor->acked_ns;
        return;
    }
    cursor->delivered = position;
    if (time_ns)
        add_delivery(cursor, position, time_ns);
}

static void remove_acked_gaps(struct journal_cursor *cursor)
{
    size_t kept = 0;
    for (size_t i = 0; i < cursor->gap_count; i++) {
        if (cursor->gaps[i].position <= cursor->acked)
            clear_gap(&cursor->gaps[i]);
        else
            cursor->gaps[kept++] = cursor->gaps[i];
    }
    cursor->gap_count = kept;
}

void journal_cursor_ack(struct journal_cursor *cursor, uint64_t position)
{
    if (position > cursor->delivered) /* cannot acknowledge what was not delivered */
        position = cursor->delivered;
    if (position <= cursor->acked)
        return;
    cursor->acked = position;
    size_t passed = 0;
    while (passed < cursor->delivery_count && cursor->deliveries[passed].position <= position)
        cursor->acked_ns = cursor->deliveries[passed++].time_ns;
    cursor->delivery_count -= passed;
    memmove(cursor->deliveries, cursor->deliveries + passed, cursor->delivery_count * sizeof *cursor->deliveries);
    if (cursor->delivery_count == 0)
        cursor->delivery_every = 1;
    if (cursor->gap_count)
        remove_acked_gaps(cursor);
}

const char *journal_reason_string(enum journal_reason reason)
{
    switch (reason) {
    case JOURNAL_TOO_MUCH: return "journal full";
    case JOURNAL_TOO_OLD: return "journal too old";
    case JOURNAL_DAMAGED: return "damaged";
    }
    return "lost";
}
