/* The file that a process executes, under the name that /proc/PID/exe has for it. Of a short process every look below
 * /proc costs: the kernel makes the folder of the process for it, and takes it away at its end. So the name that was executed
 * is freed of its symbolic links here; whatever that does not hold for goes to /proc. */
#include "probe/process/probe.h"

#include <linux/openat2.h>

#define LINKS_MAX 8
#define LINK_TEXT_MAX 256

/* Scripts, and what binfmt_misc starts, have the name of the file among the arguments of the interpreter. */
static bool is_interpreted(const char *name, char *const *argv)
{
    for (int i = 1; argv[0] && argv[i]; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return false;
}

static bool begins(const char *path, const char *folder)
{
    return strncmp(path, folder, strlen(folder)) == 0;
}

/* Absolute, with nothing in it that the kernel would have taken out; and no open file by its number. */
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

/* Puts what a link says in the place of the part from start to end; of an absolute one, in the place of all up to end. */
static bool put_link(char path[ARGS_PATH_MAX], size_t start, size_t end, const char *link, size_t size)
{
    size_t rest = strlen(path + end) + 1, at = link[0] == '/' ? 0 : start;
    if (size == 0 || size == LINK_TEXT_MAX || at + size + rest > ARGS_PATH_MAX)
        return false;
    memmove(path + at + size, path + end, rest);
    memcpy(path + at, link, size);
    return true;
}

/* The first of its folders, or the file itself, that is a link. False: there is none any more, or it cannot be followed. */
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

/* False: ask /proc. The loader as the program itself has no other that loaded it. */
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
