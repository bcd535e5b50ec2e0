/* Checks of perf events. */
#ifndef SONDE_DOCTOR_CHECK_PERF_H
#define SONDE_DOCTOR_CHECK_PERF_H

#include "doctor/finding.h"

void check_perf_software(const struct doctor_target *target, struct finding *finding);
void check_perf_kernel(const struct doctor_target *target, struct finding *finding);
void check_perf_hardware(const struct doctor_target *target, struct finding *finding);
void check_perf_jobs(const struct doctor_target *target, struct finding *finding); /* for a cgroup, as the agent does */
void check_perf_libpfm(const struct doctor_target *target, struct finding *finding);

#endif
