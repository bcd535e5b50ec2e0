/* Checks of what the kernel tells: processes, their ends, their files. */
#ifndef SONDE_DOCTOR_CHECK_KERNEL_H
#define SONDE_DOCTOR_CHECK_KERNEL_H

#include "doctor/finding.h"

void doctor_kernel_subreaper(const struct place *place, struct finding *finding);
void doctor_kernel_connector(const struct place *place, struct finding *finding);
void doctor_kernel_taskstats(const struct place *place, struct finding *finding);
void doctor_kernel_delays(const struct place *place, struct finding *finding);
void doctor_kernel_schedstat(const struct place *place, struct finding *finding);
void doctor_kernel_io(const struct place *place, struct finding *finding);
void doctor_kernel_hidepid(const struct place *place, struct finding *finding);
void doctor_kernel_children(const struct place *place, struct finding *finding);
void doctor_kernel_clock(const struct place *place, struct finding *finding);
void doctor_kernel_descriptors(const struct place *place, struct finding *finding);

#endif
