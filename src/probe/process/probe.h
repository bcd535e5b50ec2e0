/* Shared declarations of libsonde-process.so, the preloaded probe. It runs inside other people's programs: it calls
 * the real function first where it can; it never exits, prints, calls malloc, keeps a descriptor open or holds a
 * lock; it preserves errno. Its data goes as records (spool/record.h) to the spool named by $SONDE_SPOOL. */
#ifndef SONDE_PROBE_PROCESS_PROBE_H
#define SONDE_PROBE_PROCESS_PROBE_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/sys.h"
#include "model/counters.h"
#include "spool/frame.h"
#include "spool/probe_env.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define PROBE_EXPORT __attribute__((visibility("default")))
#define PROBE_EVENTS_MAX 32
#define ARGS_PATH_MAX 1024
#define PROBE_BATCH_DIR_MAX 64
#define PROBE_SPOOL_MAX 1024 /* all probe state fits one page, which every process pays for */

/* Bytes and calls that the probe itself read and wrote: subtracted from the kernel's counts for the program. */
struct probe_overhead {
    _Atomic uint64_t rchar, syscr, wchar, syscw;
};

/* The value if text is "name=value", else NULL. */
#define PROBE_ENV_VALUE(text, name) (strncmp(text, name "=", sizeof name) == 0 ? (text) + sizeof name : NULL)

/* State of this process. Written at start and after fork. A vfork child sees its parent's state and must not modify
 * it. */
struct probe {
    bool is_started;          /* our constructor has run, and so have those of the libraries we depend on */
    bool is_active;           /* there is a spool to write to */
    bool has_taskstats;       /* PROBE_FLAG_TASKSTATS */
    bool has_delay_accounting; /* PROBE_FLAG_DELAYS */
    bool is_forked;           /* created by fork, no exec since */
    bool has_notices;         /* PROBE_FLAG_NOTICES */
    bool has_seccomp;         /* PROBE_FLAG_SECCOMP */
    bool is_in_run_namespace; /* PROBE_FLAG_NAMESPACE: this process must be in the pid namespace of sonde run */
    _Atomic bool is_sandboxed; /* the program restricts its own system calls: make none on its behalf */
    _Atomic bool end_is_recorded;
    pid_t pid, forking_pid;   /* forking_pid: the process that is calling fork */
    uint64_t forking_ns;      /* time of that call */
    uint64_t start_ticks, ticks_per_s;
    uint64_t rss_before_kb;   /* peak memory of the process when this image started: usually of an earlier image */
    uintptr_t main_thread;    /* probe_thread() of the main thread */
    _Atomic unsigned children;
    struct probe_overhead overhead_main, overhead_others; /* of the main thread; of all other threads */
    char batch_dir[PROBE_BATCH_DIR_MAX]; /* PROBE_FLAG_BATCHES: directory of record batch files; empty: none */
    char spool[PROBE_SPOOL_MAX];
};
extern struct probe probe;
_Static_assert(sizeof(long) == 8, "the structs of system calls are those of 64-bit machines");

/* Should records be written? */
static inline bool probe_is_active(void)
{
    return probe.is_active && !probe.is_sandboxed;
}

/* False in a vfork child, which shares the memory of the process that this state describes. */
static inline bool probe_is_own_process(void)
{
    return sys_getpid() == probe.pid;
}

