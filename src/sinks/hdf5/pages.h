/* Changes of a file that are not in it yet: its pages as they will be. What is read shows them already. */
#ifndef SONDE_SINKS_HDF5_PAGES_H
#define SONDE_SINKS_HDF5_PAGES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HDF5_PAGE 4096u
#define HDF5_PAGES_MAX (1u << 18) /* 1 GiB */

struct hdf5_page {
    uint64_t number; /* × HDF5_PAGE is where it stands */
    uint8_t *data;
};

struct hdf5_pages {
    struct hdf5_page *list; /* ascending */
    size_t count, capacity;
};

void hdf5_pages_clear(struct hdf5_pages *pages);

/* A page of which a part is written is read from fd first; what is beyond its end is 0. NOMEM, FULL, IO. */
enum err hdf5_pages_write(struct hdf5_pages *pages, int fd, uint64_t at, const void *data, size_t size);
enum err hdf5_pages_read(const struct hdf5_pages *pages, int fd, uint64_t at, void *data, size_t size);

/* All of it from a file, with zeros behind its end; all of it into a file. */
enum err hdf5_pages_pread(int fd, uint64_t at, void *data, size_t size);
enum err hdf5_pages_pwrite(int fd, uint64_t at, const void *data, size_t size);

#endif
