/* What is said about a run while it goes on: the records of the spool. The probe inside programs and sonde run beside
 * them append them; collect/ puts them together. One list per kind gives the struct, the writer and the reader.
 * A newer writer appends fields at the end of a list; a reader ignores what follows the fields that it knows, and a
 * field that an older writer did not have reads as 0 or empty. Never reorder, never reuse a kind.
 *
 * All times are CLOCK_REALTIME in ns. Pids are those of the initial view of sonde run (its pid namespace). */
#ifndef SONDE_SPOOL_RECORD_H
#define SONDE_SPOOL_RECORD_H

#include "model/pack.h"

/* X(type, field): type is number, text or counters. */

#define RECORD_UID_UNKNOWN UINT32_MAX /* in the field uid: nobody has this one, and 0 is root */

/* First record of a spool: the run itself. command: NUL after each word. events: names, NUL after each. */
#define RECORD_RUN(X) \
    X(text, run_id) X(text, job_id) X(text, name) X(text, user) X(number, uid) X(text, command) X(text, cwd) \
    X(text, tags) X(text, host) X(text, kernel) X(text, cpu_model) X(number, cores) X(number, memory_bytes) \
    X(number, cores_allowed_milli) X(number, memory_limit_bytes) X(number, period_ns) X(number, time_ns) \
    X(text, events) X(number, pid) X(number, boot_ns)

/* The probe came up in an image: after an exec, before main. args: NUL after each. start_ticks: field 22 of
 * /proc/self/stat, which stays the same over execs and differs when a pid is used again; 0: not known.
 * self: what the pid has used so far (getrusage), children: of those it has waited for. */
#define RECORD_IMAGE(X) \
    X(number, pid) X(number, ppid) X(number, pgid) X(number, sid) X(number, uid) X(number, start_ticks) \
    X(number, time_ns) X(text, path) X(text, args) X(text, cwd) X(text, tags) X(counters, self) X(counters, children)

/* fork returned in a child that has the probe: same image as its parent. time_ns: just before, by the parent. */
#define RECORD_FORK(X) X(number, pid) X(number, ppid) X(number, time_ns)

/* The probe is about to exec; path and args are those of the image to come. self: getrusage of the whole pid so far; io
 * and the time on a CPU are the calling thread's alone, which goes on as the main thread of the image to come, and are
 * absent when a fork child execs at once (no children, under 10 ms of CPU). Each other thread that lives at this moment
 * gives a thread record with alive = 1 before; should the exec fail it lives on and gives another one at its end (same
 * tid and start_ns: the later one holds). A vfork child has copied = 0: the image before was its parent's. own: io that
 * is the probe's, in this task since the image came up, without this record; the kernel goes on counting with it. Of a
 * thread other than the main one, that of this exec alone. tid, name and thread: where there are several threads, the
 * calling one and its getrusage. whole_io: where there are, or where children were waited for, /proc/self/io with the probe's
 * part and that of all threads and children that ended. copied with
 * RECORD_EXEC_WHOLE: the image to come carries the probe and will write no record of its own when it comes up: path is that
 * of the file itself, and pgid to tags are known. */
#define RECORD_EXEC(X) \
    X(number, pid) X(number, time_ns) X(number, copied) X(text, path) X(text, args) X(counters, self) \
    X(counters, children) X(number, ppid) X(counters, own) X(number, pgid) X(number, sid) X(number, uid) X(text, cwd) \
    X(text, tags) X(number, tid) X(text, name) X(counters, thread) X(counters, whole_io)
#define RECORD_EXEC_COPIED 1u
#define RECORD_EXEC_WHOLE 2u

/* That exec failed: the image goes on. */
#define RECORD_EXEC_FAILED(X) X(number, pid) X(number, time_ns)

/* The probe's process made a child with posix_spawn. time_ns: just before, though the record comes after the child may
 * have written its own. */
#define RECORD_SPAWN(X) X(number, pid) X(number, ppid) X(number, time_ns) X(text, path) X(text, args)

