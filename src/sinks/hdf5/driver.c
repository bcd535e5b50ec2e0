/* A virtual file driver: like the library's own (sec2), with the three additions that the header describes. */
#include "sinks/hdf5/driver.h"

#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUPERBLOCK 48u /* version 3 with 8-byte addresses */
#define FLAGS_AT 11
#define END_AT 28
#define CHECK_AT 44
#define AHEAD (64u << 20) /* how far the announced end lies ahead of the data, at least; sparse */
#define ADDRESS_MAX ((haddr_t)INT64_MAX)

struct opened {
    H5FD_t head; /* used by the library */
    struct hdf5_driver *driver;
    haddr_t end_of_addresses;
};

static uint32_t rotate(uint32_t x, unsigned bits)
{
    return x << bits | x >> (32 - bits);
}

static uint32_t word_at(const uint8_t *data)
{
    return data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

static void mix(uint32_t v[3])
{
    static const uint8_t rotations[] = { 4, 6, 8, 16, 19, 4 };
    for (unsigned i = 0; i < 6; i++) { /* rotating a, b, c */
        uint32_t *x = &v[i % 3], *y = &v[(i + 1) % 3], *z = &v[(i + 2) % 3];
        *x -= *z;
        *x ^= rotate(*z, rotations[i]);
        *z += *y;
    }
}

static uint32_t finish(uint32_t v[3])
{
    static const uint8_t rotations[] = { 14, 11, 25, 16, 4, 14, 24 };
    for (unsigned i = 0; i < 7; i++) { /* rotating c, a, b */
        uint32_t *x = &v[(i + 2) % 3], *y = &v[(i + 1) % 3];
        *x ^= *y;
        *x -= rotate(*y, rotations[i]);
    }
    return v[2];
}

/* Jenkins' lookup3, HDF5's checksum of metadata. */
static uint32_t checksum(const uint8_t *data, size_t size)
{
    uint32_t start = 0xdeadbeef + (uint32_t)size, v[3] = { start, start, start };
    uint8_t rest[12] = { 0 };
    for (; size > 12; size -= 12, data += 12) {
        for (unsigned i = 0; i < 3; i++)
            v[i] += word_at(data + 4 * i);
        mix(v);
    }
    if (!size)
        return v[2];
    memcpy(rest, data, size);
    for (unsigned i = 0; i < 3; i++)
        v[i] += word_at(rest + 4 * i);
    return finish(v);
}

static bool is_superblock(const uint8_t *block)
{
    static const uint8_t head[] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n', 3, 8, 8 };
    return memcmp(block, head, sizeof head) == 0;
}

static void seal(uint8_t *block, uint64_t end)
{
    memcpy(block + END_AT, &end, sizeof end);
    block[FLAGS_AT] = 0;
    uint32_t check = checksum(block, CHECK_AT);
    memcpy(block + CHECK_AT, &check, sizeof check);
}

static uint64_t end_in(const uint8_t *block)
{
    uint64_t end;
    memcpy(&end, block + END_AT, sizeof end);
    return end;
}

enum err hdf5_driver_end(int fd, uint64_t *end)
{
    uint8_t block[SUPERBLOCK];
    enum err err = hdf5_pages_pread(fd, 0, block, sizeof block);
    if (!err && (!is_superblock(block) || checksum(block, CHECK_AT) != word_at(block + CHECK_AT)))
        err = CORRUPT;
    if (!err)
        *end = end_in(block);
    return err;
}

/* Extends the file before anything refers to its new end, and updates the end in the superblock. While changes are
 * held back, the superblock among them will hold the new end. */
static enum err extend(struct hdf5_driver *driver, uint64_t end)
{
    uint8_t block[SUPERBLOCK];
    uint64_t ahead = end / 8 > AHEAD ? end / 8 : AHEAD, wanted = (end + ahead + AHEAD - 1) / AHEAD * AHEAD;
    if (driver->is_dead || driver->is_closing || !driver->announced_end || end <= driver->announced_end)
        return OK;
    if (wanted > driver->size && ftruncate(driver->fd, (off_t)wanted))
        return err_from_errno(errno);
    if (wanted > driver->size)
        driver->size = wanted;
    driver->announced_end = wanted;
    enum err err = driver->is_held ? OK : hdf5_pages_pread(driver->fd, 0, block, sizeof block);
    if (err || driver->is_held || !is_superblock(block))
        return err;
    seal(block, wanted);
    return hdf5_pages_pwrite(driver->fd, 0, block, sizeof block);
}

static herr_t record_failure(struct hdf5_driver *driver, enum err err)
{
    if (err && !driver->failure)
        driver->failure = err;
    return err ? -1 : 0;
}

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t maximum)
{
    struct hdf5_driver *const *info = H5Pget_driver_info(access);
    struct opened *opened = info ? calloc(1, sizeof *opened) : NULL;
    struct stat status;
    (void)name, (void)maximum;
    if (!opened)
        return NULL;
    opened->driver = *info;
    if ((flags & H5F_ACC_TRUNC && ftruncate(opened->driver->fd, 0)) || fstat(opened->driver->fd, &status)) {
        free(opened);
        return NULL;
    }
    opened->driver->size = (uint64_t)status.st_size;
    return &opened->head;
}

