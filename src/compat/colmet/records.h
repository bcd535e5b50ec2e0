/* What Colmet's nodes send to its collector, on the PULL port: records of the Python line (fixed-size, packed, no version: "P"),
 * or one MessagePack map of the Rust line in its three generations (R1 2019, R2 2020 to 2022, R3 since 2022). Each sending
 * host of a message becomes a batch with sets that are named after Colmet's backends; what Colmet says as -1 is absent. */
#ifndef SONDE_COMPAT_COLMET_RECORDS_H
#define SONDE_COMPAT_COLMET_RECORDS_H

#include "base/buf.h"
#include "model/batch.h"
#include "compat/colmet/backends.h"

#define COLMET_HOSTS_MAX 64 /* of one message: a node sends its own */
#define COLMET_JOBS_MAX 4096

struct colmet_records; /* holds what the batches of a message refer to */

enum err colmet_records_new(struct colmet_records **records);
void colmet_records_free(struct colmet_records **records);

/* Reads a message. What was good before something that cannot be read is there as well: *bad says how many records or
 * entries were left out, error the first of them was. CORRUPT: nothing could be read. FULL: more hosts or jobs than may be. */
enum err colmet_records_read(struct colmet_records *records, struct bytes message, size_t *bad, char *error, size_t error_size);

/* The batches of the message that was read last, one for each host; valid until the next read. Jobs of a batch: those of its
 * samples, and those that involved_jobs tells. */
size_t colmet_records_count(const struct colmet_records *records);
const struct batch *colmet_records_batch(const struct colmet_records *records, size_t i);

/* A record of the Python line, record_size bytes of backend: values and known as in a sample of its set (wire_count are
 * used), what is not known as -1, of what has no sign as 0. involved: "[42, 43]". */
void colmet_records_write(struct buf *out, const struct colmet_backend *backend, const char *host, uint64_t job, uint64_t time_s,
                          const union value *values, const uint8_t *known, const char *involved);

/* The set that samples of a backend have. */
const struct set *colmet_records_set(const struct colmet_backend *backend);

#endif
