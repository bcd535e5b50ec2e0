/* Tests the path itself if it exists, else the directory in which it would be created. */
#include "sinks/writable.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "a/b/c" becomes "a/b", "/a" becomes "/", "a" becomes ".". */
static void to_parent(char *path)
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        path[--size] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        memcpy(path, ".", 2);
    else
        slash[slash == path] = '\0';
}

static enum err check_existing(const char *path, bool is_directory, bool wants_directory, char *error, size_t error_size)
{
    if (is_directory != wants_directory) {
        snprintf(error, error_size, wants_directory ? "%.300s is a file (expected a directory)"
                                                    : "%.300s is a directory (expected a file)", path);
        return IO;
    }
    if (access(path, wants_directory ? W_OK | X_OK : W_OK) == 0)
        return OK;
    snprintf(error, error_size, "cannot write to %.300s: %s", path, strerror(errno));
    return err_from_errno(errno);
}

enum err writable_check(const char *path, enum writable_kind kind, char *error, size_t error_size)
{
    char parent[PATH_MAX];
    struct stat facts;
    if (!path || strcmp(path, "-") == 0)
        return OK;
    if (snprintf(parent, sizeof parent, "%s", path) >= (int)sizeof parent) {
        snprintf(error, error_size, "path %.100s… is too long", path);
        return USAGE;
    }
    if (stat(path, &facts) == 0)
        return check_existing(path, S_ISDIR(facts.st_mode), kind == WRITABLE_DIRECTORY, error, error_size);
    to_parent(parent);
    while (stat(parent, &facts) != 0 && errno == ENOENT && kind != WRITABLE_FILE)
        to_parent(parent);
    if (stat(parent, &facts) == 0)
        return check_existing(parent, S_ISDIR(facts.st_mode), true, error, error_size);
    snprintf(error, error_size,
             errno == ENOENT ? "directory %.300s does not exist: create it" : "cannot access directory %.300s: %s",
             parent, strerror(errno));
    return err_from_errno(errno);
}
