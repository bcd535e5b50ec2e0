/* A name in a folder that everybody may write to, as /tmp and /dev/shm, which another user may have used first. */
#ifndef SONDE_BASE_RECLAIM_PATH_H
#define SONDE_BASE_RECLAIM_PATH_H

#include <stdbool.h>

/* For root: what another user has put at path goes away; a folder, which may be full, is moved aside. Says so. False: it is
 * root's own, there is nothing, it cannot be done, or we are not root. */
bool reclaim_path(const char *path);

#endif
