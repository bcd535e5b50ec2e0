/* How LDMS calls what we read: its names of sets, and the kernel's units under the kernel's names (metric.source). For sonde ls
 * --ldms and for files in its layout. */
#ifndef SONDE_COMPAT_LDMS_NAMES_H
#define SONDE_COMPAT_LDMS_NAMES_H

#include "model/set.h"

struct ldms_unit {
    const char *name; /* "kB", "jiffies"; "": a number without one */
    uint64_t divisor; /* our value is a whole multiple of it; 1: the units are the same */
};

/* "procinterrupts" of interrupts; ours where LDMS has none. */
const char *ldms_set_name(const char *name);

/* The number of a node, by the digits at the end of its name, as sites number them: 17 of n017.cluster; 0: there are none. */
uint64_t ldms_component(const char *host);

struct ldms_unit ldms_unit_of(const struct set *set, const struct metric *metric);

#endif
