/* A limit for the processor time that a thread may spend on one input of somebody else. Long loops ask whether it is
 * spent and return FULL then. Threads without a budget have no limit. */
#ifndef SONDE_BASE_CPU_BUDGET_H
#define SONDE_BASE_CPU_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* From now on, for the calling thread. 0: no limit. */
void cpu_budget_set(uint64_t ns);

/* Cheap: looks at the clock once in a while. Stays true until the next cpu_budget_set. */
bool cpu_budget_is_spent(void);

#endif
