/* Interned set descriptions: one copy however many streams use it, because a collector of 5,000 nodes would otherwise
 * hold 5,000 copies of the same 400 names. Shared by all threads of the process. */
#ifndef SONDE_JOURNAL_SET_POOL_H
#define SONDE_JOURNAL_SET_POOL_H

#include "base/buf.h"
#include "model/set.h"

/* Interns a set that is one allocation (set_copy); it is freed if an equal one exists. *kept is the pool's copy, to be
 * returned with set_pool_release. NOMEM: set was freed. */
enum err set_pool_take(struct set *set, const struct set **kept);
void set_pool_release(const struct set *kept);

/* The compressed description of a set, as used in snapshots: made once for all streams. Borrowed until kept is
 * released. Empty: not made yet, or (*many false) fewer than SET_POOL_MANY streams use the set and it is not worth it. */
#define SET_POOL_MANY 8
struct bytes set_pool_packed(const struct set *kept, bool *many);
struct bytes set_pool_keep_packed(const struct set *kept, struct bytes packed); /* copies it; empty: out of memory */

/* Interns the set whose compressed description equals *packed; *packed becomes the pool's copy. ABSENT: there is none. */
enum err set_pool_take_packed(struct bytes *packed, const struct set **kept);

size_t set_pool_count(void); /* number of different sets */

#endif
