/* Checks of the ways to count system calls: kernel, agent, libc; and which of them sonde run -s uses. */
#ifndef SONDE_DOCTOR_CHECK_SYSCALLS_H
#define SONDE_DOCTOR_CHECK_SYSCALLS_H

#include "doctor/finding.h"

void check_syscalls_kernel(const struct doctor_target *target, struct finding *finding);
void check_syscalls_libc(const struct doctor_target *target, struct finding *finding);
void check_syscalls_in_use(const struct doctor_target *target, struct finding *finding);

#endif