/* A thread ended, or (alive = 1) its process ended with it, or exec'd. The main thread has tid = pid. */
#define RECORD_THREAD(X) \
    X(number, pid) X(number, tid) X(number, start_ns) X(number, end_ns) X(number, alive) X(text, name) \
    X(counters, counters)

/* io in exec and end records is without what the probe itself read and wrote in this image; what it wrote before an exec
 * is still counted by the kernel for the same pid: own of the exec record, and the frame of that.
 *
 * The probe saw the end: exit, _exit, or a return from main. main: the main thread alone. self: getrusage of the whole
 * process. children: of those it has waited for. whole_io: /proc/self/io, which the kernel counts with all threads that
 * ended AND all children waited for. threads: made in all, with the main one; name: that one's, where there are others. */
#define RECORD_END(X) \
    X(number, pid) X(number, time_ns) X(number, exit_code) X(number, pgid) X(number, sid) X(number, threads) \
    X(counters, main) X(counters, self) X(counters, children) X(counters, whole_io) X(text, name)

/* Somebody waited for a child: a wrapped wait, or sonde run (waiter = its pid). status as from wait4. usage: the child
 * with all children that it had waited for itself. */
#define RECORD_WAIT(X) X(number, waiter) X(number, pid) X(number, time_ns) X(number, status) X(counters, usage)

/* The proc connector: a process (tid = pid) or a thread was made, ppid: by whom; an image was exec'd (with what /proc
 * could still tell); a thread ended (status as from wait4; tid = pid for the main thread). */
#define RECORD_KERNEL_FORK(X) X(number, pid) X(number, ppid) X(number, time_ns) X(number, tid)
#define RECORD_KERNEL_EXEC(X) \
    X(number, pid) X(number, time_ns) X(number, start_ticks) X(number, ppid) X(number, pgid) X(number, sid) \
    X(number, uid) X(number, stat_known) X(text, path) X(text, args) X(text, cwd) X(text, name)
#define RECORD_KERNEL_EXIT(X) X(number, pid) X(number, tid) X(number, time_ns) X(number, status)

/* The kernel's exit record of one thread. process_ended: it was the last of its process. cumulative since fork. */
#define RECORD_TASKSTATS(X) \
    X(number, pid) X(number, tid) X(number, ppid) X(number, uid) X(number, start_ns) X(number, end_ns) \
    X(number, status) X(number, process_ended) X(text, name) X(counters, counters)

/* One thread's perf counts. counts: for each event of the run four numbers: known (0, 1), value, enabled ns, running ns.
 * opened_ns: the image that ran then is the one that they belong to. since: enum probe_perf_since; with PROBE_PERF_EXEC it is the
 * image that the exec record of this very time speaks of, or the spawn record of the command. */
#define RECORD_PERF(X) X(number, pid) X(number, tid) X(number, time_ns) X(text, counts) X(number, opened_ns) X(number, since)

/* Description of a set: for each metric name, unit, help as texts, kind and type as numbers. Comes before its samples. */
#define RECORD_SET(X) X(number, set) X(text, name) X(number, size) X(text, metrics)

/* One sample: values: for each metric known (0, 1) and, where known, the value's 64 bits as a number. */
#define RECORD_SAMPLE(X) X(number, set) X(text, instance) X(number, time_ns) X(text, values)

/* A process alive when the program had ended, or last seen before it vanished, read from /proc. */
#define RECORD_ALIVE(X) \
    X(number, pid) X(number, ppid) X(number, pgid) X(number, sid) X(number, uid) X(number, start_ticks) \
    X(number, time_ns) X(text, path) X(text, args) X(text, cwd) X(text, name) X(counters, self)

/* Last record of sonde run. total: getrusage(RUSAGE_CHILDREN). status: of the command, as from wait4; known only when
 * status_known. */
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

/* enum err record_unpack_image(struct bytes body, struct image_record *), …: texts are borrowed from body. CORRUPT when
 * the bytes do not parse. */
#define X(number, name, fields) enum err record_unpack_##name(struct bytes body, struct name##_record *record);
RECORD_KINDS(X)
#undef X

#endif
