/* From /proc/self/exe to the files that were installed or built with it. */
#include "base/install_paths.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* From the directory of the executable, installed or in the build tree. The build defines SONDE_LIB_FROM_BIN. */
static const char *const directories[] = {
    ".", SONDE_LIB_FROM_BIN, "../lib/sonde", "../probe", "../probe/mpi", "../modules",
};

enum err install_paths_executable(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size);
    if (length >= 0) {
        if ((size_t)length >= size)
            return FULL;
        path[length] = '\0';
        return OK;
    }
    /* Without /proc: the path that was passed to execve. */
    const char *given = (const char *)getauxval(AT_EXECFN);
    char whole[PATH_MAX];
    if (!given || !realpath(given, whole))
        return ABSENT;
    return (size_t)snprintf(path, size, "%s", whole) < size ? OK : FULL;
}

enum err install_paths_find_in(const char *directory, const char *name, char *path, size_t size)
{
    char joined[2 * PATH_MAX + 256], whole[PATH_MAX];
    snprintf(joined, sizeof joined, "%s/%s", directory, name);
    if (!realpath(joined, whole) || access(whole, R_OK) != 0)
        return ABSENT;
    return (size_t)snprintf(path, size, "%s", whole) < size ? OK : FULL;
}

enum err install_paths_find(const char *name, char *path, size_t size)
{
    char own[PATH_MAX], directory[2 * PATH_MAX];
    enum err err = install_paths_executable(own, sizeof own);
    if (err)
        return err;
    *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        bool is_absolute = directories[i][0] == '/';
        snprintf(directory, sizeof directory, "%s%s%s", is_absolute ? "" : own, is_absolute ? "" : "/", directories[i]);
        err = install_paths_find_in(directory, name, path, size);
        if (err != ABSENT)
            return err;
    }
    return ABSENT;
}
