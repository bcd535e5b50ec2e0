/* Checks the executable of a process. */
#include "syscalls/tracer_privileges.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool grants_privileges(const char *exe)
{
    struct stat file;
    if (stat(exe, &file) != 0)
        return false;
    bool by_user = file.st_mode & S_ISUID && file.st_uid != geteuid();
    bool by_group = (file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && file.st_gid != getegid();
    return by_user || by_group || getxattr(exe, "security.capability", NULL, 0) > 0;
}

/* A tracer run by root does not suppress privileges. */
void tracer_privileges_check(struct tracer_privileges *privileges, pid_t tid)
{
    char exe[32];
    snprintf(exe, sizeof exe, "/proc/%d/exe", (int)tid);
    if (privileges->is_known || geteuid() == 0 || !grants_privileges(exe))
        return;
    ssize_t size = readlink(exe, privileges->path, sizeof privileges->path - 1);
    privileges->path[size > 0 ? size : 0] = '\0';
    atomic_store_explicit(&privileges->is_known, size > 0, memory_order_release);
}
