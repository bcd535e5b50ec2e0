/* How the HDF5 library accesses the file: a driver of our own, which
 * - keeps the "open for writing" flags out of the file, so that PyTables and h5py can open it at any time, while it is
 *   written and after a kill -9;
 * - writes an end of file into the superblock that lies ahead of the data, so that readers that opened it long ago can
 *   read new data;
 * - can hold back changes of the structure (a new job) and apply them at once (sinks/hdf5/redo.h). */
#ifndef SONDE_SINKS_HDF5_DRIVER_H
#define SONDE_SINKS_HDF5_DRIVER_H

#include "sinks/hdf5/pages.h"

#include <hdf5.h>
#include <stdbool.h>

struct hdf5_driver {
    int fd;
    bool is_held;     /* writes go to pages only */
    bool is_closing;  /* the superblock gets the true end again */
    bool is_dead;     /* drop all writes, to close after a failure */
    enum err failure; /* first I/O error; the reader of this field resets it */
    struct hdf5_pages pages;
    uint64_t size;    /* of the file */
    uint64_t announced_end; /* end of file in the superblock, at least; 0: the true one */
    uint64_t end;     /* the true end, shown to the library; 0: that of the superblock */
};

/* Access properties that make H5Fopen and H5Fcreate use driver, which must outlive the file; < 0: failure. The
 * caller closes them. The name given to H5Fopen is ignored. */
hid_t hdf5_driver_access(struct hdf5_driver *driver);

/* The end of file in the superblock; CORRUPT: not an HDF5 file with a superblock of version 3. */
enum err hdf5_driver_end(int fd, uint64_t *end);

#endif
