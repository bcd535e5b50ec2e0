/* Reads the entries of one segment, one after another, with pread into memory of its own: a file that somebody cuts short
 * gives an error and no signal. Damage is stepped over. */
#ifndef SONDE_JOURNAL_JOURNAL_SCAN_H
#define SONDE_JOURNAL_JOURNAL_SCAN_H

#include "journal/journal_format.h"

struct journal_scan {
    int fd;
    uint64_t base;     /* position of the file's first byte */
    uint64_t at;       /* of the next entry */
    uint64_t end;      /* nothing is read from here on; the caller may move it up */
    uint64_t damaged_bytes; /* stepped over by the last call that said CORRUPT */
    char *data;
    size_t room, size; /* of data; data begins at position from */
    uint64_t from;
};

void journal_scan_init(struct journal_scan *scan);
void journal_scan_clear(struct journal_scan *scan);

/* Opens the file and stands before its first entry. end 0: that of the file. The memory is kept from before. */
enum err journal_scan_open(struct journal_scan *scan, int folder, const char *name, uint64_t base, uint64_t end);
void journal_scan_close(struct journal_scan *scan);

/* The next entry, borrowed until the next call. GONE: at the end. CORRUPT: what came next was none; scan stands at the next
 * entry behind it, or at the end. IO, NOMEM: scan stands where it was. */
enum err journal_scan_next(struct journal_scan *scan, struct journal_entry *entry);

#endif
