/* How far a file is: the position in the journal, and how many rows of each table belong to it. In the file itself, in a
 * dataset that PyTables hides (/_p_sonde), in two places that are written in turn: one of them is always whole. What is in
 * a table beyond its rows was not committed, and is cut off. */
#ifndef SONDE_SINKS_HDF5_RECORD_H
#define SONDE_SINKS_HDF5_RECORD_H

#include "base/buf.h"

#define HDF5_RECORD_NAME "_p_sonde"

struct hdf5_record {
    uint64_t generation; /* the larger is the newer */
    uint64_t position;
    uint64_t count;
    uint64_t *rows;      /* count of them, owned */
};

void hdf5_record_clear(struct hdf5_record *record);

/* Bytes of one place for so many tables. */
size_t hdf5_record_size(uint64_t tables);

/* size bytes, as hdf5_record_size says for at least record->count. */
void hdf5_record_write(const struct hdf5_record *record, uint8_t *out, size_t size);

/* The newer of the two places that stand one behind the other in size bytes. CORRUPT: neither is whole. */
enum err hdf5_record_read(struct hdf5_record *record, const uint8_t *bytes, size_t size);

#endif
