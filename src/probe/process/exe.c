/* The executable of this process, under the name that /proc/PID/exe shows. For a short process, touching /proc is
 * expensive: the kernel creates /proc/PID for it and tears it down at exit. So we resolve the symbolic links of
 * AT_EXECFN ourselves, and fall back to /proc where that is not possible. */
#include "probe/process/probe.h"

#include <linux/openat2.h>

#define LINKS_MAX 8
#define LINK_TEXT_MAX 256

/* For scripts and binfmt_misc, AT_EXECFN is the script, which is also an argument of the interpreter. */
static bool is_interpreted(const char *name, char *const *argv)
{
    for (int i = 1; argv[0] && argv[i]; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return false;
}

static bool begins(const char *path, const char *dir)
{
    return strncmp(path, dir, strlen(dir)) == 0;
}

/* Absolute, without "//", "." and "..", and not a path through an open descriptor (/dev/fd, /proc/self/fd). */
static bool is_plain(const char *path)
{
    if (path[0] != '/' || begins(path, "/dev/") || begins(path, "/proc/"))
        return false;
    for (const char *at = path; *at; at = strchrnul(at + 1, '/')) {
        const char *part = at + 1;
        size_t size = (size_t)(strchrnul(part, '/') - part);
        if (size == 0 || (size <= 2 && part[0] == '.' && (size == 1 || part[1] == '.')))
            return false;
    }
    return true;
}

static long open_without_links(const char *path, int flags)
{
    const struct open_how how = { .flags = (unsigned)flags | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
    return sys4(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/* Replaces the path component from start to end by the link's target; an absolute target replaces everything up to
 * end. */
static bool put_link(char path[ARGS_PATH_MAX], size_t start, size_t end, const char *link, size_t size)
{
    size_t rest = strlen(path + end) + 1, at = link[0] == '/' ? 0 : start;
    if (size == 0 || size == LINK_TEXT_MAX || at + size + rest > ARGS_PATH_MAX)
        return false;
    memmove(path + at + size, path + end, rest);
    memcpy(path + at, link, size);
    return true;
}

/* Resolves the first component that is a symbolic link. False: there is none left, or it cannot be resolved. */
static bool follow_first(char path[ARGS_PATH_MAX])
{
    char link[LINK_TEXT_MAX];
    for (size_t start = 1, end; path[start]; start = end + 1) {
        end = (size_t)(strchrnul(path + start, '/') - path);
        char kept = path[end];
        path[end] = '\0';
        long size = sys4(SYS_readlinkat, AT_FDCWD, path, link, sizeof link);
        path[end] = kept;
        if (size > 0)
            return put_link(path, start, end, link, (size_t)size);
        if (size != -EINVAL || !kept)
            return false;
    }
    return false;
}

long exe_open(char path[ARGS_PATH_MAX], int flags)
{
    for (int i = 0; i <= LINKS_MAX && is_plain(path); i++) {
        long fd = open_without_links(path, flags);
        if (fd != -ELOOP)
            return fd;
        if (!follow_first(path))
            break;
    }
    return -ELOOP;
}

/* False: use /proc/self/exe. When the loader itself was executed, there is no AT_BASE. */
static bool find(char to[ARGS_PATH_MAX], char *const *argv, const struct probe_auxv *auxv)
{
    const char *name = auxv->name;
    if (!name || !auxv->has_loader || is_interpreted(name, argv))
        return false;
    const char *path = args_absolute(to, name);
    size_t size = strlen(path) + 1;
    if (size > ARGS_PATH_MAX)
        return false;
    memmove(to, path, size);
    long fd = exe_open(to, O_PATH);
    if (fd >= 0)
        sys_close((int)fd);
    return fd >= 0;
}

struct bytes exe_read(char to[PATH_MAX], char *const *argv, const struct probe_auxv *auxv)
{
    if (find(to, argv, auxv))
        return (struct bytes){ to, strlen(to) };
    long size = sys4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", to, PATH_MAX);
    return (struct bytes){ to, size > 0 ? (size_t)size : 0 };
}
