/* The records of the spool, appended during a run by the probe inside programs and by sonde run, and merged by merge/. One list
 * per kind defines the struct, the writer and the reader. New fields are appended at the end of a list: a reader ignores
 * fields that it does not know, and fields that are missing in an older record read as 0 or empty. Never reorder, never reuse
 * a kind.
 *
 * All times are CLOCK_REALTIME in ns. Pids are those in the pid namespace of sonde run. */
#ifndef SONDE_SPOOL_RECORD_H
#define SONDE_SPOOL_RECORD_H

#include "model/pack.h"

/* X(type, field): type is number, text or counters. */

#define RECORD_UID_UNKNOWN UINT32_MAX /* in the field uid, where 0 is root */

/* First record of a spool: the run. command: NUL after each argument. events: names, NUL after each. */
#define RECORD_RUN(X) \
    X(text, run_id) X(text, job_id) X(text, name) X(text, user) X(number, uid) X(text, command) X(text, cwd) \
    X(text, tags) X(text, host) X(text, kernel) X(text, cpu_model) X(number, cores) X(number, memory_bytes) \
    X(number, cores_allowed_milli) X(number, memory_limit_bytes) X(number, period_ns) X(number, time_ns) \
    X(text, events) X(number, pid) X(number, boot_ns)

/* The probe was loaded into an image: after an exec, before main. args: NUL after each. start_ticks: field 22 of
 * /proc/self/stat, which identifies a process instance: it survives execs and differs when a pid is reused; 0: unknown.
 * self: usage of the process so far (getrusage), children: of children it has waited for. */
#define RECORD_IMAGE(X) \
    X(number, pid) X(number, ppid) X(number, pgid) X(number, sid) X(number, uid) X(number, start_ticks) \
    X(number, time_ns) X(text, path) X(text, args) X(text, cwd) X(text, tags) X(counters, self) X(counters, children)

/* fork returned in a child with the probe: the same image as its parent. time_ns: just before the fork, by the parent. */
#define RECORD_FORK(X) X(number, pid) X(number, ppid) X(number, time_ns)

/* Just before an exec; path and args are those of the new image.
 * self: getrusage of the process so far. Its I/O and time on a CPU are those of the calling thread only, which becomes the main
 * thread of the new image; they are missing when a forked child executes at once (no children, under 10 ms of CPU). Each other
 * running thread writes a thread record with alive = 1 before; if the exec fails it writes another one at its end (same tid and
 * start_ns: the later one counts).
 * copied: RECORD_EXEC_COPIED is not set for a vfork child, whose old image is its parent's. RECORD_EXEC_WHOLE: the new image
 * has the probe and will not write an image record; path is resolved, and pgid to tags are known.
 * own: I/O of the probe in this task since the image was loaded, without this record, which the kernel counts as well; for
 * another thread than the main one, only that of this exec.
 * tid, name, thread: with several threads, the calling one and its getrusage. whole_io: with several threads or children,
 * /proc/self/io, which includes the probe and all threads and children that have ended. */
#define RECORD_EXEC(X) \
    X(number, pid) X(number, time_ns) X(number, copied) X(text, path) X(text, args) X(counters, self) \
    X(counters, children) X(number, ppid) X(counters, own) X(number, pgid) X(number, sid) X(number, uid) X(text, cwd) \
    X(text, tags) X(number, tid) X(text, name) X(counters, thread) X(counters, whole_io)
#define RECORD_EXEC_COPIED 1u
#define RECORD_EXEC_WHOLE 2u

/* The exec failed: the image continues. */
#define RECORD_EXEC_FAILED(X) X(number, pid) X(number, time_ns)

/* A process with the probe started a child with posix_spawn. time_ns: just before, although the child may have written records
 * already. */
#define RECORD_SPAWN(X) X(number, pid) X(number, ppid) X(number, time_ns) X(text, path) X(text, args)

/* A thread ended, or (alive = 1) was running when its process ended or executed another image. Main thread: tid = pid. */
#define RECORD_THREAD(X) \
    X(number, pid) X(number, tid) X(number, start_ns) X(number, end_ns) X(number, alive) X(text, name) \
    X(counters, counters)

/* I/O in exec and end records excludes what the probe read and wrote in this image. What it wrote before an exec is still
 * counted by the kernel for the same pid: own of the exec record, plus the frame of that record.
 *
 * Normal end of a process: exit, _exit, or return from main. main: the main thread only. self: getrusage of the process.
 * children: of children it has waited for. whole_io: /proc/self/io, which includes all threads that have ended AND all
 * children waited for. threads: number started, including the main thread; name: of the main thread, if there are others.
 * rss_is_own: rssmax of self is that of the image (VmHWM). The peak of getrusage survives exec: it may be that of the process
 * that forked this one. */
#define RECORD_END(X) \
    X(number, pid) X(number, time_ns) X(number, exit_code) X(number, pgid) X(number, sid) X(number, threads) \
    X(counters, main) X(counters, self) X(counters, children) X(counters, whole_io) X(text, name) X(number, rss_is_own)

