/* What sonde run passes to the probe: environment variables, files beside the spool, and messages. */
#ifndef SONDE_SPOOL_PROBE_ENV_H
#define SONDE_SPOOL_PROBE_ENV_H

/* File names, see base/install_paths.h. */
#define PROBE_LIBRARY "libsonde-process.so"
#define PROBE_LIBRARY_MPI "libsonde-mpi.so"
#define PROBE_LIBRARY_CALLS "libsonde-calls.so" /* counts system calls in libc */

#define PROBE_ENV_SPOOL "SONDE_SPOOL"   /* absolute path of the spool, up to 1,023 bytes; unset: the probe does nothing */
#define PROBE_ENV_FLAGS "SONDE_PROBE"   /* set of the letters below, can be empty */
#define PROBE_ENV_EVENTS "SONDE_EVENTS" /* perf events: "type:config:config1:config2:exclude" in hex, separated by ';' */
#define PROBE_ENV_SOCKET "SONDE_SOCKET" /* path of the SEQPACKET socket for perf descriptors */

#define PROBE_ENV_CALLS "SONDE_CALLS"   /* for libsonde-calls.so: "time" */

#define PROBE_FLAG_TASKSTATS 'k' /* sonde run receives taskstats: read nothing from /proc per thread */
#define PROBE_FLAG_DELAYS 'd' /* delay accounting is on: delayacct_blkio_time is valid */

#define PROBE_FLAG_BATCHES 'p' /* records of threads can be batched (spool/record_batch.h) in $SONDE_BOARDS */

#define PROBE_FLAG_NOTICES 'b'   /* sonde run sleeps as long as all programs have the probe: notify it of others */

#define PROBE_FLAG_SECCOMP 's' /* sonde run itself has a seccomp filter (a container): a filter does not mean that the
                                * program restricts its system calls and would be killed for ours */

#define PROBE_FLAG_NAMESPACE 'n' /* followed by the number of sonde run's pid namespace: the kernel reports all
                                  * processes. A process in another namespace has other pids than the kernel reports to
                                  * us; it writes nothing, otherwise it would be recorded twice */

#define PROBE_FLAG_LOCK_HOLDER 'h' /* followed by the pid of sonde run, which holds a lock on the spool: a process for which
                               * the holder has this pid is in the same pid namespace; works without /proc */

#define PROBE_FLAG_RECORDED 't' /* last, followed by a pid: in that process the exec record has described this image completely.
                             * The image removes the flag, so that it applies to one exec */

#define PROBE_FLAG_COUNTED 'c' /* before PROBE_FLAG_RECORDED, followed by a pid: in that process the perf events of this image
                                * were opened before the exec. The image removes the flag too */
#define PROBE_COUNTED_DIGITS 10 /* reserved for the pid, which is filled in later */

/* exclude in PROBE_ENV_EVENTS */
#define PROBE_EXCLUDE_KERNEL 1
#define PROBE_EXCLUDE_HYPERVISOR 2

#define PROBE_TAGS "SONDE_TAGS"
#define PROBE_TAGS_PAPIEX "PAPIEX_TAGS"

/* Beside the spool, created by sonde run: 8 bytes that count records that could not be written. */
#define SPOOL_LOST_SUFFIX ".lost"

/* Beside the spool, followed by the pid of sonde run: the socket for perf descriptors. If that path is too long for a socket, a
 * symbolic link to one in a directory of its own; XXXXXX as in mkdtemp. */
#define SPOOL_PERF_NAME "perf."
#define SPOOL_PERF_DIR "/tmp/sonde-perf-XXXXXX"
#define SPOOL_PERF_SOCKET SPOOL_PERF_DIR "/s"

/* Beside the spool, with PROBE_FLAG_NOTICES: a FIFO. A process that is about to execute a program without the probe writes a
 * struct probe_notice, and sonde run wakes up to monitor what that program executes. */
#define SPOOL_NOTICES_SUFFIX ".bell"
struct probe_notice {
    unsigned long long time_ns; /* before the exec: earlier records of this pid do not count */
    unsigned int pid, unused;
};

/* Since when events are counted. All are counted until their thread ends, across execs. */
enum probe_perf_since {
    PROBE_PERF_BIRTH,  /* start of the thread, or of the forked process */
    PROBE_PERF_EXEC,   /* the next exec of the thread; time_ns is that of its exec record */
    PROBE_PERF_IMAGE,  /* since the probe was loaded: they were not opened before the exec */
    PROBE_PERF_FAILED, /* nothing was sent: the exec failed */
};

/* Sent by the probe, each on its own connection, with the descriptors of the events that could be opened (SCM_RIGHTS, in the
 * order of the events). */
struct probe_perf_message {
    unsigned int pid, tid;
    unsigned int opened; /* bit i: event i was opened, and its descriptor is attached */
    unsigned int since;  /* enum probe_perf_since */
    unsigned long long time_ns;
};

#endif
