/* The commit record of a file: the journal position, and the number of committed rows of each table. Stored in the
 * file in a dataset that PyTables hides (/_p_sonde), as two copies written alternately, so that one is always valid.
 * Rows of a table beyond that number were not committed, and are removed. */
#ifndef SONDE_SINKS_HDF5_RECORD_H
#define SONDE_SINKS_HDF5_RECORD_H

#include "base/buf.h"

#define HDF5_RECORD_NAME "_p_sonde"

struct hdf5_record {
    uint64_t generation; /* the larger is newer */
    uint64_t position;
    uint64_t count;
    uint64_t *rows;      /* count entries, owned */
};

void hdf5_record_clear(struct hdf5_record *record);

/* Size of one copy for this number of tables. */
size_t hdf5_record_size(uint64_t tables);

/* size: hdf5_record_size of at least record->count. */
void hdf5_record_write(const struct hdf5_record *record, uint8_t *out, size_t size);

/* Reads the newer of two copies that follow each other in size bytes. CORRUPT: neither is valid. */
enum err hdf5_record_read(struct hdf5_record *record, const uint8_t *bytes, size_t size);

#endif
