/* Reads and writes the messages from Colmet's nodes to its collector: records of the Python version (packed, of
 * fixed size), or a MessagePack map of the Rust version in its three generations (2019, 2020 to 2022, since 2022).
 * Each host in a message becomes a batch with sets named after Colmet's backends; Colmet's -1 becomes a missing
 * value. */
#ifndef SONDE_COMPAT_COLMET_RECORDS_H
#define SONDE_COMPAT_COLMET_RECORDS_H

#include "base/buf.h"
#include "model/batch.h"
#include "compat/colmet/backends.h"

#define COLMET_HOSTS_MAX 64 /* per message */
#define COLMET_JOBS_MAX 4096

/* Source of a job: whether Colmet's node has it in involved_jobs, which is stored as it was sent. */
#define COLMET_INVOLVED "oar"
#define COLMET_NOT_INVOLVED "colmet"

struct colmet_records; /* owns what the batches of a message refer to */

enum err colmet_records_new(struct colmet_records **records);
void colmet_records_free(struct colmet_records **records);

/* Reads a message. Invalid records are skipped: *bad gets their number, error the reason of the first. CORRUPT:
 * nothing could be read. FULL: too many hosts or jobs. */
enum err colmet_records_read(struct colmet_records *records, struct bytes message, size_t *bad, char *error, size_t error_size);

/* The batches of the last message, one per host; valid until the next read. Jobs of a batch: those of its samples,
 * and those in involved_jobs. */
size_t colmet_records_count(const struct colmet_records *records);
const struct batch *colmet_records_batch(const struct colmet_records *records, size_t i);

/* Writes a record of the Python version, backend->record_size bytes: values and known as in a sample of its set (the
 * first wire_count); a missing value becomes -1, or 0 in an unsigned field. involved: "[42, 43]". */
void colmet_records_write(struct buf *out, const struct colmet_backend *backend, const char *host, uint64_t job, uint64_t time_s,
                          const union value *values, const uint8_t *known, const char *involved);

/* The set for samples of a backend. */
const struct set *colmet_records_set(const struct colmet_backend *backend);

#endif
