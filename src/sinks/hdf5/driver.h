/* How HDF5's library reaches the file: a driver of ours, by which
 * - the flags that say "open for writing" never get into the file, so that PyTables and h5py can open it at any time, while it
 *   is written and after a kill -9;
 * - the end of the file that its superblock tells lies ahead of what is written, so that they can read all of it, however long
 *   ago they opened it;
 * - changes of the structure (a new job) can be held back and then be made at once (sinks/hdf5/redo.h). */
#ifndef SONDE_SINKS_HDF5_DRIVER_H
#define SONDE_SINKS_HDF5_DRIVER_H

#include "sinks/hdf5/pages.h"

#include <hdf5.h>
#include <stdbool.h>

struct hdf5_driver {
    int fd;
    bool is_held;     /* writes stay in pages */
    bool is_closing;  /* for good: the superblock tells the true end again */
    bool is_dead;     /* nothing is written any more: for closing after a failure */
    enum err failure; /* the first one of reading or writing; whoever looks sets it back */
    struct hdf5_pages pages;
    uint64_t size;    /* of the file */
    uint64_t told;    /* the end that the superblock tells at least; 0: the true one */
    uint64_t end;     /* the true one, as the library shall see it; 0: what the superblock tells */
};

/* Properties by which H5Fopen and H5Fcreate use driver, which must outlive the file; < 0: it cannot be. The caller closes it.
 * The name given to H5Fopen does not matter. */
hid_t hdf5_driver_access(struct hdf5_driver *driver);

/* The end of the file that its superblock tells; CORRUPT: it is no HDF5 file with a superblock of version 3. */
enum err hdf5_driver_end(int fd, uint64_t *end);

#endif
