/* The redo file of an HDF5 file with arbitrary content. The first byte selects whether its header and checksum are made valid, so
 * that the pages after them are applied. Afterwards the redo file is gone, or there was an error. */
#include "fuzz/dir.h"
#include "sinks/hdf5/redo.h"

#include <sys/stat.h>

#define FILE_BYTES (8 * HDF5_PAGE)
#define REDO_MAX 65536

int fuzz_redo(const uint8_t *data, size_t size);

/* As in redo.c: FNV-1a over words. */
static uint64_t checksum(const uint8_t *data, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325ull, word;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        memcpy(&word, data + i, 8);
        hash = (hash ^ word) * 0x100000001b3ull;
        hash ^= hash >> 29;
    }
    return hash;
}

/* Header, as many pages as fit, checksum. Returns the size; 0: too small. */
static size_t repair(int fd, uint8_t *redo, size_t size)
{
    struct stat status;
    if (size < 40 || fstat(fd, &status))
        return 0;
    uint64_t pages = (size - 40) / (8 + HDF5_PAGE), head[3] = { status.st_dev, status.st_ino, pages };
    memcpy(redo, "SondeRd1", 8);
    memcpy(redo + 8, head, sizeof head);
    size = 32 + pages * (8 + HDF5_PAGE);
    uint64_t check = checksum(redo, size);
    memcpy(redo + size, &check, sizeof check);
    return size + sizeof check;
}

int fuzz_redo(const uint8_t *data, size_t size)
{
    static uint8_t redo[REDO_MAX];
    static const uint8_t zeros[FILE_BYTES];
    char path[128], redo_path[128];
    if (!size || size > REDO_MAX)
        return 0;
    fuzz_dir_begin();
    fuzz_dir_write("file", zeros, sizeof zeros);
    fuzz_dir_path(path, "file");
    fuzz_dir_path(redo_path, "file.redo");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    fuzz_require(fd >= 0);
    memcpy(redo, data + 1, size - 1);
    size_t redo_size = data[0] & 1 ? repair(fd, redo, size - 1) : size - 1;
    fuzz_dir_write("file.redo", redo, redo_size);
    enum err err = hdf5_redo_recover(fd, path);
    fuzz_require(err || access(redo_path, F_OK) != 0);
    close(fd);
    return 0;
}
