/* How much of the processes' I/O is the probe's: what it appended to the spool. */
#ifndef SONDE_RUN_SPOOL_IO_H
#define SONDE_RUN_SPOOL_IO_H

#include "run/spool_writer.h"
#include "samplers/sampler.h"

struct spool_io {
    uint64_t begin_ns, write_bytes_before; /* when the spool was created, and what we had sent to storage by then */
};

/* Call before the first record is written, and after other files of the run. */
void spool_io_begin(struct spool_io *io);
void spool_io_read(const struct spool_io *io, const struct spool_writer *writer, struct sampler_probe_io *probe_io);

/* Bytes of the spool's pages that programs were the first to write to. spool_bytes: its size; own_bytes: what we have sent to
 * storage since. */
uint64_t spool_io_dirty_bytes(uint64_t spool_bytes, uint64_t own_bytes, uint64_t page_bytes, uint64_t elapsed_ns);

#endif
