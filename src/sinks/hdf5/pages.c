/* A sorted list: changes are few, and mostly at the end of the file. */
#include "sinks/hdf5/pages.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hdf5_pages_clear(struct hdf5_pages *pages)
{
    for (size_t i = 0; i < pages->count; i++)
        free(pages->list[i].data);
    free(pages->list);
    *pages = (struct hdf5_pages){ 0 };
}

enum err hdf5_pages_pread(int fd, uint64_t at, void *data, size_t size)
{
    char *to = data;
    while (size) {
        ssize_t got = pread(fd, to, size, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_from_errno(errno);
        if (got == 0) {
            memset(to, 0, size);
            return OK;
        }
        to += got;
        at += (uint64_t)got;
        size -= (size_t)got;
    }
    return OK;
}

enum err hdf5_pages_pwrite(int fd, uint64_t at, const void *data, size_t size)
{
    const char *from = data;
    while (size) {
        ssize_t done = pwrite(fd, from, size, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? err_from_errno(errno) : IO;
        from += done;
        at += (uint64_t)done;
        size -= (size_t)done;
    }
    return OK;
}

/* The index of a page, or where to insert it. */
static size_t place_of(const struct hdf5_pages *pages, uint64_t number)
{
    size_t low = 0, high = pages->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (pages->list[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum err add_page(struct hdf5_pages *pages, int fd, size_t place, uint64_t number)
{
    enum err err = array_reserve(pages->list, pages->capacity, pages->count + 1, HDF5_PAGES_MAX);
    if (err)
        return err;
    uint8_t *data = malloc(HDF5_PAGE);
    if (!data)
        return NOMEM;
    err = hdf5_pages_pread(fd, number * HDF5_PAGE, data, HDF5_PAGE);
    if (err) {
        free(data);
        return err;
    }
    memmove(&pages->list[place + 1], &pages->list[place], (pages->count - place) * sizeof *pages->list);
    pages->list[place] = (struct hdf5_page){ number, data };
    pages->count++;
    return OK;
}

enum err hdf5_pages_write(struct hdf5_pages *pages, int fd, uint64_t at, const void *data, size_t size)
{
    const char *from = data;
    while (size) {
        uint64_t number = at / HDF5_PAGE;
        size_t offset = at % HDF5_PAGE, part = HDF5_PAGE - offset < size ? HDF5_PAGE - offset : size;
        size_t place = place_of(pages, number);
        bool is_there = place < pages->count && pages->list[place].number == number;
        enum err err = is_there ? OK : add_page(pages, fd, place, number);
        if (err)
            return err;
        memcpy(pages->list[place].data + offset, from, part);
        from += part;
        at += part;
        size -= part;
    }
    return OK;
}

enum err hdf5_pages_read(const struct hdf5_pages *pages, int fd, uint64_t at, void *data, size_t size)
{
    char *to = data;
    while (size) {
        uint64_t number = at / HDF5_PAGE;
        size_t offset = at % HDF5_PAGE, part = HDF5_PAGE - offset < size ? HDF5_PAGE - offset : size;
        size_t place = place_of(pages, number);
        enum err err = OK;
        if (place < pages->count && pages->list[place].number == number)
            memcpy(to, pages->list[place].data + offset, part);
        else
            err = hdf5_pages_pread(fd, at, to, part);
        if (err)
            return err;
        to += part;
        at += part;
        size -= part;
    }
    return OK;
}
