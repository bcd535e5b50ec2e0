/* A small file that is replaced as a whole and is either the old one or the new one after any crash: a magic, a check, the
 * content. */
#ifndef SONDE_JOURNAL_JOURNAL_BLOB_H
#define SONDE_JOURNAL_JOURNAL_BLOB_H

#include "base/buf.h"

#define JOURNAL_BLOB_HEAD 16
#define JOURNAL_BLOB_MAX (1u << 30)

/* An empty content, into which the caller adds. */
void journal_blob_begin(struct buf *blob);
void journal_blob_u64(struct buf *blob, uint64_t value);
void journal_blob_text(struct buf *blob, const char *text); /* shorter than 256 bytes */

/* Writes NAME.new, syncs it, and gives it the name NAME; the folder is synced too. Frees blob. */
enum err journal_blob_save(struct buf *blob, int folder, const char *name);

/* ABSENT: no such file. CORRUPT: damaged. On OK the caller frees blob; content is in it. */
enum err journal_blob_load(struct buf *blob, int folder, const char *name, struct bytes *content);

/* Take values from the front of content. false: it is at its end too soon. */
bool journal_blob_take_u64(struct bytes *content, uint64_t *value);
bool journal_blob_take_text(struct bytes *content, char text[256]);

#endif
