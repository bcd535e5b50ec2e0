/* What the program in the kernel (syscalls.bpf.c) and the one that reads its numbers (ebpf.c) share: arrays in memory
 * that both see. Included by both, so that nothing but <stdint.h> is used here. */
#ifndef SONDE_SYSCALLS_EBPF_LAYOUT_H
#define SONDE_SYSCALLS_EBPF_LAYOUT_H

#include <stdint.h>

#define EBPF_JOBS_MAX 256 /* at once; number 0 is nobody's */

/* To which job a thread belongs, by its number: 16 bits each. */
#define EBPF_OWNERS_PER_ELEMENT 32       /* threads in one element of the map */
#define EBPF_OWNER_JOB 0x0fffu     /* the job */
#define EBPF_OWNER_NEW 0x8000u    /* it may not have come back from fork yet: that return is its parent's call */
#define EBPF_OWNER_AT_EXEC 0x4000u   /* it is counted when it has become another program */

#define EBPF_FORK_CALLS 4 /* calls that return in a child, too */

struct ebpf_owners {
    uint16_t of[EBPF_OWNERS_PER_ELEMENT];
};

/* A control group whose processes are a job's: numbers of groups are unique in a hierarchy only. */
struct ebpf_cgroup {
    uint64_t id;
    uint64_t hierarchy; /* 0: v2 */
};

#define EBPF_CGROUPS_MAX 1024 /* of all jobs */

/* What is wanted for a job. */
#define EBPF_JOB_ACTIVE 1u
#define EBPF_JOB_TIMED 2u

/* A number of counters for each call, for each of those that return bytes one for each class of what it went to: then the
 * row of the call itself has only those of which the class is not known. */
#define EBPF_CALLS 512 /* as SYSCALL_NAMES_MAX */
#define EBPF_CALL_OTHER (EBPF_CALLS - 1) /* calls whose number makes no sense */
#define EBPF_CLASS_GROUPS 24
#define EBPF_CLASSES 32
#define EBPF_ROWS (EBPF_CALLS + EBPF_CLASS_GROUPS * EBPF_CLASSES)

/* A class is the type of the inode, as in the upper four bits of its mode; of files, which file system they are on. */
#define EBPF_CLASS_REGULAR 8u /* of a file system for which there was no room */
#define EBPF_CLASS_FILE_SYSTEM 16u /* from here on the place in the table of file systems */
#define EBPF_FILE_SYSTEMS (EBPF_CLASSES - EBPF_CLASS_FILE_SYSTEM)

/* What a call returns, one byte for each number: */
#define EBPF_RESULT_OTHER 0
#define EBPF_RESULT_BYTES 1 /* bytes, and its first argument is no descriptor */
#define EBPF_RESULT_BYTES_BY_CLASS 2 /* from here on: bytes, and its group of classes */

struct ebpf_row {
    uint64_t calls, errors, bytes, time_ns;
};

/* Calls that took less than 2^(8 + i) ns, and less than none of those before; the last: all others. */
#define EBPF_BUCKETS 24
#define EBPF_BUCKET_FIRST 8

struct ebpf_times {
    uint64_t count[EBPF_BUCKETS];
};

/* One for each processor and job, so that nobody waits for another. */
struct ebpf_block {
    struct ebpf_row rows[EBPF_ROWS];
};

/* Of a job with time; together, since each thing that is looked up costs. Calls of which no time is known may stand in the
 * other all the same: the sum of both is the job's. */
struct ebpf_time_block {
    struct ebpf_row rows[EBPF_ROWS];
    struct ebpf_times times[EBPF_CALLS];
};

#endif
