/* Creates groups and tables with the attributes of PyTables, in the layout of Colmet's collector. */
#ifndef SONDE_SINKS_HDF5_CREATE_H
#define SONDE_SINKS_HDF5_CREATE_H

#include "sinks/hdf5/layout.h"

#include <hdf5.h>

#define HDF5_NUMBER "sonde_table" /* attribute of a table: its index in the commit record */

/* All return < 0 on failure; the caller closes the results. */
hid_t hdf5_create_type(const struct hdf5_layout *layout);
herr_t hdf5_create_root(hid_t file);
hid_t hdf5_create_group(hid_t file, const char *name);

/* level: zlib compression, 0: none. */
hid_t hdf5_create_table(hid_t group, const struct hdf5_layout *layout, hid_t type, const char *title, unsigned level,
                        int64_t number);

/* A scalar i64 attribute of an object. */
herr_t hdf5_create_set_number(hid_t object, const char *name, int64_t number);
herr_t hdf5_create_get_number(hid_t object, const char *name, int64_t *number);

/* The library's message for its last failure. */
void hdf5_create_reason(char *text, size_t size);

#endif
