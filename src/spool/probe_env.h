/* How sonde run tells the probe, through the environment, where to write and what it may leave to others. */
#ifndef SONDE_SPOOL_PROBE_ENV_H
#define SONDE_SPOOL_PROBE_ENV_H

/* File names, see base/install_paths.h. */
#define PROBE_LIBRARY "libsonde-process.so"
#define PROBE_LIBRARY_MPI "libsonde-mpi.so"
#define PROBE_LIBRARY_CALLS "libsonde-calls.so" /* counts system calls in libc */

#define PROBE_ENV_SPOOL "SONDE_SPOOL"   /* absolute path of the spool file, up to 1,023 bytes; unset: the probe does nothing */
#define PROBE_ENV_FLAGS "SONDE_PROBE"   /* a set of the letters below, may be empty */
#define PROBE_ENV_EVENTS "SONDE_EVENTS" /* perf events: "type:config:config1:config2:exclude" in hex, ';' between */
#define PROBE_ENV_SOCKET "SONDE_SOCKET" /* path of the SEQPACKET socket that takes perf descriptors */

#define PROBE_ENV_CALLS "SONDE_CALLS"   /* for libsonde-calls.so: "time" */

#define PROBE_FLAG_TASKSTATS 'k' /* the kernel's exit records are listened for: read nothing from /proc per thread */
#define PROBE_FLAG_DELAYS 'd' /* delay accounting is on: delayacct_blkio_time means something */

#define PROBE_FLAG_BATCHES 'p' /* records of threads may be held in pages (spool/record_batch.h) in $SONDE_BOARDS */

#define PROBE_FLAG_NOTICES 'b'   /* sonde run sleeps while programs are executed that carry the probe: ring for others */

#define PROBE_FLAG_SECCOMP 's' /* sonde run lives under a seccomp filter itself (a container): one need not mean that the
                                * program chose its system calls and would be killed for ours */

#define PROBE_FLAG_NAMESPACE 'n' /* with the number of sonde run's pid namespace behind it: the kernel tells of all
                                  * processes. One in another namespace knows itself and others by other pids than the
                                  * kernel tells us; it leaves that to the kernel, or it would be there twice */

#define PROBE_FLAG_LOCK_HOLDER 'h' /* with the pid of sonde run behind it, which holds a lock on the spool: whoever sees the
                               * holder of the lock under this number is in the same pid namespace, without /proc */

#define PROBE_FLAG_RECORDED 't' /* last, with a pid behind it: whoever executed this image in that process has told all of it in its
                             * exec record. The image takes the flag out, so that it holds for one exec */

#define PROBE_FLAG_COUNTED 'c' /* before PROBE_FLAG_RECORDED, with a pid behind it: the perf events of this image were opened
                                * before the exec, in that process. The image takes the flag out too */
#define PROBE_COUNTED_DIGITS 10 /* where the flag is made before the process that has the pid */

/* exclude in PROBE_ENV_EVENTS */
#define PROBE_EXCLUDE_KERNEL 1
#define PROBE_EXCLUDE_HYPERVISOR 2

#define PROBE_TAGS "SONDE_TAGS"
#define PROBE_TAGS_PAPIEX "PAPIEX_TAGS"

/* Beside the spool: 8 bytes, made by sonde run, in which every record that could not be written is counted. */
#define SPOOL_LOST_SUFFIX ".lost"

/* Beside the spool, with sonde run's pid behind it: the socket for perf descriptors. Where that path is too long for one, a link
 * to the socket, which then stands in a folder of its own; XXXXXX: any letters and digits. */
#define SPOOL_PERF_NAME "perf."
#define SPOOL_PERF_DIR "/tmp/sonde-perf-XXXXXX"
#define SPOOL_PERF_SOCKET SPOOL_PERF_DIR "/s"

/* Beside the spool, where there is PROBE_FLAG_NOTICES: a FIFO. Who is about to execute a program that will not carry the probe
 * writes a probe_ring into it, and sonde run wakes up to look at what that program executes in turn. */
#define SPOOL_NOTICES_SUFFIX ".bell"
struct probe_notice {
    unsigned long long time_ns; /* before the exec: what the probe said of this pid earlier does not count */
    unsigned int pid, unused;
};

/* Since when events count, which all count until their thread ends, over execs too. */
enum probe_perf_since {
    PROBE_PERF_BIRTH,  /* of the thread, or of the copy that fork made */
    PROBE_PERF_EXEC,   /* the next exec of the thread; time_ns is that of its exec record */
    PROBE_PERF_IMAGE,  /* the image came up: who executed it did not open them */
    PROBE_PERF_FAILED, /* nothing is sent: the exec for which the last were opened failed */
};

/* What the probe sends, each on a connection of its own, with the descriptors (SCM_RIGHTS, one per event that could be
 * opened, in the order of the events). */
struct probe_perf_message {
    unsigned int pid, tid;
    unsigned int opened; /* bit i: event i was opened and its descriptor is in the message */
    unsigned int since;  /* enum probe_perf_since */
    unsigned long long time_ns;
};

#endif
