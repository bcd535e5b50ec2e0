/* Lists of CPUs as the kernel writes them: "0-3,8,10-11". */
#ifndef SONDE_JOB_CPULIST_H
#define SONDE_JOB_CPULIST_H

#include <stdint.h>

/* How many CPUs are in list and, when it is not NULL, in also. 0 when a list does not parse. Takes any text. */
uint64_t cpulist_count(const char *list, const char *also);

#endif
