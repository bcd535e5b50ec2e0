/* Descriptions of sets, each kept once however many streams have it: a collector of 5,000 nodes would else hold 5,000 copies
 * of the same 400 names. Shared by all threads of the process. */
#ifndef SONDE_JOURNAL_SET_POOL_H
#define SONDE_JOURNAL_SET_POOL_H

#include "base/buf.h"
#include "model/set.h"

/* Keeps a set that is one allocation (set_copy), or frees it when its equal is here already; *kept is the one of the pool, to
 * be given back with set_pool_release. NOMEM: it was freed. */
enum err set_pool_take(struct set *set, const struct set **kept);
void set_pool_release(const struct set *kept);

/* What a set is written as where many have it: its description, compressed, which is made once for all. Borrowed as long as
 * kept is held; empty: nobody has made it, or (many) fewer than SET_POOL_MANY hold the set and it is not worth it. */
#define SET_POOL_MANY 8
struct bytes set_pool_packed(const struct set *kept, bool *many);
struct bytes set_pool_keep_packed(const struct set *kept, struct bytes packed); /* copies; empty: no memory */

/* Takes the set that is known to be packed so; *packed is the pool's copy then. ABSENT: none is. */
enum err set_pool_take_packed(struct bytes *packed, const struct set **kept);

size_t set_pool_count(void); /* of different sets held now */

#endif
