/* Messages of Colmet's Rust line: a MessagePack map from job ids to [host, ms, (version,) [[(job,) backend, [id…], [value…]]…]].
 * 2019: ids from 1 on, of a table of its own, no version. 2020: from 0 on. 2022: the same as texts, with the job again. */
#ifndef SONDE_COMPAT_COLMET_RECORDS_RUST_H
#define SONDE_COMPAT_COLMET_RECORDS_RUST_H

#include "compat/colmet/hosts.h"

/* As colmet_records_read. */
enum err colmet_rust_read(struct colmet_records *records, struct bytes message, size_t *bad, char *error, size_t error_size);

#endif
