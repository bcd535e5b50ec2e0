/* The place itself where it is there, else the folder in which it would be made. */
#include "sinks/writable.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "a/b" of "a/b/c", "/" of "/a", "." of "a". */
static void go_up(char *path)
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

static enum err check_there(const char *path, bool is_folder, bool wants_folder, char *why, size_t why_size)
{
    if (is_folder != wants_folder) {
        snprintf(why, why_size, wants_folder ? "%.300s is a file; a folder is needed" : "%.300s is a folder; name a file", path);
        return IO;
    }
    if (access(path, wants_folder ? W_OK | X_OK : W_OK) == 0)
        return OK;
    snprintf(why, why_size, "%.300s cannot be written to: %s", path, strerror(errno));
    return err_from_errno(errno);
}

enum err writable_check(const char *path, enum writable_kind kind, char *why, size_t why_size)
{
    char above[PATH_MAX];
    struct stat facts;
    if (!path || strcmp(path, "-") == 0)
        return OK;
    if (snprintf(above, sizeof above, "%s", path) >= (int)sizeof above) {
        snprintf(why, why_size, "the path %.100s… is too long", path);
        return USAGE;
    }
    if (stat(path, &facts) == 0)
        return check_there(path, S_ISDIR(facts.st_mode), kind == WRITABLE_FOLDER, why, why_size);
    go_up(above);
    while (stat(above, &facts) != 0 && errno == ENOENT && kind != WRITABLE_FILE)
        go_up(above);
    if (stat(above, &facts) == 0)
        return check_there(above, S_ISDIR(facts.st_mode), true, why, why_size);
    snprintf(why, why_size, errno == ENOENT ? "there is no folder %.300s: make it" : "the folder %.300s cannot be looked at: %s",
             above, strerror(errno));
    return err_from_errno(errno);
}
