/* Descriptions of sets, each kept once however many streams have it: a collector of 5,000 nodes would else hold 5,000 copies
 * of the same 400 names. Shared by all threads of the process. */
#ifndef SONDE_WIRE_SET_POOL_H
#define SONDE_WIRE_SET_POOL_H

#include "model/set.h"

/* Keeps a set that is one allocation (set_copy), or frees it when its equal is here already; *kept is the one of the pool, to
 * be given back with set_pool_release. NOMEM: it was freed. */
enum err set_pool_take(struct set *set, const struct set **kept);
void set_pool_release(const struct set *kept);

size_t set_pool_count(void); /* of different sets held now */

#endif
