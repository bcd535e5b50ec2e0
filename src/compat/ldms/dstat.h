/* LDMS's set dstat (its daemon about itself), from Sonde's set self: the same 35 metrics in the same order and units. */
#ifndef SONDE_COMPAT_LDMS_DSTAT_H
#define SONDE_COMPAT_LDMS_DSTAT_H

#include "model/batch.h"

#define LDMS_DSTAT_SIZE 35

extern const struct set ldms_dstat_set; /* named self, as ldms_set_name expects */

/* Fills LDMS_DSTAT_SIZE values. known of the source may be NULL: all are. */
void ldms_dstat_fill(union value *to, uint8_t *to_known, const struct set *set, const union value *from, const uint8_t *known);

#endif
