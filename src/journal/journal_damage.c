/* Computes what damage costs from the sequence numbers before and after it. */
#include "journal/journal_damage.h"

#include "base/vec.h"
#include "journal/journal_segment.h"
#include "journal/journal_streams.h"

#include <stdlib.h>
#include <string.h>

/* A stream after the damage: no entry seen yet, nothing lost, lost and unusable so far, usable again from a snapshot
 * on. */
enum damage_effect { DAMAGE_UNKNOWN, DAMAGE_NONE, DAMAGE_BROKEN, DAMAGE_RECOVERED };

struct assessment {
    struct journal_streams streams;
    struct journal_scan scan;
    int directory;
    uint64_t delivered;
};

void journal_damage_init(struct journal_damage *damage)
{
    *damage = (struct journal_damage){ 0 };
}

void journal_damage_clear(struct journal_damage *damage)
{
    for (size_t i = 0; i < damage->count; i++)
        free(damage->streams[i].gap.host);
    free(damage->streams);
    journal_damage_init(damage);
}

static enum err open_span(struct assessment *a, const struct journal_span *span)
{
    char name[JOURNAL_FILE_NAME_MAX];
    journal_segment_name(name, span->base);
    return journal_scan_open(&a->scan, a->directory, name, span->base, span->end);
}

/* Finds the last sequence of each stream before the damage. */
static enum err scan_before(struct assessment *a, const struct journal_span *span, uint64_t until)
{
    struct journal_entry entry;
    enum err err = span->end ? open_span(a, span) : GONE;
    while (!err && a->scan.at < until && (err = journal_scan_next(&a->scan, &entry)) != GONE) {
        if (err == CORRUPT) {
            err = OK;
            continue;
        }
        struct journal_stream *stream;
        if (!err)
            err = journal_streams_get(&a->streams, entry.host, entry.stream, &stream);
        if (err)
            break;
        stream->last = entry.sequence;
        stream->next = entry.sequence + 1;
        stream->from_ns = entry.time_ns;
    }
    return err == GONE || err == ABSENT ? OK : err;
}

/* A record that is unusable; counted if the reader did not have it already. */
static void skip(const struct assessment *a, struct journal_stream *stream, const struct journal_entry *entry)
{
    stream->damage_effect = DAMAGE_BROKEN;
    stream->records += entry->position > a->delivered;
    stream->missing = entry->sequence;
    stream->to_ns = entry->time_ns;
}

/* The first entries of a stream after the damage decide. */
static void classify(const struct assessment *a, struct journal_stream *stream, const struct journal_entry *entry)
{
    if (stream->damage_effect == DAMAGE_NONE || stream->damage_effect == DAMAGE_RECOVERED)
        return;
    bool is_known = stream->next != 0;
    if (entry->kind == JOURNAL_RECORD) {
        if (stream->damage_effect == DAMAGE_UNKNOWN && is_known && entry->sequence == stream->next)
            stream->damage_effect = DAMAGE_NONE;
        else
            skip(a, stream, entry);
        return;
    }
    bool is_affected = stream->damage_effect == DAMAGE_BROKEN || (is_known && entry->sequence > stream->last);
    stream->damage_effect = is_affected ? DAMAGE_RECOVERED : DAMAGE_NONE;
    stream->until = entry->position;
    if (is_affected && entry->sequence > stream->missing) {
        stream->missing = entry->sequence;
        stream->to_ns = entry->time_ns;
    }
}

static enum err scan_after(struct assessment *a, const struct journal_span *span, uint64_t from)
{
    struct journal_entry entry;
    enum err err = span->end ? open_span(a, span) : GONE;
    if (!err && from > a->scan.at)
        a->scan.at = from;
    while (!err && (err = journal_scan_next(&a->scan, &entry)) != GONE) {
        if (err == CORRUPT) { /* assessed when the reader gets there */
            err = OK;
            continue;
        }
        struct journal_stream *stream;
        if (!err)
            err = journal_streams_get(&a->streams, entry.host, entry.stream, &stream);
        if (err)
            break;
        classify(a, stream, &entry);
    }
    return err == GONE || err == ABSENT ? OK : err;
}

static enum err add_damaged_stream(struct journal_damage *damage, const struct journal_damaged_stream *lost)
{
    if (array_reserve(damage->streams, damage->capacity, damage->count + 1, VEC_MAX))
        return NOMEM;
    damage->streams[damage->count] = *lost;
    damage->streams[damage->count].gap.host = strdup(lost->gap.host);
    return damage->streams[damage->count].gap.host ? (damage->count++, OK) : NOMEM;
}

/* is_new: the reader had not read the damaged range before it was damaged. */
static enum err add_damaged_streams(struct journal_damage *damage, const struct assessment *a, uint64_t position, uint64_t end,
                                    bool is_new)
{
    enum err err = OK;
    for (size_t i = 0; !err && i < a->streams.count; i++) {
        const struct journal_stream *stream = &a->streams.all[i];
        if (stream->damage_effect != DAMAGE_BROKEN && stream->damage_effect != DAMAGE_RECOVERED)
            continue;
        uint64_t records = is_new && stream->next ? stream->missing - stream->last : stream->records;
        struct journal_damaged_stream lost = {
            .gap = { .host = stream->host, .stream = stream->stream, .records = records, .sequence = stream->missing,
                     .from_ns = stream->from_ns, .to_ns = stream->to_ns, .reason = JOURNAL_DAMAGED,
                     .position = position++ },
            .until = stream->damage_effect == DAMAGE_RECOVERED ? stream->until : end,
            .is_reported = records == 0,
        };
        err = add_damaged_stream(damage, &lost);
    }
    return err;
}

enum err journal_damage_assess(struct journal_damage *damage, int directory, const struct journal_span spans[3],
                               uint64_t from, uint64_t to, uint64_t delivered)
{
    struct assessment a = { .directory = directory, .delivered = delivered };
    bool is_new = from > delivered;
    journal_streams_init(&a.streams);
    journal_scan_init(&a.scan);
    enum err err = scan_before(&a, &spans[0], UINT64_MAX);
    if (!err)
        err = scan_before(&a, &spans[1], from);
    if (!err)
        err = scan_after(&a, &spans[1], to);
    if (!err)
        err = scan_after(&a, &spans[2], 0);
    if (!err)
        err = add_damaged_streams(damage, &a, is_new ? from : delivered + 1, spans[1].end, is_new);
    journal_streams_clear(&a.streams);
    journal_scan_clear(&a.scan);
    return err;
}

bool journal_damage_affects(const struct journal_damage *damage, const struct journal_entry *entry)
{
    for (size_t i = 0; i < damage->count; i++) {
        const struct journal_damaged_stream *lost = &damage->streams[i];
        if (entry->stream == lost->gap.stream && entry->position < lost->until &&
            strcmp(entry->host, lost->gap.host) == 0)
            return true;
    }
    return false;
}

static void remove_passed(struct journal_damage *damage, uint64_t position)
{
    size_t kept = 0;
    for (size_t i = 0; i < damage->count; i++) {
        if (damage->streams[i].until > position)
            damage->streams[kept++] = damage->streams[i];
        else
            free(damage->streams[i].gap.host);
    }
    damage->count = kept;
}

struct journal_damaged_stream *journal_damage_next_unreported(struct journal_damage *damage, uint64_t position)
{
    for (size_t i = 0; i < damage->count; i++)
        if (!damage->streams[i].is_reported)
            return &damage->streams[i];
    remove_passed(damage, position);
    return NULL;
}
