/* Argument vectors and paths: of the running program, and of one about to be executed. */
#include "probe/process/probe.h"

#include <stdlib.h>

size_t args_size(char *const *argv)
{
    size_t size = 0;
    for (; argv && *argv; argv++)
        size += strlen(*argv) + 1;
    return size;
}

struct bytes args_copy(char *const *argv, char *to)
{
    struct bytes all = { to, 0 };
    for (; argv && *argv; argv++) {
        size_t size = strlen(*argv) + 1;
        memcpy(to + all.size, *argv, size);
        all.size += size;
    }
    return all;
}

/* The kernel lays the arguments out contiguously; ld.so --argv0 does not. */
struct bytes args_block(int argc, char **argv)
{
    if (argc < 1)
        return (struct bytes){ "", 0 };
    char *end = argv[0];
    for (int i = 0; i < argc; i++) {
        if (argv[i] != end)
            return (struct bytes){ 0 };
        end += strlen(end) + 1;
    }
    return (struct bytes){ argv[0], (size_t)(end - argv[0]) };
}

bool args_executable(const char *path)
{
    return sys3(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

/* Writes dir/file to `to`; false if it does not fit. dir may already be stored in `to`. */
static bool join(char to[ARGS_PATH_MAX], struct bytes dir, const char *file)
{
    size_t size = strlen(file) + 1;
    dir.size -= dir.size && dir.data[dir.size - 1] == '/';
    if (dir.size + 1 + size > ARGS_PATH_MAX)
        return false;
    memmove(to, dir.data, dir.size);
    to[dir.size] = '/';
    memcpy(to + dir.size + 1, file, size);
    return true;
}

const char *args_absolute(char to[ARGS_PATH_MAX], const char *path)
{
    if (path[0] == '/')
        return path;
    long size = sys2(SYS_getcwd, to, ARGS_PATH_MAX); /* includes the NUL */
    if (size < 2 || to[0] != '/')
        return path;
    while (path[0] == '.' && path[1] == '/')
        for (path++; path[0] == '/';)
            path++;
    return join(to, (struct bytes){ to, (size_t)size - 1 }, path) ? to : path;
}

const char *args_search(char to[ARGS_PATH_MAX], const char *file)
{
    if (strchr(file, '/'))
        return args_executable(file) ? file : NULL;
    const char *path = getenv("PATH");
    if (!path)
        path = "/bin:/usr/bin"; /* glibc's default */
    for (;; path++) {
        const char *end = strchrnul(path, ':');
        struct bytes dir = { path, (size_t)(end - path) };
        if (dir.size == 0)
            dir = (struct bytes){ ".", 1 };
        if (join(to, dir, file) && args_executable(to))
            return to;
        path = end;
        if (!*path)
            return NULL;
    }
}

size_t args_digits(char to[ARGS_DIGITS_MAX], unsigned number)
{
    size_t size = 1;
    for (unsigned rest = number; rest /= 10;)
        size++;
    to[size] = '\0';
    for (size_t at = size; at-- > 0; number /= 10)
        to[at] = (char)('0' + number % 10);
    return size;
}

/* "/proc/self/fd/7" */
static void fd_link(char link[32], int fd)
{
    static const char dir[] = "/proc/self/fd/";
    memcpy(link, dir, sizeof dir);
    args_digits(link + sizeof dir - 1, (unsigned)fd);
}

bool args_at(char to[ARGS_PATH_MAX], int fd, const char *path)
{
    char link[32];
    fd_link(link, fd);
    long size = sys4(SYS_readlinkat, AT_FDCWD, link, to, ARGS_PATH_MAX - 1);
    if (size <= 0)
        return false;
    to[size] = '\0';
    return !path[0] || join(to, (struct bytes){ to, (size_t)size }, path);
}

size_t args_tags_size(const char *tags, const char *papiex)
{
    return strlen(tags) + 1 + strlen(papiex);
}

struct bytes args_tags(const char *tags, const char *papiex, char *to)
{
    size_t first = strlen(tags), second = strlen(papiex);
    if (!first || !second)
        return first ? (struct bytes){ tags, first } : (struct bytes){ papiex, second };
    memcpy(to, tags, first);
    to[first] = ';';
    memcpy(to + first + 1, papiex, second);
    return (struct bytes){ to, first + 1 + second };
}
