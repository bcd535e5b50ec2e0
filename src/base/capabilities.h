/* Capabilities of a thread, see capabilities(7). */
#ifndef SONDE_BASE_CAPABILITIES_H
#define SONDE_BASE_CAPABILITIES_H

#include "base/err.h"

#include <stdint.h>

/* Drops all capabilities of the calling thread but those in keep (1 << CAP_...), for good; threads that it starts later
 * have no more than it. The user stays the same. */
enum err capabilities_drop(uint64_t keep);

#endif
