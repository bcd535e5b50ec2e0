/* What the files of the preloaded probe share. The probe lives inside other people's programs: it calls the real function
 * first where it can, never exits, prints, allocates with malloc, holds a descriptor or a lock, and leaves errno alone.
 * Its data goes as records (spool/record.h) into the spool that $SONDE_SPOOL names. */
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
#define PROBE_PAGES_MAX 64
#define PROBE_SPOOL_MAX 1024 /* all that the probe keeps fits one page, for which every process pays */

/* Bytes and calls that the probe itself read and wrote: taken off what the kernel counted for the program. */
struct probe_own {
    _Atomic uint64_t rchar, syscr, wchar, syscw;
};

/* What stands behind "name=" when text begins with that. */
#define PROBE_VALUE(text, name) (strncmp(text, name "=", sizeof name) == 0 ? (text) + sizeof name : NULL)

/* This process. Written at its start and after fork; a child made by vfork sees its parent's and must not touch it. */
struct probe {
    bool started;        /* the constructors of what we need have run */
    bool on;             /* there is a spool to write to */
    bool kernel_listens; /* PROBE_FLAG_KERNEL */
    bool delays;         /* PROBE_FLAG_DELAYS */
    bool forked;         /* born by fork, and no exec since */
    bool bell;           /* PROBE_FLAG_BELL */
    bool filtered;       /* PROBE_FLAG_SECCOMP */
    bool bound;          /* PROBE_FLAG_NAMESPACE: to the pid namespace of sonde run */
    _Atomic bool quiet;  /* the program restricts its own system calls: make none beside them */
    _Atomic bool ended;  /* the end is recorded */
    pid_t pid, forking;  /* forking: the process that is calling fork */
    uint64_t forking_ns; /* and when */
    uint64_t start_ticks, ticks_per_s;
    uintptr_t main_thread; /* probe_thread */
    _Atomic unsigned children;
    struct probe_own own_main, own_others; /* by the main thread; by all others */
    char pages[PROBE_PAGES_MAX]; /* PROBE_FLAG_PAGES: the folder for them; empty: none */
    char spool[PROBE_SPOOL_MAX];
};
extern struct probe probe;
_Static_assert(sizeof(long) == 8, "the structs of system calls are those of 64-bit machines");

/* Records are wanted. */
static inline bool probe_on(void)
{
    return probe.on && !probe.quiet;
}

/* This process is the one that the state describes, and not a child that shares its memory. */
static inline bool probe_mine(void)
{
    return sys_getpid() == probe.pid;
}

