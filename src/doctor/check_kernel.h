/* Checks of kernel features: events and accounting of processes. */
#ifndef SONDE_DOCTOR_CHECK_KERNEL_H
#define SONDE_DOCTOR_CHECK_KERNEL_H

#include "doctor/finding.h"

void check_kernel_subreaper(const struct doctor_target *target, struct finding *finding);
void check_kernel_connector(const struct doctor_target *target, struct finding *finding);
void check_kernel_taskstats(const struct doctor_target *target, struct finding *finding);
void check_kernel_delays(const struct doctor_target *target, struct finding *finding);
void check_kernel_schedstat(const struct doctor_target *target, struct finding *finding);
void check_kernel_io(const struct doctor_target *target, struct finding *finding);
void check_kernel_hidepid(const struct doctor_target *target, struct finding *finding);
void check_kernel_children(const struct doctor_target *target, struct finding *finding);
void check_kernel_clock(const struct doctor_target *target, struct finding *finding);
void check_kernel_descriptors(const struct doctor_target *target, struct finding *finding);

#endif
