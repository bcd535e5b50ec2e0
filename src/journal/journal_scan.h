/* Reads the entries of one segment in order, with pread into its own buffer: with mmap a truncated file would raise
 * SIGBUS. Skips damage. */
#ifndef SONDE_JOURNAL_JOURNAL_SCAN_H
#define SONDE_JOURNAL_JOURNAL_SCAN_H

#include "journal/journal_format.h"

struct journal_scan {
    int fd;
    uint64_t base;          /* position of the file's first byte */
    uint64_t at;            /* of the next entry */
    uint64_t end;           /* reading stops here; the caller may increase it */
    uint64_t damaged_bytes; /* skipped by the last call that returned CORRUPT */
    char *data;
    size_t capacity, size; /* of data, which starts at position from */
    uint64_t from;
};

void journal_scan_init(struct journal_scan *scan);
void journal_scan_clear(struct journal_scan *scan);

/* Opens a file before its first entry. end 0: the end of the file. Reuses the buffer. */
enum err journal_scan_open(struct journal_scan *scan, int directory, const char *name, uint64_t base, uint64_t end);
void journal_scan_close(struct journal_scan *scan);

/* The next entry, borrowed until the next call. GONE: at the end. CORRUPT: damage was skipped; scan is at the next
 * entry after it, or at the end. IO, NOMEM: scan has not moved. */
enum err journal_scan_next(struct journal_scan *scan, struct journal_entry *entry);

#endif
