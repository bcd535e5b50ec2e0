/* What is not appending: making a file, adding tables to it, finding what a file holds and cutting off what does not count.
 * All but the first is done while changes are held back, and put into the file at once. */
#ifndef SONDE_SINKS_HDF5_STRUCTURE_H
#define SONDE_SINKS_HDF5_STRUCTURE_H

#include "sinks/hdf5/file.h"

/* An empty file at the driver's descriptor, with a record of position. */
enum err hdf5_structure_create(struct hdf5_file *file, uint64_t position);

/* All tables that do not exist yet. The file must not be open. On an error none of them does. */
enum err hdf5_structure_add(struct hdf5_file *file);

/* Finds the tables of a file and its record, and cuts off what is beyond it. CORRUPT: not one of ours. */
enum err hdf5_structure_load(struct hdf5_file *file);

/* "/job_42/taskstats_default" */
void hdf5_structure_path(const struct hdf5_table *table, char *path, size_t size);

/* The record that comes next; with the rows that wait, or without. The caller clears it. */
enum err hdf5_structure_record(const struct hdf5_file *file, bool with_waiting, struct hdf5_record *next);

/* What the library's failure was: that of the disk, if there was one, else IO; message gets its words. */
enum err hdf5_structure_failure(struct hdf5_file *file);

#endif