/* Not libc's clock: another library may override it with a fake one, and all processes must agree. */
static inline uint64_t probe_now_ns(void)
{
    struct timespec t = { 0 };
    sys2(SYS_clock_gettime, CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Identifies the calling thread: pthread_self without a symbol lookup, where the compiler supports it. */
static inline uintptr_t probe_thread(void)
{
#if defined(__GNUC__) && !defined(__clang__)
    return (uintptr_t)__builtin_thread_pointer();
#else
    return (uintptr_t)pthread_self();
#endif
}

static inline bool probe_in_main_thread(void)
{
    return probe_thread() == probe.main_thread;
}

/* From the auxiliary vector of the process. */
struct probe_auxv {
    bool is_secure;    /* also true if unknown */
    bool has_loader;   /* the kernel started a dynamic loader, which loaded this program */
    const char *name;  /* AT_EXECFN; NULL: unknown */
    const void *parts; /* program headers; NULL: unknown */
    size_t part_count;
    uint64_t uid, ticks_per_s;
};

/* exe.c: path of the executable; empty if unknown. */
struct bytes exe_read(char to[PATH_MAX], char *const *argv, const struct probe_auxv *auxv);
/* Opens a file and resolves the symbolic links in its path, in place. Returns -errno; -ELOOP also for paths that
 * cannot be resolved here: not absolute, or with "." or ".." components. */
long exe_open(char path[ARGS_PATH_MAX], int flags);

/* end.c: writes at most one end record per process; does nothing in a vfork child. will_flush: libc flushes its streams
 * afterwards. */
void end_emit(int status, bool will_flush);

/* unflushed.c: what is still in the buffers of stdio streams. */
struct unflushed {
    size_t bytes, calls;
    bool has_file; /* part of it goes to a regular file */
};
struct unflushed unflushed_read(bool is_alone); /* is_alone: no other thread is running */

/* unprobed.c: will a program that is about to be executed load the probe? The I/O needed to find out counts as probe
 * overhead; it is also returned here, since a vfork child cannot add it to the state. */
struct probe_cost {
    size_t rchar, syscr, wchar, syscw;
};

/* A file about to be executed. */
struct exec_file {
    bool can_run; /* as far as we can tell */
    bool is_ours; /* it would load the probe */
    bool is_real; /* an executable, not a script, and its path without symbolic links is known */
    struct probe_cost cost;
};
struct exec_file unprobed_check_file(const char *path, char real[ARGS_PATH_MAX]);

/* The environment of the program about to be executed. */
struct exec_environment {
    size_t count, flags_at;      /* flags_at: index of PROBE_ENV_FLAGS; equals count if missing */
    const char *tags, *tags_papiex; /* empty if missing */
    bool is_ours; /* it has the probe and this spool */
};
struct exec_environment unprobed_scan_environment(char *const *envp);

/* pid is about to execute a program, or did so after time_ns: notifies sonde run if that program will not load the
 * probe. */
void unprobed_notify(pid_t pid, uint64_t time_ns, const struct exec_environment *environment, struct exec_file *file);
/* This program has loaded the probe: notifies sonde run if it executes others without going through libc (Go). */
void unprobed_notify_self(const struct probe_auxv *auxv);
/* Call before the process may lose access to the spool: notifies sonde run to follow its execs. */
void unprobed_notify_leaving(void);

/* emit.c: memory for a record: on the stack if small, otherwise mmap'ed. */
#define EMIT_BUFFER_INLINE 1536
struct emit_buffer {
    uint8_t *data;
    size_t size;
    uint8_t inline_data[EMIT_BUFFER_INLINE];
};
bool emit_buffer_alloc(struct emit_buffer *buffer, size_t size); /* false: no memory; the record is counted as lost */
void emit_buffer_free(struct emit_buffer *buffer);

/* Upper bound of the frame size of a record with this many counter sets, without its strings. */
#define EMIT_BOUND(counters) (FRAME_HEAD + 7 + 20 * PACK_NUMBER_MAX + (counters) * (COUNTERS_SIZE + 1) * PACK_NUMBER_MAX)
struct packer emit_begin(uint8_t *frame, size_t size);
enum err emit_end(uint8_t *frame, const struct packer *packer, enum record_kind kind);
/* fd: from spool_append_open */
enum err emit_end_close(uint8_t *frame, const struct packer *packer, enum record_kind kind, int fd);
/* Like emit_end, but the record may be batched with later ones, where that cannot lose it. */
enum err emit_later(uint8_t *frame, const struct packer *packer, enum record_kind kind);
/* Appends `count` contiguous frames and closes fd. size 0: the frame did not fit; it is counted as lost. */
enum err emit_frames(const uint8_t *frames, size_t size, unsigned count, int fd);
/* Adds I/O that the probe just did in this process. Not in a vfork child. */
void emit_add_overhead(struct probe_overhead part);

/* record_batch.c: buffers records and writes several with one append. Records whose data the kernel also reports
 * (less exactly) are kept in private memory and are lost if the process is killed. Thread records that the kernel
 * does not report are kept in a file-backed page that outlives the process. */
bool record_batch_add(const uint8_t *frame, size_t size, enum record_kind kind); /* false: write it now */
void record_batch_flush(void);  /* before exec, or before the process can no longer write */
void record_batch_close(void);  /* before exit: batches no more records */
void record_batch_reset(void); /* after fork: the records are the parent's */

/* read.c: reads counters of this process from the kernel. Counters that cannot be read stay unknown. */
void read_usage(struct counters *counters, int who); /* getrusage */
void read_usage_from(struct counters *counters, const struct rusage *usage);
bool read_image_rss(uint64_t *kb); /* peak memory of this image (VmHWM); 25 us, the slowest of these files */
/* Selects which overhead of the probe is subtracted from an io file. */
/* READ_ALONE: the main thread at exit, with no other threads */
enum read_scope { READ_MAIN, READ_ALONE, READ_PROCESS, READ_OTHER };
bool read_io(struct counters *counters, int dir, const char *path, enum read_scope scope);

/* The calling thread. dir_path: /proc/thread-self; /proc/self where that is equivalent and cheaper; NULL: skip the
 * counters that only /proc has. */
void read_this_thread(struct counters *counters, const char *dir_path, enum read_scope scope);

/* Fields of /proc/…/stat, numbered as in proc(5). */
enum {
    STAT_MINFLT = 10,
    STAT_MAJFLT = 12,
    STAT_UTIME = 14,
    STAT_STIME = 15,
    STAT_THREADS = 20,
    STAT_START = 22,
    STAT_PROCESSOR = 39,
    STAT_BLKIO = 42,
    STAT_GUEST = 43,
    STAT_FIELDS,
};
struct read_stat {
    uint64_t field[STAT_FIELDS];
    char name[16];
    size_t name_size;
};
bool read_stat(struct read_stat *stat, int dir, const char *path);
uint64_t read_ticks_us(uint64_t ticks);

/* Another thread of this process; its usage comes from its stat file. */
void read_other_thread(struct counters *counters, pid_t tid, struct read_stat *stat);

/* CPU time of another thread, without /proc. */
void read_other_clock(struct counters *counters, pid_t tid);

/* args.c: arguments and paths of programs. */
size_t args_size(char *const *argv);
struct bytes args_copy(char *const *argv, char *to); /* NUL after each; `to` has args_size bytes */
struct bytes args_block(int argc, char **argv);      /* without copying; data is NULL if they are not contiguous */
/* The absolute form of path: built in `to` if necessary, else path itself. */
const char *args_absolute(char to[ARGS_PATH_MAX], const char *path);
/* Searches PATH like execvp. NULL: not found. */
const char *args_search(char to[ARGS_PATH_MAX], const char *file);
bool args_executable(const char *path);
/* The path of `path` relative to the open directory fd, or of fd itself if path is empty. */
bool args_at(char to[ARGS_PATH_MAX], int fd, const char *path);
/* PROBE_TAGS and PROBE_TAGS_PAPIEX, either of which may be empty, as one string; `to` has args_tags_size bytes. */
size_t args_tags_size(const char *tags, const char *papiex);
struct bytes args_tags(const char *tags, const char *papiex, char *to);
#define ARGS_DIGITS_MAX 11
size_t args_digits(char to[ARGS_DIGITS_MAX], unsigned number); /* NUL-terminated; returns the length without the NUL */

/* threads.c: table of live threads, lock-free. */
struct thread_slot {
    _Atomic unsigned state;
    _Atomic uint32_t next_free;
    uint32_t number;
    unsigned rounds; /* rounds of key destructors so far */
    pid_t tid;
    uint64_t start_ns;
    union {
        void *(*start)(void *);
        int (*start_c11)(void *);
    };
    void *argument;
};
bool threads_ready(void); /* thread tracking is available */
void threads_reset(void); /* after fork: only the calling thread exists */

struct thread_slot *threads_claim(void); /* for a thread about to be created; NULL: no memory */
void threads_release(struct thread_slot *slot);
void threads_begin(struct thread_slot *slot); /* in the new thread; from here on its end is recorded */

unsigned threads_made(void); /* total, without the main thread */
/* At process exit: writes a record for each live thread except the main one, and prevents further ones. Returns
 * their number. */
unsigned threads_emit_live(void);
/* Before exec: writes a record for each live thread except the calling one. If the exec fails, they continue. */
void threads_emit_others(void);

/* perf.c: perf events of threads. */
void perf_start(const char *events, const char *socket_path); /* copied; NULL: no events */
void perf_open_thread(void); /* opens the calling thread's events at its start; no-op without events */
void perf_open_image(void);  /* the same for a process image whose events were not opened before its exec */
/* Before exec: opens the events of the next image. goes_on: keep counting with those opened after fork, because fork
 * and exec form one image. Returns false if nothing was opened. time_ns: time of the exec record. */
bool perf_open_exec(uint64_t time_ns, bool goes_on);
void perf_exec_failed(void); /* the exec returned */

/* wrap_wait.c: records the end of a child. memory_known: usage has its peak resident memory. */
void wait_emit(pid_t pid, int status, const struct rusage *usage, bool memory_known);
unsigned wait_reaped(void);  /* number of children reaped so far */
bool wait_in_flight(void);   /* another thread is waiting now */

/* wrap_system.c: call after fork. */
void system_reset(void);

/* next.c: the real functions after the wrapped ones. */
#define NEXT_FIRST(X) X(execve) X(execvpe) X(fexecve) X(wait4) X(_exit) X(fork) X(syscall)
#define NEXT_LATER(X) X(execveat) X(posix_spawn) X(posix_spawnp) X(quick_exit) X(pthread_create) X(thrd_create) \
    X(daemon) X(forkpty) X(prctl) X(pclose) X(system) X(chroot) X(unshare) X(setns) X(setuid) X(setreuid) X(setresuid)
/* The first group is resolved before there is a child or a second thread: it may be called between fork and exec,
 * when the dynamic linker's lock may be held forever by a thread that no longer exists, and in SIGCHLD handlers. Not
 * at program start, because most programs need neither, and the lookup takes 5 us. The others are resolved on first
 * use, or when the program starts its first thread. */
enum next {
#define X(name) NEXT_##name,
    NEXT_FIRST(X) NEXT_LATER(X)
#undef X
    NEXT_SIZE,
};
void next_find_first(void);
void next_find_all(void);
bool next_is_libc(enum next which); /* no other library has wrapped it */
bool next_needs_libdl(void); /* dlsym itself must be loaded first: better at program start than in a vfork child */
uintptr_t next_find(enum next which);
#define NEXT(name) ((__typeof__(name) *)next_find(NEXT_##name))

#endif
