/* Streams by host and id, each with how far it has come: which are in a journal, and which were in it once. Kept in memory,
 * and in the file DIR/streams for those whose entries have left. */
#ifndef SONDE_JOURNAL_JOURNAL_STREAMS_H
#define SONDE_JOURNAL_JOURNAL_STREAMS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define JOURNAL_STREAMS_MAX (4u << 20)

struct journal_stream {
    char *host;
    uint64_t stream;
    uint64_t last;     /* sequence of its newest record; 0: none yet */
    uint64_t next;     /* the only sequence that can follow in its segment; 0: a state must come first */
    uint64_t state_in; /* segment that has its state, for next */
    uint64_t seen_ns;  /* when something of it came last */
    /* for those who count what is missing: */
    uint64_t from_ns, to_ns, records;
    uint64_t missing;  /* sequence of the last one */
    uint64_t until;    /* position behind what is of no use */
    int fate;          /* as whoever counts likes */
};

struct journal_streams {
    struct journal_stream *all;
    size_t count, room;
    uint32_t *slots; /* places in all, plus 1; 0: empty */
    size_t slot_count;
};

void journal_streams_init(struct journal_streams *streams);
void journal_streams_clear(struct journal_streams *streams);

/* NULL: it is not there. Borrowed until the next addition. */
struct journal_stream *journal_streams_find(const struct journal_streams *streams, const char *host, uint64_t stream);

/* The same, and when it is not there it is made. FULL, NOMEM. */
enum err journal_streams_add(struct journal_streams *streams, const char *host, uint64_t stream,
                             struct journal_stream **found);

/* All with a record, but for those not seen since forget_ns, in one file, which replaces the old one and is durable. */
enum err journal_streams_save(const struct journal_streams *streams, int folder, uint64_t forget_ns);

/* Adds those in the file. CORRUPT: some of it is damaged, and nothing was added. No file: OK. */
enum err journal_streams_load(struct journal_streams *streams, int folder);

#endif
