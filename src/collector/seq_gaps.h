/* Sequence numbers that a stream has jumped over. Usually they are lost; but where an agent went over to another collector
 * and both hand on to this one, they come later, by the other way. They are kept then under an id of their own, made of the
 * stream's and of where the hole begins, since a journal takes a stream in order only. In the file "holes" beside the
 * journal, a line for each. */
#ifndef SONDE_COLLECTOR_SEQ_GAPS_H
#define SONDE_COLLECTOR_SEQ_GAPS_H

#include "base/buf.h"

#define HOLES_MAX 1000000u

struct hole {
    char *host;
    uint64_t stream;   /* in which it is */
    uint64_t from, to; /* sequences, both missing */
    uint64_t as;       /* the stream that its records are kept in */
};

struct holes {
    struct hole *list;
    size_t count, room;
    int fd;
    bool is_dirty; /* something was written since the last sync */
};

/* Reads the file, or makes it. */
enum err holes_open(struct holes *holes, const char *path);
void holes_close(struct holes *holes);

/* The stream that a record is kept in: its own, or that of the hole that it is of. */
uint64_t holes_stream(const struct holes *holes, const char *host, uint64_t stream, uint64_t sequence);

/* Written at once, safe after holes_sync. FULL: there are HOLES_MAX, or the disk is full. */
enum err holes_add(struct holes *holes, const char *host, uint64_t stream, uint64_t from, uint64_t to);
enum err holes_sync(struct holes *holes);

#endif
