/* Index of a spool: one 24-byte entry per record about a process, chained by pid. Everything else in a record is
 * decoded from the mapped spool when it is needed, so that the index stays small for runs with millions of processes. */
#ifndef SONDE_MERGE_RECORD_INDEX_H
#define SONDE_MERGE_RECORD_INDEX_H

#include "merge/spool_pages.h"
#include "spool/frame.h"

#define NONE UINT32_MAX

enum record_entry_flag {
    ENTRY_OF_THREAD = 1,      /* tid differs from pid */
    ENTRY_EXEC_COPIED = 2,    /* exec: the caller had its own memory (fork), not its parent's (vfork) */
    ENTRY_LAST_TASK = 4,      /* taskstats: of the last thread of its process */
    ENTRY_STOP = 8,           /* wait: the child was stopped or continued, it did not exit */
    ENTRY_PERF_ON_EXEC = 32,  /* perf: counts the image started by the exec record with the same time */
    ENTRY_PERF_LATE = 64,     /* perf: opened when the image was already running */
    ENTRY_EXEC_COMPLETE = 16, /* exec: describes the new image completely; its probe writes no image record */
};

struct record_entry {
    uint64_t time_ns;
    uint64_t offset : 44, kind : 8, flags : 12; /* offset of the frame in the spool */
    uint32_t next; /* of the same pid, later of the same process instance; NONE at the end */
    uint32_t related_pid; /* tid; waiter (wait); ppid (fork, spawn, image, exec, kernel_fork of a process) */
};

/* One pid and all records about it. Several process instances may have used the pid, one after the other. */
struct pid_entry {
    uint32_t pid;
    uint32_t first, last; /* records */
    uint32_t first_instance, instance_count; /* ordered by time; set by merge/process_instance.c */
    uint32_t unrecorded; /* instance known only because its children name it as parent; NONE if there is none */
};

struct record_index {
    struct bytes spool;
    struct spool_pages *pages;
    struct record_entry *list;
    uint32_t count, capacity;
    struct pid_entry *pids; /* in the order of their first record */
    uint32_t pid_count, pid_capacity;
    uint32_t *table; /* hash table: pid to index in pids */
    uint32_t table_size;
    uint32_t threads; /* number of records of non-main threads: upper bound for the number of threads */
    uint32_t perfs;   /* number of perf records */
    uint64_t last_ns; /* latest time of any record */
    uint64_t boot_ns; /* upper bound of the boot time on the run's clock; UINT64_MAX if unknown */
};

/* pages is borrowed until record_index_clear. */
void record_index_init(struct record_index *records, struct bytes spool, struct spool_pages *pages);
void record_index_clear(struct record_index *records);

/* Adds a record of the spool; kinds that are not about a process are ignored. CORRUPT: cannot be decoded; NOMEM; FULL:
 * too many records. */
enum err record_index_add(struct record_index *records, enum record_kind kind, struct bytes body);

/* NULL if there is no record of this pid. Valid until the next record_index_add or record_index_add_pid. */
struct pid_entry *record_index_find_pid(const struct record_index *records, uint32_t pid);

/* Like record_index_find_pid, but adds a missing pid. NULL if out of memory. */
struct pid_entry *record_index_add_pid(struct record_index *records, uint32_t pid);

/* The record's body, borrowed from the spool. */
struct bytes record_index_body(const struct record_index *records, const struct record_entry *entry);

/* Numeric fields before the counters of any record kind; fields that a kind does not have are 0. */
struct record_numbers {
    uint64_t pid, ppid, tid, pgid, sid, uid, start_ticks, time_ns, start_ns, end_ns, alive, copied, exit_code, threads,
        waiter, status, stat_known, process_ended, opened_ns, since, rss_is_own;
};

/* false: the body is too short. */
bool record_numbers(enum record_kind kind, struct bytes body, struct record_numbers *numbers);
bool record_index_numbers(const struct record_index *records, const struct record_entry *entry,
                          struct record_numbers *numbers);

/* String fields before the counters of any record kind, borrowed from the spool; empty if a kind does not have them. */
struct record_strings {
    struct bytes path, args, cwd, tags, name, counts;
};

void record_index_strings(const struct record_index *records, const struct record_entry *entry,
                          struct record_strings *strings);

/* CPU time in the first counters of an exec or wait record; 0 if it has none. */
uint64_t record_index_cpu_us(const struct record_index *records, const struct record_entry *entry);

/* Start time of a process with these start_ticks, within 10 ms; 0 if unknown. */
uint64_t record_index_ticks_ns(const struct record_index *records, uint64_t ticks);

#endif
