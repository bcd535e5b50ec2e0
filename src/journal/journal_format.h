/* The bytes of a segment of the journal: a head of its own, then entries, one after another.
 *
 *   segment  0  "SondeJ1\n"    8  u64 position of the file's first byte
 *   entry    0  u32 magic    4  u32 check (of the position, and of all that follows)    8  u32 size of the body
 *            12 u8 kind    13 u8 size of the host's name with its NUL    14 u16 zero
 *            16 u64 stream    24 u64 sequence    32 u64 time in ns    40 host, NUL, body
 * All little-endian. The check knows the position: what a reused block of the disk still holds is never taken for an entry. */
#ifndef SONDE_JOURNAL_JOURNAL_FORMAT_H
#define SONDE_JOURNAL_JOURNAL_FORMAT_H

#include "journal/journal.h"

#define JOURNAL_MAGIC 0x456e6a53u /* "SjnE" */
#define JOURNAL_SEGMENT_MAGIC "SondeJ1\n"
#define JOURNAL_SEGMENT_HEAD 16
#define JOURNAL_HEAD 40
#define JOURNAL_BODY_MAX (64u << 20)

struct journal_head {
    uint32_t magic, check, size;
    uint8_t kind, host_size;
    uint16_t zero;
    uint64_t stream, sequence, time_ns;
};

/* Goes on with a checksum over more bytes. */
uint64_t journal_mix(uint64_t mix, const void *data, size_t size);

/* The head of an entry at position, before its host and body. USAGE: its host or body is too long, or it has no host. */
enum err journal_head_make(struct journal_head *head, const struct journal_entry *entry, uint64_t position);

/* The entry at the start of rest. OK: *size bytes belong to it; entry borrows from rest. AGAIN: it needs *size bytes, and
 * rest is shorter. CORRUPT: there is none here. */
enum err journal_entry_read(struct bytes rest, uint64_t position, struct journal_entry *entry, size_t *size);

#endif
