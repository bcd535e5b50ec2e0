/* One file of Colmet's layout while we write it. Rows wait in memory; a commit appends them to their tables and then notes how
 * far the file is. In between others read it: appending keeps to HDF5's rules for one writer and many readers (SWMR), and
 * new tables, for which there are no such rules, are made aside and put into the file at once. */
#ifndef SONDE_SINKS_HDF5_FILE_H
#define SONDE_SINKS_HDF5_FILE_H

#include "sinks/hdf5/driver.h"
#include "sinks/hdf5/record.h"
#include "sinks/hdf5/tables.h"

#include <limits.h>

struct hdf5_file {
    char path[PATH_MAX];
    unsigned level; /* of zlib for new tables */
    struct hdf5_driver driver;
    hid_t access, file; /* < 0: not open; file: in SWMR mode */
    hid_t types[HDF5_LAYOUTS];
    struct hdf5_tables tables;
    struct hdf5_record record;     /* what is committed */
    uint64_t record_at;            /* where its two places are */
    size_t record_size;            /* of each */
    size_t open_count;             /* datasets */
    uint64_t position;             /* of the newest batch that waits */
    char message[256];
};

struct hdf5_file_settings {
    const char *path;
    unsigned level;
    size_t involved_size;
    uint64_t position; /* that a new file begins with */
};

/* Opens the file, or makes it where there is none; cuts off what was not committed. AGAIN: somebody else writes to it.
 * CORRUPT: it is not one of ours. Others by the system. message says more. */
enum err hdf5_file_open(struct hdf5_file *file, const struct hdf5_file_settings *settings);

/* Makes durable what waits. After an error nothing of it counts, and it waits on. */
enum err hdf5_file_commit(struct hdf5_file *file);

/* Closes without a commit. */
void hdf5_file_close(struct hdf5_file *file);

#endif
