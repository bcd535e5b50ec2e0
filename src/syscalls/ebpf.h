/* System calls of jobs, counted in the kernel by eBPF (root only): calls, errors, bytes, on request the time in each call,
 * of a process with its threads and all that it starts. The work is done by the module sample-bpf.so, which is loaded by
 * ebpf_open; samples are of syscall_set and syscall_time_set (model/program_sets.h).
 *
 * While it is open every process of the node pays some 30 ns per system call, twice that while a job wants time: so open it
 * for the first job that asks, and close it with the last. */
#ifndef SONDE_SYSCALLS_EBPF_H
#define SONDE_SYSCALLS_EBPF_H

#include "base/err.h"
#include "model/batch.h"
#include "proc/children.h"

#include <sys/types.h>

struct ebpf;
struct ebpf_job;

/* What may be asked for of what was opened. What may not is not loaded, and the start is shorter. */
#define EBPF_MAY_TIME 1u /* jobs with time */
#define EBPF_MAY_WATCH_CGROUPS 2u /* ebpf_job_add_cgroup */

/* The kernel's part knows threads by their first numbers: are these ours, too, or is this a pid namespace of its own? */
bool ebpf_sees_host_pids(void);

/* Loads and attaches. may: of the above. ABSENT: the module, its library or what it needs of the kernel is not there; DENIED: not
 * for this user. why gets a sentence without a full stop, with the remedy. */
enum err ebpf_open(struct ebpf **ebpf, unsigned may, char *error, size_t error_size);

/* Jobs that are still there end, and quicker than by ebpf_job_end, which waits for the kernel. Sets *syscalls to NULL; accepts
 * NULL there. */
void ebpf_close(struct ebpf **ebpf);

/* The processes that will be added are counted together. FULL: too many jobs at once. */
enum err ebpf_job_begin(struct ebpf *ebpf, bool with_time, struct ebpf_job **job);

/* Counts a process that runs, with all its threads and all that it starts from now on; its calls that are under way count
 * when they return, with their time from now on. The process does not notice. GONE. May be called again for the same process:
 * then nothing happens. */
enum err ebpf_job_add(struct ebpf_job *job, pid_t pid);

/* Counts whoever comes into a control group from now on, or into one below it; not those who are there. hierarchy: as in
 * /proc/self/cgroup, 0 is v2; id: the number of its folder's inode. One for each job: the last. ABSENT: the kernel does not
 * tell of such comings. */
enum err ebpf_job_add_cgroup(struct ebpf_job *job, uint64_t hierarchy, uint64_t id);

/* Counts what a process of ours will start, from its exec on; not the process itself. */
enum err ebpf_job_add_at_exec(struct ebpf_job *job, pid_t pid);
void ebpf_job_remove_at_exec(struct ebpf_job *job, pid_t pid); /* what it has started is counted on */

/* Is a process (or thread) counted for it? */
bool ebpf_job_has(const struct ebpf_job *job, pid_t pid);

/* From now on also the time; that of calls that are under way begins now. */
enum err ebpf_job_measure_time(struct ebpf_job *job);

/* Adds one sample for each call that was made so far, and of reads and writes one for each class of descriptors; numbers
 * since the beginning. job_id may be NULL. Instances stay as long as this process. */
enum err ebpf_job_read(struct ebpf_job *job, const char *job_id, struct batch *out);

/* The same for a series on which somebody else may have counted before, an agent that was killed or we ourselves: of what is
 * read so for the first time there is also a sample of the beginning, in which all is 0. */
enum err ebpf_job_read_from_zero(struct ebpf_job *job, const char *job_id, struct batch *out);

/* When it was begun, CLOCK_REALTIME: tells its numbers from those of another. */
uint64_t ebpf_job_begun_ns(const struct ebpf_job *job);

/* The same text at a place where it stays as long as this process: for instances of samples. NULL: memory ran out. */
const char *ebpf_rows_intern(const char *name);

/* How many processes and threads of it are alive. */
size_t ebpf_job_alive(const struct ebpf_job *job);

/* Adds its processes that are alive, those of which the first thread has ended not among them. NOMEM. */
enum err ebpf_job_processes(const struct ebpf_job *job, struct pidlist *out);

/* Nobody is counted for it any more; it may be read until ebpf_job_end, which frees it and sets *job to NULL. */
void ebpf_job_stop(struct ebpf_job *job);
void ebpf_job_end(struct ebpf_job **job);

#endif