/* A child was waited for, by a process with the probe or by sonde run (waiter = its pid). status as from wait4. usage: of the
 * child and all children that it had waited for. */
#define RECORD_WAIT(X) X(number, waiter) X(number, pid) X(number, time_ns) X(number, status) X(counters, usage)

/* Events of the proc connector: ppid started a process (tid = pid) or thread; a process executed an image (with what could
 * still be read from /proc); a thread ended (status as from wait4; tid = pid for the main thread). */
#define RECORD_KERNEL_FORK(X) X(number, pid) X(number, ppid) X(number, time_ns) X(number, tid)
#define RECORD_KERNEL_EXEC(X) \
    X(number, pid) X(number, time_ns) X(number, start_ticks) X(number, ppid) X(number, pgid) X(number, sid) \
    X(number, uid) X(number, stat_known) X(text, path) X(text, args) X(text, cwd) X(text, name)
#define RECORD_KERNEL_EXIT(X) X(number, pid) X(number, tid) X(number, time_ns) X(number, status)

/* Exit record of a thread from taskstats. process_ended: it was the last thread. Counters are since the fork. */
#define RECORD_TASKSTATS(X) \
    X(number, pid) X(number, tid) X(number, ppid) X(number, uid) X(number, start_ns) X(number, end_ns) \
    X(number, status) X(number, process_ended) X(text, name) X(counters, counters)

/* Perf counts of a thread. counts: for each event of the run four numbers: known (0, 1), value, enabled ns, running ns. They
 * belong to the image that ran at opened_ns. since: enum probe_perf_since; PROBE_PERF_EXEC: the image of the exec record with
 * the same time, or of the spawn record of the command. */
#define RECORD_PERF(X) X(number, pid) X(number, tid) X(number, time_ns) X(text, counts) X(number, opened_ns) X(number, since)

/* Description of a set, before its samples: for each metric name, unit and help as strings, kind and type as numbers. */
#define RECORD_SET(X) X(number, set) X(text, name) X(number, size) X(text, metrics)

/* A sample. values: for each metric known (0, 1) and, if known, the 64 bits of the value as a number. */
#define RECORD_SAMPLE(X) X(number, set) X(text, instance) X(number, time_ns) X(text, values)

/* A process read from /proc: running at the end of the command, or last read before it vanished. */
#define RECORD_ALIVE(X) \
    X(number, pid) X(number, ppid) X(number, pgid) X(number, sid) X(number, uid) X(number, start_ticks) \
    X(number, time_ns) X(text, path) X(text, args) X(text, cwd) X(text, name) X(counters, self)

/* Last record. total: getrusage(RUSAGE_CHILDREN). status: of the command, as from wait4, if status_known. */
#define RECORD_RUN_END(X) \
    X(number, time_ns) X(number, status_known) X(number, status) X(counters, total) X(number, records_lost) \
    X(number, events_lost) X(number, ticks_late)

/* X(number, name, FIELDS): the kinds. */
#define RECORD_KINDS(X) \
    X(1, run, RECORD_RUN) \
    X(2, image, RECORD_IMAGE) \
    X(3, fork, RECORD_FORK) \
    X(4, exec, RECORD_EXEC) \
    X(5, exec_failed, RECORD_EXEC_FAILED) \
    X(6, spawn, RECORD_SPAWN) \
    X(7, thread, RECORD_THREAD) \
    X(8, end, RECORD_END) \
    X(9, wait, RECORD_WAIT) \
    X(10, kernel_fork, RECORD_KERNEL_FORK) \
    X(11, kernel_exec, RECORD_KERNEL_EXEC) \
    X(12, kernel_exit, RECORD_KERNEL_EXIT) \
    X(13, taskstats, RECORD_TASKSTATS) \
    X(14, perf, RECORD_PERF) \
    X(15, set, RECORD_SET) \
    X(16, sample, RECORD_SAMPLE) \
    X(17, alive, RECORD_ALIVE) \
    X(18, run_end, RECORD_RUN_END)

enum record_kind {
#define X(number, name, fields) RECORD_KIND_##name = number,
    RECORD_KINDS(X)
#undef X
};

/* struct image_record, struct fork_record, … */
#define record_type_number uint64_t
#define record_type_text struct bytes
#define record_type_counters struct counters
#define FIELD(type, field) record_type_##type field;
#define X(number, name, fields) struct name##_record { fields(FIELD) };
RECORD_KINDS(X)
#undef X
#undef FIELD

/* void record_pack_image(struct packer *, const struct image_record *), …: the body, without the frame. */
#define X(number, name, fields) void record_pack_##name(struct packer *p, const struct name##_record *record);
RECORD_KINDS(X)
#undef X

/* enum err record_unpack_image(struct bytes body, struct image_record *), …: strings point into body. CORRUPT:
 * invalid. */
#define X(number, name, fields) enum err record_unpack_##name(struct bytes body, struct name##_record *record);
RECORD_KINDS(X)
#undef X

#endif
