/* The bytes of a journal segment: a header, then entries.
 *
 *   segment  0  "SondeJ1\n"    8  u64 position of the file's first byte
 *   entry    0  u32 magic    4  u32 checksum (of the position and all that follows)    8  u32 size of the body
 *            12 u8 kind    13 u8 size of the host's name with its NUL    14 u16 zero
 *            16 u64 stream    24 u64 sequence    32 u64 time in ns    40 host, NUL, body
 * All little-endian. The checksum includes the position, so stale data in a reused disk block is never taken for an entry. */
#ifndef SONDE_JOURNAL_JOURNAL_FORMAT_H
#define SONDE_JOURNAL_JOURNAL_FORMAT_H

#include "journal/journal.h"

#define JOURNAL_MAGIC 0x456e6a53u /* "SjnE" */
#define JOURNAL_SEGMENT_MAGIC "SondeJ1\n"
#define JOURNAL_SEGMENT_HEADER_BYTES 16
#define JOURNAL_HEADER_BYTES 40
#define JOURNAL_BODY_MAX (64u << 20)

struct journal_header {
    uint32_t magic, check, size;
    uint8_t kind, host_size;
    uint16_t zero;
    uint64_t stream, sequence, time_ns;
};

/* Continues a checksum over more bytes. */
uint64_t journal_checksum(uint64_t mix, const void *data, size_t size);

/* Fills the header of an entry at position; host and body follow it. USAGE: host or body is too long, or there is no
 * host. */
enum err journal_header_write(struct journal_header *head, const struct journal_entry *entry, uint64_t position);

/* Parses the entry at the start of rest. OK: it has *size bytes, and entry points into rest. AGAIN: *size bytes are
 * needed and rest is shorter. CORRUPT: there is no valid entry. */
enum err journal_entry_read(struct bytes rest, uint64_t position, struct journal_entry *entry, size_t *size);

#endif
