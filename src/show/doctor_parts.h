/* Checks of Sonde's own parts: probe, spool, store. */
#ifndef SONDE_SHOW_DOCTOR_PARTS_H
#define SONDE_SHOW_DOCTOR_PARTS_H

#include "show/finding.h"

void doctor_parts_probe(const struct place *place, struct finding *finding);
void doctor_parts_spool(const struct place *place, struct finding *finding);
void doctor_parts_left_over(const struct place *place, struct finding *finding);
void doctor_parts_agent(const struct place *place, struct finding *finding);
void doctor_parts_store(const struct place *place, struct finding *finding);

#endif
