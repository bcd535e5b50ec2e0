/* What doctor says of programs that speak: where their boards would be, and who listens to clients of tau. */
#ifndef SONDE_DOCTOR_CHECK_APPMETRICS_H
#define SONDE_DOCTOR_CHECK_APPMETRICS_H

#include "doctor/finding.h"

void doctor_programs_boards(const struct place *place, struct finding *finding);
void doctor_programs_tau(const struct place *place, struct finding *finding);

#endif
