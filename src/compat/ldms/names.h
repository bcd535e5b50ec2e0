/* LDMS's names of metric sets, and the kernel's units for values under the kernel's names (metric.source). For
 * `sonde ls --ldms` and for sinks that write LDMS's layout. */
#ifndef SONDE_COMPAT_LDMS_NAMES_H
#define SONDE_COMPAT_LDMS_NAMES_H

#include "model/set.h"

struct ldms_unit {
    const char *name; /* "kB", "jiffies"; "": none */
    uint64_t divisor; /* Sonde's value / divisor is in this unit; 1: same unit */
};

/* "procinterrupts" for "interrupts"; unchanged if LDMS has no other name. */
const char *ldms_set_name(const char *name);

/* component_id: the number in the host name, 17 for n017.cluster; 0: none. */
uint64_t ldms_component(const char *host);

struct ldms_unit ldms_unit_of(const struct set *set, const struct metric *metric);

#endif
