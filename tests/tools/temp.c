/* Temporary folders for unit tests. */
#include "tools/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void die(const char *what, const char *path)
{
    fprintf(stderr, "%s %s: %s\n", what, path, strerror(errno));
    abort();
}

void temp_dir(char path[TEMP_PATH_MAX])
{
    const char *base = getenv("TMPDIR");
    snprintf(path, TEMP_PATH_MAX, "%s/sonde-test-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(path))
        die("cannot make", path);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

void temp_remove(const char *path)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
        die("cannot remove", path);
}

void temp_join(char path[TEMP_PATH_MAX], const char *dir, const char *name)
{
    int size = snprintf(path, TEMP_PATH_MAX, "%s/%s", dir, name);
    if (size >= TEMP_PATH_MAX) {
        errno = ENAMETOOLONG;
        die("cannot name", dir);
    }
}

static void make_folders(const char *path)
{
    char folder[TEMP_PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST)
            die("cannot make", folder);
        *slash = '/';
    }
}

void temp_write(const char *path, const void *data, size_t size)
{
    make_folders(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        die("cannot write", path);
    close(fd);
}
