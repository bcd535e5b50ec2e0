/* Makes a directory readable for one user, and a group, but not for others, by POSIX access control lists: the directory
 * stays ours, so that the user cannot replace what is in it, and no capability is needed. */
#ifndef SONDE_SINKS_CSV_USER_ACCESS_H
#define SONDE_SINKS_CSV_USER_ACCESS_H

#include "base/err.h"

#include <sys/types.h>

/* Creates the directory path below dir_fd, if it is missing. What is created in it later inherits the list. uid and gid:
 * who may read it; -1: nobody else. ABSENT: the file system has no access control lists; nothing was created. */
enum err user_access_mkdir(int dir_fd, const char *path, uid_t uid, gid_t gid);

#endif
