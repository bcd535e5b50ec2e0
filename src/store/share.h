/* Who but its owner may read a store that is a file: a group, which the owner names. */
#ifndef SONDE_STORE_SHARE_H
#define SONDE_STORE_SHARE_H

#include "store/store.h"

#include <sys/types.h>

/* ABSENT: there is no such group. */
enum err share_group(const char *name, gid_t *gid);

/* Lets the group read an open store, its log with it. ABSENT, DENIED, IO: store_message says why; the store goes on as it is. */
enum err share_with(struct store *store, const char *group);

/* For somebody who may not read the store: says who may, and what to do. Returns DENIED. */
enum err share_deny(struct store *store);

#endif
