/* Read access to a job database file for a group that the owner chooses. */
#ifndef SONDE_STORE_SHARE_H
#define SONDE_STORE_SHARE_H

#include "store/store.h"

#include <sys/types.h>

/* ABSENT: there is no such group. */
enum err share_group(const char *name, gid_t *gid);

/* Gives the group read access to an open job database and its log. ABSENT, DENIED, IO: see store_message; the database
 * stays usable. */
enum err share_with(struct store *store, const char *group);

/* Sets the message for a user who may not read the database: who may, and what to do. Returns DENIED. */
enum err share_deny(struct store *store);

#endif
