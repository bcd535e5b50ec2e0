/* Streams by host and id with their last sequence: those in a journal, and those that were in it once. In memory; also
 * in the file DIR/streams, for streams whose entries have been deleted. */
#ifndef SONDE_JOURNAL_JOURNAL_STREAMS_H
#define SONDE_JOURNAL_JOURNAL_STREAMS_H

#include "base/map.h"

#define JOURNAL_STREAMS_MAX (4u << 20)

struct journal_stream {
    char *host;
    uint64_t stream;
    uint64_t last;             /* sequence of its newest record; 0: none yet */
    uint64_t next;             /* the only sequence that may follow in its segment; 0: a snapshot must come first */
    uint64_t snapshot_segment; /* base of the segment that has its snapshot, for next */
    uint64_t updated_ns;       /* when it was last appended to */
    /* used when counting missing records: */
    uint64_t from_ns, to_ns, records;
    uint64_t missing;  /* sequence of the last missing record */
    uint64_t until;    /* position after the unusable entries */
    int damage_effect; /* enum damage_effect of journal_damage.c */
};

struct journal_streams {
    struct journal_stream *all;
    size_t count, capacity;
    struct map map; /* indexes into all, by host and stream */
};

void journal_streams_init(struct journal_streams *streams);
void journal_streams_clear(struct journal_streams *streams);

/* NULL: not found. Borrowed until the next addition. */
struct journal_stream *journal_streams_find(const struct journal_streams *streams, const char *host, uint64_t stream);

/* The same, but adds it if it is not found. FULL, NOMEM. */
enum err journal_streams_get(struct journal_streams *streams, const char *host, uint64_t stream,
                             struct journal_stream **found);

/* Saves all that have a record and were updated since forget_ns, atomically and durably. */
enum err journal_streams_save(const struct journal_streams *streams, int directory, uint64_t forget_ns);

/* Adds those in the file. CORRUPT: damaged, nothing was added. No file: OK. */
enum err journal_streams_load(struct journal_streams *streams, int directory);

#endif
