/* Checks of what counts system calls: the kernel, the agent, the programs themselves; and which of them sonde run -s uses. */
#ifndef SONDE_DOCTOR_CHECK_SYSCALLS_H
#define SONDE_DOCTOR_CHECK_SYSCALLS_H

#include "doctor/finding.h"

void doctor_calls_kernel(const struct place *place, struct finding *finding);
void doctor_calls_libc(const struct place *place, struct finding *finding);
void doctor_calls_in_use(const struct place *place, struct finding *finding);

#endif
