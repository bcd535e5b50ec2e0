/* Checks of Sonde's own parts: probe, spool, store. */
#ifndef SONDE_DOCTOR_CHECK_INSTALL_H
#define SONDE_DOCTOR_CHECK_INSTALL_H

#include "doctor/finding.h"

void doctor_parts_probe(const struct place *place, struct finding *finding);
void doctor_parts_spool(const struct place *place, struct finding *finding);
void doctor_parts_left_over(const struct place *place, struct finding *finding);
void doctor_parts_agent(const struct place *place, struct finding *finding);
void doctor_parts_store(const struct place *place, struct finding *finding);

#endif
