/* Looks at the file of the program. */
#include "syscalls/tracer_rights.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool gives_rights(const char *exe)
{
    struct stat file;
    if (stat(exe, &file) != 0)
        return false;
    bool by_user = file.st_mode & S_ISUID && file.st_uid != geteuid();
    bool by_group = (file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && file.st_gid != getegid();
    return by_user || by_group || getxattr(exe, "security.capability", NULL, 0) > 0;
}

/* Root traces and gives rights all the same. */
void tracer_rights_look(struct tracer_rights *rights, pid_t tid)
{
    char exe[32];
    snprintf(exe, sizeof exe, "/proc/%d/exe", (int)tid);
    if (rights->is_known || geteuid() == 0 || !gives_rights(exe))
        return;
    ssize_t size = readlink(exe, rights->path, sizeof rights->path - 1);
    rights->path[size > 0 ? size : 0] = '\0';
    atomic_store_explicit(&rights->is_known, size > 0, memory_order_release);
}
