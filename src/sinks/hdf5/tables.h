/* The tables of a file, by job and backend, with their buffered rows. */
#ifndef SONDE_SINKS_HDF5_TABLES_H
#define SONDE_SINKS_HDF5_TABLES_H

#include "sinks/hdf5/layout.h"

#include <hdf5.h>

struct hdf5_table {
    uint64_t job;
    uint8_t layout;        /* a backend, or HDF5_MAPPING */
    bool exists;           /* in the file */
    hid_t dataset;         /* < 0: not open */
    uint64_t rows;         /* committed */
    uint8_t *buffered;      /* packed rows */
    size_t buffered_count, buffered_capacity, reserved;
};

struct hdf5_tables {
    struct hdf5_table **list; /* by table number */
    size_t count, capacity;
    uint32_t *slots;          /* hash table of number + 1; 0: free */
    size_t slot_count;
    struct hdf5_layout layouts[HDF5_LAYOUTS];
    uint64_t buffered_bytes;   /* buffered bytes of all tables */
};

void hdf5_tables_init(struct hdf5_tables *tables, size_t involved_size);
void hdf5_tables_clear(struct hdf5_tables *tables);

/* The table, added if it is new. NULL: out of memory. */
struct hdf5_table *hdf5_tables_find(struct hdf5_tables *tables, uint64_t job, int layout);

/* Reserves space for a row, which hdf5_tables_take returns. Reserve for a whole batch first, so that adding it
 * cannot fail. */
enum err hdf5_tables_reserve(struct hdf5_tables *tables, struct hdf5_table *table);
uint8_t *hdf5_tables_take(struct hdf5_tables *tables, struct hdf5_table *table);
void hdf5_tables_cancel(struct hdf5_tables *tables); /* cancels the reservations */

/* Call after a commit: the buffered rows are committed. */
void hdf5_tables_committed(struct hdf5_tables *tables);

#endif
