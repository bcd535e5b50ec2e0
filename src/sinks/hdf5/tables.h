/* The tables of a file, by job and backend, with the rows that wait to be written to each. */
#ifndef SONDE_SINKS_HDF5_TABLES_H
#define SONDE_SINKS_HDF5_TABLES_H

#include "sinks/hdf5/layout.h"

#include <hdf5.h>

struct hdf5_table {
    uint64_t job;
    uint8_t layout;        /* a backend, or HDF5_MAPPING */
    bool exists;           /* in the file */
    hid_t dataset;         /* < 0: not open */
    uint64_t rows;         /* committed; what waits goes behind them */
    uint8_t *waiting;      /* rows, packed */
    size_t waiting_count, waiting_room, wanted;
};

struct hdf5_tables {
    struct hdf5_table **list; /* in the order of their numbers */
    size_t count, capacity;
    uint32_t *slots;          /* number + 1; 0: free; a power of two */
    size_t slot_count;
    struct hdf5_layout layouts[HDF5_LAYOUTS];
    uint64_t waiting_bytes;   /* of all */
};

void hdf5_tables_init(struct hdf5_tables *tables, size_t involved_size);
void hdf5_tables_clear(struct hdf5_tables *tables);

/* The table, made where it is not there yet. NULL: memory ran out. */
struct hdf5_table *hdf5_tables_find(struct hdf5_tables *tables, uint64_t job, int layout);

/* Room for one more row, which hdf5_tables_take then gives: first ask for all of a batch, then none of it can fail. */
enum err hdf5_tables_want(struct hdf5_tables *tables, struct hdf5_table *table);
uint8_t *hdf5_tables_take(struct hdf5_tables *tables, struct hdf5_table *table);
void hdf5_tables_forgo(struct hdf5_tables *tables); /* what was asked for is not taken */

/* The rows that waited are committed. */
void hdf5_tables_done(struct hdf5_tables *tables);

#endif
