/* Sequence numbers that a stream has skipped. Usually these records are lost. But if an agent switched to another
 * collector, and both forward to this one, they arrive later by the other way. Since a journal accepts a stream only in
 * order, they are then stored under a stream id of their own, derived from the stream and the start of the gap. Saved
 * beside the journal, one line per gap, in a file that is named "holes" for compatibility. */
#ifndef SONDE_COLLECTOR_SEQ_GAPS_H
#define SONDE_COLLECTOR_SEQ_GAPS_H

#include "base/buf.h"

#define SEQ_GAPS_MAX 1000000u

struct seq_gap {
    char *host;
    uint64_t stream;   /* the stream that has the gap */
    uint64_t from, to; /* sequence numbers, inclusive */
    uint64_t as;       /* stream id under which its records are stored */
};

struct seq_gaps {
    struct seq_gap *list;
    size_t count, capacity;
    int fd;
    bool is_dirty; /* written since the last sync */
};

/* Reads the file, or creates it. */
enum err seq_gaps_open(struct seq_gaps *gaps, const char *path);
void seq_gaps_close(struct seq_gaps *gaps);

/* The stream under which a record is stored: its own, or that of the gap that it belongs to. */
uint64_t seq_gaps_stream(const struct seq_gaps *gaps, const char *host, uint64_t stream, uint64_t sequence);

/* Written at once, safe after seq_gaps_sync. FULL: SEQ_GAPS_MAX reached, or the disk is full. */
enum err seq_gaps_add(struct seq_gaps *gaps, const char *host, uint64_t stream, uint64_t from, uint64_t to);
enum err seq_gaps_sync(struct seq_gaps *gaps);

#endif
