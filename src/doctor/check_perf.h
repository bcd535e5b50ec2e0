/* Checks of the performance events. */
#ifndef SONDE_DOCTOR_CHECK_PERF_H
#define SONDE_DOCTOR_CHECK_PERF_H

#include "doctor/finding.h"

void doctor_perf_software(const struct place *place, struct finding *finding);
void doctor_perf_kernel(const struct place *place, struct finding *finding);
void doctor_perf_hardware(const struct place *place, struct finding *finding);
void doctor_perf_jobs(const struct place *place, struct finding *finding); /* for a cgroup, as the agent counts */
void doctor_perf_libpfm(const struct place *place, struct finding *finding);

#endif
