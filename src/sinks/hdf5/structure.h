/* Changes of the structure: creating a file, adding tables, loading the tables of a file and removing uncommitted
 * rows. All but the first are held back in memory and applied atomically. */
#ifndef SONDE_SINKS_HDF5_STRUCTURE_H
#define SONDE_SINKS_HDF5_STRUCTURE_H

#include "sinks/hdf5/file.h"

/* Creates an empty file at the driver's descriptor, with a commit record of position. */
enum err hdf5_structure_create(struct hdf5_file *file, uint64_t position);

/* Creates all tables that do not exist yet, or on an error none. The file must not be open. */
enum err hdf5_structure_add(struct hdf5_file *file);

/* Loads tables and commit record of a file, and removes uncommitted rows. CORRUPT: not written by this sink. */
enum err hdf5_structure_load(struct hdf5_file *file);

/* "/job_42/taskstats_default" */
void hdf5_structure_path(const struct hdf5_table *table, char *path, size_t size);

/* The next commit record, with or without buffered rows. The caller clears it. */
enum err hdf5_structure_record(const struct hdf5_file *file, bool with_waiting, struct hdf5_record *next);

/* The error behind a failure of the library: an I/O error of the driver, else IO. Sets file->message. */
enum err hdf5_structure_failure(struct hdf5_file *file);

#endif
