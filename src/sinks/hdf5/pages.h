/* Changes to a file that are held back: copies of its modified pages. Reads see the changes. */
#ifndef SONDE_SINKS_HDF5_PAGES_H
#define SONDE_SINKS_HDF5_PAGES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HDF5_PAGE 4096u
#define HDF5_PAGES_MAX (1u << 18) /* 1 GiB */

struct hdf5_page {
    uint64_t number; /* file offset / HDF5_PAGE */
    uint8_t *data;
};

struct hdf5_pages {
    struct hdf5_page *list; /* sorted by number */
    size_t count, capacity;
};

void hdf5_pages_clear(struct hdf5_pages *pages);

/* A partly written page is read from fd first, with zeros beyond the end. NOMEM, FULL, IO. */
enum err hdf5_pages_write(struct hdf5_pages *pages, int fd, uint64_t at, const void *data, size_t size);
enum err hdf5_pages_read(const struct hdf5_pages *pages, int fd, uint64_t at, void *data, size_t size);

/* Complete reads, with zeros beyond the end, and complete writes. */
enum err hdf5_pages_pread(int fd, uint64_t at, void *data, size_t size);
enum err hdf5_pages_pwrite(int fd, uint64_t at, const void *data, size_t size);

#endif
