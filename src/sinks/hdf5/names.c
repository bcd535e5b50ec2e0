/* Finds the newest file by listing the directory. */
#include "sinks/hdf5/names.h"

#include "base/scan.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);
    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

bool hdf5_names_is_fixed(const char *path)
{
    return ends_with(path, HDF5_SUFFIX);
}

enum err hdf5_names_make(const char *path, uint64_t time_s, char name[PATH_MAX])
{
    return snprintf(name, PATH_MAX, "%s.%llu" HDF5_SUFFIX, path, (unsigned long long)time_s) < PATH_MAX ? OK : USAGE;
}

/* BASE.<digits>.hdf5 */
static bool parse_name(const char *name, const char *base, uint64_t *time_s)
{
    size_t size = strlen(base);
    if (strncmp(name, base, size) != 0 || name[size] != '.')
        return false;
    const char *at = name + size + 1;
    return *at >= '0' && *at <= '9' && scan_u64(&at, time_s) && strcmp(at, HDF5_SUFFIX) == 0;
}

enum err hdf5_names_newest(const char *path, uint64_t *time_s)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    DIR *dir = opendir(*directory ? directory : "/");
    if (!dir)
        return err_from_errno(errno);
    bool is_found = false;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        uint64_t number;
        if (!parse_name(entry->d_name, base, &number) || (is_found && number <= *time_s))
            continue;
        *time_s = number;
        is_found = true;
    }
    closedir(dir);
    return is_found ? OK : ABSENT;
}

enum err hdf5_names_make_parents(const char *path)
{
    char directory[PATH_MAX];
    if (snprintf(directory, sizeof directory, "%s", path) >= (int)sizeof directory)
        return USAGE;
    for (char *slash = directory + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        if (mkdir(directory, 0755) && errno != EEXIST)
            return err_from_errno(errno);
    }
    return OK;
}
