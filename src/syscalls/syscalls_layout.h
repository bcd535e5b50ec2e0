/* What the program in the kernel (syscalls.bpf.c) and the one that reads its numbers (syscalls.c) share: arrays in memory
 * that both see. Included by both, so that nothing but <stdint.h> is used here. */
#ifndef SONDE_SYSCALLS_SYSCALLS_LAYOUT_H
#define SONDE_SYSCALLS_SYSCALLS_LAYOUT_H

#include <stdint.h>

#define SYSCALLS_JOBS 256 /* at once; number 0 is nobody's */

/* To which job a thread belongs, by its number: 16 bits each. */
#define SYSCALLS_OWNERS 32       /* threads in one element of the map */
#define SYSCALLS_JOB 0x0fffu     /* the job */
#define SYSCALLS_BORN 0x8000u    /* it may not have come back from fork yet: that return is its parent's call */
#define SYSCALLS_WAITS 0x4000u   /* it is counted when it has become another program */

#define SYSCALLS_BIRTHS 4 /* calls that return in a child, too */

struct syscalls_owners {
    uint16_t of[SYSCALLS_OWNERS];
};

/* A control group whose processes are a job's: numbers of groups are unique in a hierarchy only. */
struct syscalls_group {
    uint64_t id;
    uint64_t hierarchy; /* 0: v2 */
};

#define SYSCALLS_GROUPS_MAX 1024 /* of all jobs */

/* What is wanted for a job. */
#define SYSCALLS_ACTIVE 1u
#define SYSCALLS_TIMED 2u

/* A number of counters for each call, for each of those that return bytes one for each class of what it went to: then the
 * row of the call itself has only those of which the class is not known. */
#define SYSCALLS_NUMBERS 512 /* as SYSCALL_NAMES_MAX */
#define SYSCALLS_OTHER (SYSCALLS_NUMBERS - 1) /* calls whose number makes no sense */
#define SYSCALLS_GROUPS 24
#define SYSCALLS_CLASSES 32
#define SYSCALLS_ROWS (SYSCALLS_NUMBERS + SYSCALLS_GROUPS * SYSCALLS_CLASSES)

/* A class is the type of the inode, as in the upper four bits of its mode; of files, which file system they are on. */
#define SYSCALLS_CLASS_REGULAR 8u /* of a file system for which there was no room */
#define SYSCALLS_CLASS_SYSTEM 16u /* from here on the place in the table of file systems */
#define SYSCALLS_SYSTEMS (SYSCALLS_CLASSES - SYSCALLS_CLASS_SYSTEM)

/* What a call returns, one byte for each number: */
#define SYSCALLS_NO_BYTES 0
#define SYSCALLS_BYTES 1 /* bytes, and its first argument is no descriptor */
#define SYSCALLS_GROUP 2 /* from here on: bytes, and its group of classes */

struct syscalls_row {
    uint64_t calls, errors, bytes, time_ns;
};

/* Calls that took less than 2^(8 + i) ns, and less than none of those before; the last: all others. */
#define SYSCALLS_BUCKETS 24
#define SYSCALLS_BUCKET_FIRST 8

struct syscalls_times {
    uint64_t count[SYSCALLS_BUCKETS];
};

/* One for each processor and job, so that nobody waits for another. */
struct syscalls_block {
    struct syscalls_row rows[SYSCALLS_ROWS];
};

/* Of a job with time; together, since each thing that is looked up costs. Calls of which no time is known may stand in the
 * other all the same: the sum of both is the job's. */
struct syscalls_time_block {
    struct syscalls_row rows[SYSCALLS_ROWS];
    struct syscalls_times times[SYSCALLS_NUMBERS];
};

#endif
