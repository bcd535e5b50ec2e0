/* Messages of Colmet's Rust version: a MessagePack map from job ids to [host, ms, (version,) [[(job,) backend,
 * [id…], [value…]]…]]. 2019: ids of a separate table, from 1, no version. 2020: ids from 0. 2022: the same as
 * strings, with the job repeated. */
#ifndef SONDE_COMPAT_COLMET_RECORDS_RUST_H
#define SONDE_COMPAT_COLMET_RECORDS_RUST_H

#include "compat/colmet/hosts.h"

/* As colmet_records_read. */
enum err colmet_rust_read(struct colmet_records *records, struct bytes message, size_t *bad, char *error, size_t error_size);

#endif