static herr_t driver_close(H5FD_t *file)
{
    free(file);
    return 0;
}

static int driver_compare(const H5FD_t *a, const H5FD_t *b)
{
    const struct hdf5_driver *left = ((const struct opened *)a)->driver, *right = ((const struct opened *)b)->driver;
    return (left > right) - (left < right);
}

static herr_t driver_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE
             | H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_SUPPORTS_SWMR_IO | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const struct opened *)file)->end_of_addresses;
}

static herr_t driver_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t address)
{
    struct opened *opened = (struct opened *)file;
    (void)type;
    opened->end_of_addresses = address;
    return record_failure(opened->driver, extend(opened->driver, address));
}

static haddr_t driver_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
    const struct hdf5_driver *driver = ((const struct opened *)file)->driver;
    (void)type;
    uint64_t held = driver->pages.count ? (driver->pages.list[driver->pages.count - 1].number + 1) * HDF5_PAGE : 0;
    return held > driver->size ? held : driver->size;
}

/* The library reads the superblock in parts. */
static enum err show_end(struct hdf5_driver *driver, uint64_t at, uint8_t *data, size_t size)
{
    uint8_t block[SUPERBLOCK];
    enum err err = hdf5_pages_read(&driver->pages, driver->fd, 0, block, sizeof block);
    if (err || !is_superblock(block))
        return err;
    seal(block, driver->end);
    memcpy(data, block + at, size < sizeof block - at ? size : sizeof block - at);
    return OK;
}

static herr_t driver_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size, void *data)
{
    struct hdf5_driver *driver = ((struct opened *)file)->driver;
    (void)type, (void)transfer;
    enum err err = hdf5_pages_read(&driver->pages, driver->fd, at, data, size);
    if (!err && at < SUPERBLOCK && driver->end)
        err = show_end(driver, at, data, size);
    return record_failure(driver, err);
}

static enum err write_bytes(struct hdf5_driver *driver, uint64_t at, const void *data, size_t size)
{
    if (driver->is_held)
        return hdf5_pages_write(&driver->pages, driver->fd, at, data, size);
    enum err err = hdf5_pages_pwrite(driver->fd, at, data, size);
    if (!err && at + size > driver->size)
        driver->size = at + size;
    return err;
}

static herr_t driver_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size, const void *data)
{
    struct hdf5_driver *driver = ((struct opened *)file)->driver;
    uint8_t block[SUPERBLOCK];
    enum err err = OK;
    (void)type, (void)transfer;
    if (driver->is_dead)
        return 0;
    if (at == 0 && size >= sizeof block && is_superblock(data)) {
        memcpy(block, data, sizeof block);
        driver->end = end_in(block);
        seal(block, driver->is_closing || driver->announced_end < driver->end ? driver->end : driver->announced_end);
        err = write_bytes(driver, 0, block, sizeof block);
        at += sizeof block;
        size -= sizeof block;
        data = (const uint8_t *)data + sizeof block;
    }
    return record_failure(driver, err || !size ? err : write_bytes(driver, at, data, size));
}

static const H5FD_class_t class = {
#ifdef H5FD_CLASS_VERSION /* HDF5 1.14 and newer */
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)600,
#endif
    .name = "sonde",
    .maxaddr = ADDRESS_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(struct hdf5_driver *),
    .open = driver_open,
    .close = driver_close,
    .cmp = driver_compare,
    .query = driver_query,
    .get_eoa = driver_get_eoa,
    .set_eoa = driver_set_eoa,
    .get_eof = driver_get_eof,
    .read = driver_read,
    .write = driver_write,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t hdf5_driver_access(struct hdf5_driver *driver)
{
    static hid_t id = -1; /* registered once per process */
    if (id < 0)
        id = H5FDregister(&class);
    hid_t access = id < 0 ? -1 : H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0)
        return -1;
    if (H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110) < 0 || H5Pset_driver(access, id, &driver) < 0) {
        H5Pclose(access);
        return -1;
    }
    return access;
}
