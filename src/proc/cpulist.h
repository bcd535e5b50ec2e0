/* Parses the kernel's CPU lists: "0-3,8,10-11". Accepts any text. */
#ifndef SONDE_PROC_CPULIST_H
#define SONDE_PROC_CPULIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of CPUs in list and, unless NULL, also in also. 0 if a list does not parse. */
uint64_t cpulist_count(const char *list, const char *also);

/* Sets flags[cpu] for the CPUs in list and clears the others. Returns the highest CPU plus 1; 0 if the list is empty,
 * does not parse, or has a CPU that is not below size. */
size_t cpulist_flags(const char *list, bool *flags, size_t size);

#endif
