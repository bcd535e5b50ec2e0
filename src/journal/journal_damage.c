/* Counts what damage costs, from the sequences before and behind it. */
#include "journal/journal_damage.h"

#include "base/vec.h"
#include "journal/journal_segment.h"
#include "journal/journal_streams.h"

#include <stdlib.h>
#include <string.h>

/* Of a stream behind the damage: nothing seen yet, nothing lost, lost and not yet to be read again, lost and to be read again
 * from a state on. */
enum fate { FATE_OPEN, FATE_WHOLE, FATE_BROKEN, FATE_MENDED };

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

/* How far each stream was when the damage came. */
static enum err look_before(struct assessment *a, const struct journal_span *span, uint64_t until)
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

/* One more that is of no use; counted when the reader did not have it. */
static void skip(const struct assessment *a, struct journal_stream *stream, const struct journal_entry *entry)
{
    stream->fate = FATE_BROKEN;
    stream->records += entry->position > a->delivered;
    stream->missing = entry->sequence;
    stream->to_ns = entry->time_ns;
}

/* The first entries of a stream behind the damage decide. */
static void judge(const struct assessment *a, struct journal_stream *stream, const struct journal_entry *entry)
{
    if (stream->fate == FATE_WHOLE || stream->fate == FATE_MENDED)
        return;
    bool is_known = stream->next != 0;
    if (entry->kind == JOURNAL_RECORD) {
        if (stream->fate == FATE_OPEN && is_known && entry->sequence == stream->next)
            stream->fate = FATE_WHOLE;
        else
            skip(a, stream, entry);
        return;
    }
    bool is_hit = stream->fate == FATE_BROKEN || (is_known && entry->sequence > stream->last);
    stream->fate = is_hit ? FATE_MENDED : FATE_WHOLE;
    stream->until = entry->position;
    if (is_hit && entry->sequence > stream->missing) {
        stream->missing = entry->sequence;
        stream->to_ns = entry->time_ns;
    }
}

static enum err look_behind(struct assessment *a, const struct journal_span *span, uint64_t from)
{
    struct journal_entry entry;
    enum err err = span->end ? open_span(a, span) : GONE;
    if (!err && from > a->scan.at)
        a->scan.at = from;
    while (!err && (err = journal_scan_next(&a->scan, &entry)) != GONE) {
        if (err == CORRUPT) { /* it will be assessed when the reader comes there */
            err = OK;
            continue;
        }
        struct journal_stream *stream;
        if (!err)
            err = journal_streams_get(&a->streams, entry.host, entry.stream, &stream);
        if (err)
            break;
        judge(a, stream, &entry);
    }
    return err == GONE || err == ABSENT ? OK : err;
}

static enum err add_wound(struct journal_damage *damage, const struct journal_damaged_stream *wound)
{
    if (array_reserve(damage->streams, damage->room, damage->count + 1, VEC_MAX))
        return NOMEM;
    damage->streams[damage->count] = *wound;
    damage->streams[damage->count].gap.host = strdup(wound->gap.host);
    return damage->streams[damage->count].gap.host ? (damage->count++, OK) : NOMEM;
}

/* is_new: the reader had not read the damaged place before it was damaged. */
static enum err add_wounds(struct journal_damage *damage, const struct assessment *a, uint64_t position, uint64_t end,
                           bool is_new)
{
    enum err err = OK;
    for (size_t i = 0; !err && i < a->streams.count; i++) {
        const struct journal_stream *stream = &a->streams.all[i];
        if (stream->fate != FATE_BROKEN && stream->fate != FATE_MENDED)
            continue;
        uint64_t records = is_new && stream->next ? stream->missing - stream->last : stream->records;
        struct journal_damaged_stream wound = {
            .gap = { .host = stream->host, .stream = stream->stream, .records = records, .sequence = stream->missing,
                     .from_ns = stream->from_ns, .to_ns = stream->to_ns, .reason = JOURNAL_DAMAGED,
                     .position = position++ },
            .until = stream->fate == FATE_MENDED ? stream->until : end,
            .is_reported = records == 0,
        };
        err = add_wound(damage, &wound);
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
    enum err err = look_before(&a, &spans[0], UINT64_MAX);
    if (!err)
        err = look_before(&a, &spans[1], from);
    if (!err)
        err = look_behind(&a, &spans[1], to);
    if (!err)
        err = look_behind(&a, &spans[2], 0);
    if (!err)
        err = add_wounds(damage, &a, is_new ? from : delivered + 1, spans[1].end, is_new);
    journal_streams_clear(&a.streams);
    journal_scan_clear(&a.scan);
    return err;
}

bool journal_damage_affects(const struct journal_damage *damage, const struct journal_entry *entry)
{
    for (size_t i = 0; i < damage->count; i++) {
        const struct journal_damaged_stream *wound = &damage->streams[i];
        if (entry->stream == wound->gap.stream && entry->position < wound->until &&
            strcmp(entry->host, wound->gap.host) == 0)
            return true;
    }
    return false;
}

static void forget_passed(struct journal_damage *damage, uint64_t position)
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
    forget_passed(damage, position);
    return NULL;
}
