/* Check of ptrace: which processes sonde attach can trace if eBPF is unavailable. */
#ifndef SONDE_DOCTOR_CHECK_PTRACE_H
#define SONDE_DOCTOR_CHECK_PTRACE_H

#include "doctor/finding.h"

void check_ptrace(const struct doctor_target *target, struct finding *finding);

#endif
