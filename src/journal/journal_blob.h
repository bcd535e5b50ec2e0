/* A small file that is replaced atomically: after a crash it is either the old or the new one. Magic, checksum,
 * content. */
#ifndef SONDE_JOURNAL_JOURNAL_BLOB_H
#define SONDE_JOURNAL_JOURNAL_BLOB_H

#include "base/buf.h"

#define JOURNAL_BLOB_HEADER_BYTES 16
#define JOURNAL_BLOB_MAX (1u << 30)

/* Starts an empty blob; the caller appends the content. */
void journal_blob_start(struct buf *blob);
void journal_blob_u64(struct buf *blob, uint64_t value);
void journal_blob_string(struct buf *blob, const char *text); /* shorter than 256 bytes */

/* Writes NAME.new, syncs it, renames it to NAME and syncs the directory. Frees blob. */
enum err journal_blob_save(struct buf *blob, int directory, const char *name);

/* ABSENT: no such file. CORRUPT: damaged. On OK the caller frees blob; content points into it. */
enum err journal_blob_load(struct buf *blob, int directory, const char *name, struct bytes *content);

/* Remove a value from the front of content. false: content is too short. */
bool journal_blob_take_u64(struct bytes *content, uint64_t *value);
bool journal_blob_take_string(struct bytes *content, char text[256]);

#endif
