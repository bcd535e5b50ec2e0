/* Paths in world-writable directories such as /tmp and /dev/shm, which another user may have taken first. */
#ifndef SONDE_BASE_RECLAIM_PATH_H
#define SONDE_BASE_RECLAIM_PATH_H

#include <stdbool.h>

/* As root: removes what another user has put at path (a directory is renamed) and logs it. False: it belongs to root, there
 * is nothing, it failed, or we are not root. */
bool reclaim_path(const char *path);

#endif
