/* Lists of CPUs as the kernel writes them: "0-3,8,10-11". */
#ifndef SONDE_PROC_CPULIST_H
#define SONDE_PROC_CPULIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many CPUs are in list and, when it is not NULL, in also. 0 when a list does not parse. Takes any text. */
uint64_t cpulist_count(const char *list, const char *also);

/* Sets flags[cpu] for those in list, and clears the others of size. Returns the highest and 1; 0 when the list is empty, does
 * not parse or has one that is not below size. Takes any text. */
size_t cpulist_flags(const char *list, bool *flags, size_t size);

#endif
