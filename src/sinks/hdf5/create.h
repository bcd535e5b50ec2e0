/* Groups and tables in an HDF5 file, with the attributes by which PyTables knows them, as Colmet's collector made them. */
#ifndef SONDE_SINKS_HDF5_CREATE_H
#define SONDE_SINKS_HDF5_CREATE_H

#include "sinks/hdf5/layout.h"

#include <hdf5.h>

#define HDF5_NUMBER "sonde_table" /* attribute of a table: its place in the record of what is committed */

/* All return < 0 on failure; the caller closes what it gets. */
hid_t hdf5_create_type(const struct hdf5_layout *layout);
herr_t hdf5_create_root(hid_t file);
hid_t hdf5_create_group(hid_t file, const char *name);

/* level: of zlib, 0: not compressed. */
hid_t hdf5_create_table(hid_t group, const struct hdf5_layout *layout, hid_t type, const char *title, unsigned level,
                        int64_t number);

/* A scalar i64 among the attributes of an object. */
herr_t hdf5_create_set_number(hid_t object, const char *name, int64_t number);
herr_t hdf5_create_get_number(hid_t object, const char *name, int64_t *number);

/* What the library says of its last failure, in the words of where it happened. */
void hdf5_create_reason(char *text, size_t size);

#endif
