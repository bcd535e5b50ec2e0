/* The directory "slaves" links the devices below; a loop device has a backing file instead. */
#include "samplers/stacked_device.h"

#include "base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

/* "" if it does not fit, which does not exist either. */
static const char *path_below(char path[FILE_PATH_MAX], const char *root, const char *directory, const char *name)
{
    char below[256];
    if (snprintf(below, sizeof below, "%s/%s", directory, name) >= (int)sizeof below || file_path(path, root, below))
        path[0] = '\0';
    return path;
}

static bool has_entries(const char *path)
{
    DIR *dir = opendir(path);
    bool found = false;
    for (const struct dirent *entry; dir && !found && (entry = readdir(dir));)
        found = entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return found;
}

bool stacked_device_check(const char *root, const char *directory)
{
    char path[FILE_PATH_MAX];
    return has_entries(path_below(path, root, directory, "slaves"))
           || access(path_below(path, root, directory, "loop/backing_file"), F_OK) == 0;
}
