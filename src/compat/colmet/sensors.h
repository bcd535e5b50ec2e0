/* Sets of ours that become rows of Colmet's by more than names: perf and rapl as differences in numbered slots, temperatures in
 * numbered slots, GPUs added up for each job. */
#ifndef SONDE_COMPAT_COLMET_SENSORS_H
#define SONDE_COMPAT_COLMET_SENSORS_H

#include "compat/colmet/last_values.h"
#include "compat/colmet/slots.h"

/* Samples of other sets are passed over. */
enum err colmet_sensors_add(struct colmet_slots *slots, struct colmet_last *last, const struct sample *sample);

#endif
