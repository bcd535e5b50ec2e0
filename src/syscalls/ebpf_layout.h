/* Memory layout shared by the kernel part (ebpf.bpf.c) and the reader (ebpf.c). Uses nothing but <stdint.h>. */
#ifndef SONDE_SYSCALLS_EBPF_LAYOUT_H
#define SONDE_SYSCALLS_EBPF_LAYOUT_H

#include <stdint.h>

#define EBPF_JOBS_MAX 256 /* at a time; number 0 means no job */

/* The owner of a tid: 16 bits. */
#define EBPF_OWNERS_PER_ELEMENT 32       /* tids per element of the map */
#define EBPF_OWNER_JOB 0x0fffu     /* job number */
#define EBPF_OWNER_NEW 0x8000u    /* it may not have returned from fork yet, which is a call of its parent */
#define EBPF_OWNER_AT_EXEC 0x4000u   /* counted only from its next exec on */

#define EBPF_FORK_CALLS 4 /* calls that also return in the child */

struct ebpf_owners {
    uint16_t of[EBPF_OWNERS_PER_ELEMENT];
};

/* A cgroup of a job. Ids of cgroups are unique within a hierarchy only. */
struct ebpf_cgroup {
    uint64_t id;
    uint64_t hierarchy; /* 0: v2 */
};

#define EBPF_CGROUPS_MAX 1024 /* for all jobs */

/* Flags of a job. */
#define EBPF_JOB_ACTIVE 1u
#define EBPF_JOB_TIMED 2u

/* One row of counters per call; and for calls that return bytes, one per class of descriptor: then the row of the call
 * itself has only the calls of unknown class. */
#define EBPF_CALLS 512 /* same as SYSCALL_NAMES_MAX */
#define EBPF_CALL_OTHER (EBPF_CALLS - 1) /* calls with an invalid number */
#define EBPF_CLASS_GROUPS 24
#define EBPF_CLASSES 32
#define EBPF_ROWS (EBPF_CALLS + EBPF_CLASS_GROUPS * EBPF_CLASSES)

/* The class of a descriptor is the type of its inode (the upper four bits of its mode); of files, the file system. */
#define EBPF_CLASS_REGULAR 8u /* file system that did not fit in the table */
#define EBPF_CLASS_FILE_SYSTEM 16u /* from here on: place in the file system table */
#define EBPF_FILE_SYSTEMS (EBPF_CLASSES - EBPF_CLASS_FILE_SYSTEM)

/* The result of each call: */
#define EBPF_RESULT_OTHER 0
#define EBPF_RESULT_BYTES 1 /* bytes; its first argument is not a descriptor */
#define EBPF_RESULT_BYTES_BY_CLASS 2 /* from here on: bytes, plus the index of its group of class rows */

struct ebpf_row {
    uint64_t calls, errors, bytes, time_ns;
};

/* Histogram: bucket i counts calls shorter than 2^(8 + i) ns that are not in an earlier bucket; the last counts the
 * rest. */
#define EBPF_BUCKETS 24
#define EBPF_BUCKET_FIRST 8

struct ebpf_times {
    uint64_t count[EBPF_BUCKETS];
};

/* One per CPU and job, so that no locks are needed. */
struct ebpf_block {
    struct ebpf_row rows[EBPF_ROWS];
};

/* Of a job with times, in one block because each lookup costs time. Calls of unknown duration are counted in the other
 * block: the job's total is the sum of both. */
struct ebpf_time_block {
    struct ebpf_row rows[EBPF_ROWS];
    struct ebpf_times times[EBPF_CALLS];
};

#endif
