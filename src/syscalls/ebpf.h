/* Counts the system calls of jobs in the kernel with eBPF (root only): calls, errors, bytes, and on request the time in
 * each call, of processes with their threads and descendants. The module sample-bpf.so does the work; it is loaded by
 * ebpf_open. Samples are of syscall_set and syscall_time_set (model/program_sets.h).
 *
 * While it is open, every process of the node pays some 30 ns per system call, and twice that while a job wants times:
 * open it for the first job that requests it and close it with the last. */
#ifndef SONDE_SYSCALLS_EBPF_H
#define SONDE_SYSCALLS_EBPF_H

#include "base/err.h"
#include "model/batch.h"
#include "proc/children.h"

#include <sys/types.h>

struct ebpf;
struct ebpf_job;

/* What may be requested later. Programs that are not needed are not loaded, which makes the start faster. */
#define EBPF_MAY_TIME 1u /* jobs with times */
#define EBPF_MAY_WATCH_CGROUPS 2u /* ebpf_job_add_cgroup */

/* The kernel part uses pids of the initial namespace: is that our pid namespace? */
bool ebpf_sees_host_pids(void);

/* Loads and attaches. may: EBPF_MAY_…. ABSENT: the module, its library or a kernel feature is missing; DENIED: not
 * permitted. error receives a sentence without a full stop that includes the fix. */
enum err ebpf_open(struct ebpf **ebpf, unsigned may, char *error, size_t error_size);

/* Ends jobs that still exist, and faster than ebpf_job_end, which waits for the kernel. Sets *ebpf to NULL; accepts
 * NULL there. */
void ebpf_close(struct ebpf **ebpf);

/* Starts a job: all processes added to it are counted together. FULL: too many jobs at once. */
enum err ebpf_job_begin(struct ebpf *ebpf, bool with_time, struct ebpf_job **job);

/* Counts a running process with all its threads and everything that it starts from now on. Calls in progress count when
 * they return, with their time from now on. The process is not affected. GONE. Adding a process again does nothing. */
enum err ebpf_job_add(struct ebpf_job *job, pid_t pid);

/* Counts processes that enter a cgroup or one below it from now on; not those already in it. hierarchy: as in
 * /proc/self/cgroup, 0 is v2; id: inode number of its directory. A job has one cgroup: the last. ABSENT: the kernel
 * does not report it. */
enum err ebpf_job_add_cgroup(struct ebpf_job *job, uint64_t hierarchy, uint64_t id);

/* Counts what a process will start, from its exec on; not the process itself. */
enum err ebpf_job_add_at_exec(struct ebpf_job *job, pid_t pid);
void ebpf_job_remove_at_exec(struct ebpf_job *job, pid_t pid); /* what it has started is still counted */

/* Is a process or thread counted for the job? */
bool ebpf_job_has(const struct ebpf_job *job, pid_t pid);

/* Measures times from now on; calls in progress start now. */
enum err ebpf_job_measure_time(struct ebpf_job *job);

/* Adds one sample per call made so far, and for reads and writes one per class of descriptor; totals since the
 * beginning. job_id may be NULL. Instances stay valid for the life of this process. */
enum err ebpf_job_read(struct ebpf_job *job, const char *job_id, struct batch *out);

/* The same for a series that someone else may have counted before, such as a killed agent: a row that is reported for
 * the first time is preceded by a sample with zeros at the beginning of counting. */
enum err ebpf_job_read_from_zero(struct ebpf_job *job, const char *job_id, struct batch *out);

/* When counting began, CLOCK_REALTIME; distinguishes its counts from earlier ones. */
uint64_t ebpf_job_begun_ns(const struct ebpf_job *job);

/* Returns a copy of name that stays valid for the life of this process, for instances of samples. NULL: no memory. */
const char *ebpf_rows_intern(const char *name);

/* The number of live tasks. */
size_t ebpf_job_alive(const struct ebpf_job *job);

/* Adds its live processes, except those whose first thread has exited. NOMEM. */
enum err ebpf_job_processes(const struct ebpf_job *job, struct pidlist *out);

/* Stops counting. The job may still be read until ebpf_job_end, which frees it and sets *job to NULL. */
void ebpf_job_stop(struct ebpf_job *job);
void ebpf_job_end(struct ebpf_job **job);

#endif