/* Not libc's clock: another library may have put a false one in its place, and all processes must agree. */
static inline uint64_t probe_now_ns(void)
{
    struct timespec t = { 0 };
    sys2(SYS_clock_gettime, CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* The calling thread: pthread_self without a symbol to look up, where the compiler can. */
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

/* What the kernel told the program at its start. */
struct probe_auxv {
    bool is_secure;    /* or not told */
    bool has_loader;   /* the kernel started another file, which loaded this one */
    const char *name;  /* as it was executed; NULL: not told */
    const void *parts; /* the program headers; NULL: not told */
    size_t part_count;
    uint64_t uid, ticks_per_s;
};

/* exe.c: the path of the program, empty when nobody tells. */
struct bytes exe_read(char to[PATH_MAX], char *const *argv, const struct probe_auxv *auxv);
/* Opens a file and frees its path of symbolic links. -errno; -ELOOP also when the path must be asked of somebody else: it is
 * not absolute, or has something in it that is no name. */
long exe_open(char path[ARGS_PATH_MAX], int flags);

/* end.c: at most one record per process; nothing in a child by vfork. */
void end_emit(int status);

/* unprobed.c: will a program carry the probe? What was read and written to find out counts as the probe's own, and is given back
 * for a child by vfork. */
struct dark_cost {
    size_t rchar, syscr, wchar, syscw;
};

/* A file that is about to be executed. */
struct dark_file {
    bool can_run; /* as far as can be told */
    bool is_ours; /* it would load the probe */
    bool is_real; /* it is itself a program, and no script; its path, free of links, is known */
    struct dark_cost cost;
};
struct dark_file dark_see(const char *path, char real[ARGS_PATH_MAX]);

/* The environment that a program gets. */
struct dark_environment {
    size_t count, flags_at;      /* flags_at: the place of PROBE_ENV_FLAGS, count when it is missing */
    const char *tags, *tags_papiex; /* empty when they are missing */
    bool is_ours; /* it has the probe and this spool */
};
struct dark_environment dark_environment(char *const *envp);

/* pid is about to execute a program, or did after time_ns: tells sonde run when that will not carry the probe. */
void dark_tell(pid_t pid, uint64_t time_ns, const struct dark_environment *environment, struct dark_file *file);
/* This program carries the probe; but will it call past it? */
void dark_tell_self(const struct probe_auxv *auxv);
/* It may soon be unable to tell what it executes. */
void dark_tell_leaving(void);

/* emit.c: a record on its way. Memory for it: on the stack while it is small, else mapped. */
#define ROOM_SMALL 1536
struct room {
    uint8_t *data;
    size_t size;
    uint8_t small[ROOM_SMALL];
};
bool room_take(struct room *room, size_t size); /* false: no memory, the record is lost and counted */
void room_give(struct room *room);

/* Upper bound of the frame of a record with this many counters besides its texts. */
#define EMIT_BOUND(counters) (FRAME_HEAD + 7 + 20 * PACK_NUMBER_MAX + (counters) * (COUNTERS_SIZE + 1) * PACK_NUMBER_MAX)
struct packer emit_begin(uint8_t *frame, size_t size);
enum err emit_end(uint8_t *frame, const struct packer *packer, enum record_kind kind);
enum err emit_end_close(uint8_t *frame, const struct packer *packer, enum record_kind kind, int fd); /* spool_append_open */
/* The same; it may be held back until some more have come, where that loses nothing. */
enum err emit_later(uint8_t *frame, const struct packer *packer, enum record_kind kind);
/* Frames that stand one behind the other, count of them. size 0: there was no room for one. fd: closed. */
enum err emit_frames(const uint8_t *frames, size_t size, unsigned count, int fd);
/* Bytes that the probe read or wrote just now in this process, which is no child by vfork. */
void emit_own(struct probe_own part);

/* record_batch.c: records that are written several at once. What the kernel tells too, if not as exactly, is held in
 * our own memory, and a process that is killed takes it along; threads of which it does not tell in a page that
 * outlives the process. */
bool held_add(const uint8_t *frame, size_t size, enum record_kind kind); /* false: write it now */
void held_write(void);  /* before the process executes, or cannot write any more */
void held_close(void);  /* before it ends: nothing is held from here on */
void held_forget(void); /* after fork: they are the parent's */

/* read.c: what the kernel knows about us. Adds to counters what could be read; what could not stays unknown. */
void read_usage(struct counters *counters, int who); /* getrusage */
void read_usage_from(struct counters *counters, const struct rusage *usage);
/* Whose file it is decides what of it the probe itself has read and written. */
enum read_whose { READ_MAIN, READ_ALONE, READ_PROCESS, READ_OTHER }; /* READ_ALONE: a main thread that ends, the only one */
bool read_io(struct counters *counters, int folder, const char *path, enum read_whose whose);

/* The calling thread. folder_path: /proc/thread-self, /proc/self where that is the same and cheaper, or NULL: do without
 * the numbers that stand there only. */
void read_this_thread(struct counters *counters, const char *folder_path, enum read_whose whose);

/* Numbers of /proc/…/stat by the field numbers of proc(5). */
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
bool read_stat(struct read_stat *stat, int folder, const char *path);
uint64_t read_ticks_us(uint64_t ticks);

/* Another thread of this process: usage as well, from its stat. */
void read_other_thread(struct counters *counters, pid_t tid, struct read_stat *stat);

/* The time on a CPU of another thread, without /proc. */
void read_other_clock(struct counters *counters, pid_t tid);

/* args.c: arguments and texts of a program to be, and numbers in texts. */
size_t args_size(char *const *argv);
struct bytes args_copy(char *const *argv, char *to); /* NUL after each; to has args_size bytes */
struct bytes args_block(int argc, char **argv);      /* without copying; no data when they do not stand in a row */
/* The absolute name of path, in to when it had to be made, else path itself. */
const char *args_absolute(char to[ARGS_PATH_MAX], const char *path);
/* As execvp looks for file. NULL: not found. */
const char *args_search(char to[ARGS_PATH_MAX], const char *file);
bool args_executable(const char *path);
/* The name of path as seen from the open folder fd, of fd itself when path is empty. */
bool args_at(char to[ARGS_PATH_MAX], int fd, const char *path);
/* PROBE_TAGS and PROBE_TAGS_PAPIEX, either of which may be empty, as one text; to has args_tags_size bytes. */
size_t args_tags_size(const char *tags, const char *papiex);
struct bytes args_tags(const char *tags, const char *papiex, char *to);
#define ARGS_DIGITS_MAX 11
size_t args_digits(char to[ARGS_DIGITS_MAX], unsigned number); /* with a NUL behind, which does not count */

/* threads.c: the threads that are alive, without locks. */
struct thread_slot {
    _Atomic unsigned state;
    _Atomic uint32_t next_free;
    uint32_t number;
    unsigned rounds; /* of destructors that went by */
    pid_t tid;
    uint64_t start_ns;
    union {
        void *(*start)(void *);
        int (*start_c11)(void *);
    };
    void *argument;
};
bool threads_ready(void); /* threads can be followed */
void threads_reset(void); /* after fork: only the calling thread is left */

struct thread_slot *threads_claim(void); /* for a thread about to be made; NULL: no memory */
void threads_release(struct thread_slot *slot);
void threads_begin(struct thread_slot *slot); /* in the new thread; from here on its end is recorded */

unsigned threads_made(void); /* in all, without the main one */
/* The process ends: a record for each that lives save the main one; they will write no other. Returns how many. */
unsigned threads_emit_live(void);
/* The process is about to exec: a record for each that lives save the calling one; should the exec fail they live on. */
void threads_emit_others(void);

/* perf.c */
void perf_start(const char *events, const char *socket_path); /* borrowed for the call; NULL: no events */
void perf_open_thread(void); /* the calling thread's events, from its beginning; nothing when none are wanted */
void perf_open_image(void);  /* the same in an image of which nobody has opened them before its exec */
/* The calling thread is about to exec: what the image to come counts. goes_on: the events of the copy that fork made, since the
 * two are one image. False: nothing was opened. time_ns: of the exec record. */
bool perf_open_exec(uint64_t time_ns, bool goes_on);
void perf_exec_failed(void); /* that exec */

/* wrap_wait.c: a child has ended. memory_known: its largest resident memory is in usage. */
void wait_emit(pid_t pid, int status, const struct rusage *usage, bool memory_known);
unsigned wait_reaped(void);  /* children so far */
bool wait_in_flight(void);   /* another thread is waiting now */

/* wrap_system.c: after fork. */
void system_reset(void);

/* next.c: the functions that the wrapped ones stand in front of. */
#define NEXT_FIRST(X) X(execve) X(execvpe) X(fexecve) X(wait4) X(_exit) X(fork) X(syscall)
#define NEXT_LATER(X) X(execveat) X(posix_spawn) X(posix_spawnp) X(quick_exit) X(pthread_create) X(thrd_create) \
    X(daemon) X(forkpty) X(prctl) X(pclose) X(system) X(chroot) X(unshare) X(setns) X(setuid) X(setreuid) X(setresuid)
/* The next definition of a function behind ours, as the dynamic linker finds it. The first group is found before
 * there is a child or a second thread, because it may be called between fork and exec, where the linker's lock may be held
 * for ever by a thread that is no more, and in a handler of SIGCHLD; not at the start, because most programs have neither
 * and the search takes 5 us. The others are found at their first call, or when the program begins to have threads. */
enum next {
#define X(name) NEXT_##name,
    NEXT_FIRST(X) NEXT_LATER(X)
#undef X
    NEXT_SIZE,
};
void next_find_first(void);
void next_find_all(void);
bool next_is_libc(enum next which); /* no other library has wrapped it */
bool next_is_far(void); /* what finds it must be loaded first: better at the start than in a child by vfork */
uintptr_t next_find(enum next which);
#define NEXT(name) ((__typeof__(name) *)next_find(NEXT_##name))

#endif
