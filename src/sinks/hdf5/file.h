/* One open file in Colmet's layout. Rows are buffered; a commit appends them to their tables, then writes the commit
 * record. Others may read the file at any time: appending follows HDF5's rules for a single writer and multiple
 * readers (SWMR), and new tables, which SWMR does not allow, are prepared in memory and written at once. */
#ifndef SONDE_SINKS_HDF5_FILE_H
#define SONDE_SINKS_HDF5_FILE_H

#include "sinks/hdf5/driver.h"
#include "sinks/hdf5/record.h"
#include "sinks/hdf5/tables.h"

#include <limits.h>

struct hdf5_file {
    char path[PATH_MAX];
    unsigned level; /* zlib level of new tables */
    struct hdf5_driver driver;
    hid_t access, file; /* < 0: not open; file: in SWMR mode */
    hid_t types[HDF5_LAYOUTS];
    struct hdf5_tables tables;
    struct hdf5_record record;     /* the last commit */
    uint64_t record_at;            /* file offset of its two copies */
    size_t record_size;            /* of each copy */
    size_t open_count;             /* open datasets */
    uint64_t position;             /* of the last buffered batch */
    char message[256];
};

struct hdf5_file_settings {
    const char *path;
    unsigned level;
    size_t involved_size;
    uint64_t position; /* start position of a new file */
};

/* Opens or creates the file, and removes uncommitted rows. AGAIN: another process writes to it. CORRUPT: not written
 * by this sink. Other errors come from the system. message says more. */
enum err hdf5_file_open(struct hdf5_file *file, const struct hdf5_file_settings *settings);

/* An HDF5 file without our record, such as one of Colmet's collector. */
bool hdf5_file_is_foreign(const char *path);

/* Makes buffered rows durable. After an error none of them counts, and they stay buffered. */
enum err hdf5_file_commit(struct hdf5_file *file);

/* Closes without committing. */
void hdf5_file_close(struct hdf5_file *file);

#endif
