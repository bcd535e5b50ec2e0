/* Converts the sets that need more than a mapping of names: perf and rapl as differences in numbered columns,
 * temperatures in numbered columns, GPUs summed per job. */
#ifndef SONDE_COMPAT_COLMET_SENSORS_H
#define SONDE_COMPAT_COLMET_SENSORS_H

#include "compat/colmet/last_values.h"
#include "compat/colmet/slots.h"

/* Ignores samples of other sets. */
enum err colmet_sensors_add(struct colmet_slots *slots, struct colmet_last *last, const struct sample *sample);

#endif
