/* Checks of program metrics: the directory of metrics segments, and the socket for tau's clients. */
#ifndef SONDE_DOCTOR_CHECK_APPMETRICS_H
#define SONDE_DOCTOR_CHECK_APPMETRICS_H

#include "doctor/finding.h"

void check_appmetrics_segments(const struct doctor_target *target, struct finding *finding);
void check_appmetrics_tau(const struct doctor_target *target, struct finding *finding);

#endif
