/* The board: a file in /dev/shm in which a program shows its numbers. probe/segment/segment.c writes it inside the program,
 * appmetrics/segment_reader.c reads it from outside, at each tick and once more when the program is gone. Everything is in the
 * machine's own byte order, and in pages of 4096 bytes: first the header, then blocks of pages. */
#ifndef SONDE_APPMETRICS_SEGMENT_FORMAT_H
#define SONDE_APPMETRICS_SEGMENT_FORMAT_H

#include "base/hash.h"

#include <stdint.h>
#include <string.h>

#define SEGMENT_DIR "/dev/shm"
#define SEGMENT_PREFIX "sonde."            /* of a board's name: sonde.<pid>.<library>.<16 hex digits>[.<socket>] */
#define SEGMENT_ENV_DIR "SONDE_BOARDS"  /* another folder; sonde run's is of its command alone */
#define SEGMENT_ENV_SOCKET "TAU_METRIC_PROXY" /* of an agent: one may want such boards alone as name its own */
#define SEGMENT_RUN_PREFIX "sonde-run."    /* of such a folder: sonde-run.<uid>.<random>, in SEGMENT_DIR */
#define SEGMENT_CLAIM "sonde-agent"        /* in SEGMENT_DIR: an agent of the node wants boards; with ".<uid>" behind it, one of
                                          * that user; with ".<uid>.<socket>", one that wants those alone which
                                          * name its socket. It holds a write lock on it (fcntl, F_OFD_SETLK), and touches it */
#define SEGMENT_CLAIM_LASTS_S 600          /* unlocked, but touched this recently: it comes back */

#define SEGMENT_MAGIC "SondeBrd"
#define SEGMENT_VERSION 1u
#define SEGMENT_PAGE 4096u
#define SEGMENT_BYTES_MAX (256u << 20)
#define SEGMENT_STRING_MAX 65535u            /* of a name, of its labels, of a unit, of a help text */

#define SEGMENT_NAME_MAX 32768u            /* of name{labels}, values escaped: what readers take */

/* A chunk is a page of 512 slots of 8 bytes, the first 8 of which are its head. A metric's number says where its slots are,
 * in the chunks of every thread: (chunk << 9) + first slot. Chunk 0 is none: what has no place counts there. */
#define SEGMENT_CHUNK_SHIFT 9u
#define SEGMENT_CHUNK_SLOTS (1u << SEGMENT_CHUNK_SHIFT)
#define SEGMENT_HEAD_SLOTS 8u
#define SEGMENT_CHUNKS_MAX (SEGMENT_BYTES_MAX / SEGMENT_PAGE)
#define SEGMENT_SLOTS_MAX (SEGMENT_CHUNK_SLOTS - SEGMENT_HEAD_SLOTS)
#define SEGMENT_BOUNDS_MAX (SEGMENT_SLOTS_MAX - 3)
#define SEGMENT_METRIC_NONE 0u

/* The text by which a socket goes in names of boards and claims: that of its path. */
#define SEGMENT_SOCKET_SIZE 17
static inline uint64_t segment_socket_hash(const char *path)
{
    return hash_add_text(HASH_START, path) | 1ull << 63;
}

/* The one that a board's name has at its end; "": none. Who made the name may have meant anything. */
static inline const char *segment_name_socket(const char *name)
{
    int dots = 0;
    for (; *name && dots < 4; name++)
        dots += *name == '.';
    size_t digits = strspn(name, "0123456789abcdef");
    return digits == SEGMENT_SOCKET_SIZE - 1 && !name[digits] ? name : "";
}

enum segment_state { SEGMENT_ALIVE = 1, SEGMENT_ENDED = 2 };

struct segment_header {
    char magic[8];
    uint32_t version;
    uint32_t state;       /* enum segment_state */
    uint64_t bytes;       /* of the file, most of which is a hole */
    uint64_t pages;       /* in use, this one included; what stands behind them is not ready */
    uint64_t lost;        /* metrics and chunks that found no room */
    int32_t pid;          /* as the program sees itself, which in a container may not be as others see it: */
    int32_t rank, size;   /* of MPI_COMM_WORLD; -1: none */
    uint32_t threads;     /* that have counted, at a time */
    uint64_t pid_space;   /* inode of the pid namespace; 0: not known */
    uint64_t start_ticks; /* of the process: field 22 of /proc/PID/stat; 0: not known */
    uint64_t exe_device, exe_inode; /* of what it executes: another one after exec */
    uint64_t ticks;       /* of the counter that SEGMENT_TICKS come from, at the time monotonic_ns: with another such pair */
    uint64_t monotonic_ns; /* … that the reader takes, ticks become seconds */
    uint64_t realtime_ns; /* when the board was made */
    char library[32];     /* who writes: "sonde", "mpi", "calls" */
    char job[128];        /* that the environment tells of; empty: none */
    char command[512];    /* arguments with blanks between them, cut */
    int32_t subject_pid;  /* another process, whose numbers these are; 0: the one that writes. A reader believes it of root, */
    uint32_t subject_uid; /* … and of that process's user, which this is */
    uint64_t program;     /* of MPI: the same for all that a launcher has started, on this node; 0: not known */
    uint64_t ended_ns;    /* CLOCK_REALTIME, when the state became SEGMENT_ENDED; 0: not yet */
    uint32_t world;       /* of MPI: 0, or which of those that the program has spawned */
    int32_t parent_pid;   /* of the process that made it, as it sees that: when it is gone, it tells the job. 0: not known */
    char rest[3280];
};
_Static_assert(sizeof(struct segment_header) == SEGMENT_PAGE, "the header is a page");

enum segment_block_kind { SEGMENT_BLOCK_DESCRIPTORS = 1, SEGMENT_BLOCK_CHUNK = 2 };

/* The head of a block of pages. Kinds that a reader does not know are passed over. */
struct segment_block {
    uint32_t kind;
    uint32_t pages;
    uint32_t chunk;  /* of a chunk: its number, and the number of the threads that it is of, one after another; thread 0 is the */
    uint32_t thread; /* process as a whole, for gauges. Many threads have a chunk of the same number: the sum is the value */
    uint64_t used;   /* of descriptors: bytes, this head included */
    uint64_t rest[5];
};
_Static_assert(sizeof(struct segment_block) == SEGMENT_HEAD_SLOTS * 8, "the head takes the first slots");

enum segment_metric_kind {
    SEGMENT_COUNTER = 1,
    SEGMENT_GAUGE = 2,     /* one slot, SEGMENT_F64, see segment_gauge_bits */
    SEGMENT_HISTOGRAM = 3, /* a slot for each bound and one for what is beyond (how many: not cumulative), then the sum */
};

/* Of a counter, or of the sum of a histogram. */
enum segment_value_type {
    SEGMENT_U64 = 1,
    SEGMENT_F64 = 2,   /* two slots, both to be summed: the second is for handlers of signals */
    SEGMENT_TICKS = 3, /* of a counter: u64 of segment_ticks(), told as seconds */
};

/* Behind it: the bounds (f64, rising), name, labels, unit and help, without NUL; at a multiple of 8 the next one. */
struct segment_descriptor {
    uint32_t bytes; /* with all that */
    uint32_t metric;
    uint8_t kind, type; /* enum segment_metric_kind, enum segment_value_type */
    uint16_t bounds;
    uint32_t name_bytes;
    uint32_t label_bytes; /* a="b",c="d": values escaped as Prometheus does */
    uint32_t unit_bytes;
    uint32_t help_bytes;
    uint32_t rest;
};

static inline uint32_t segment_slot_count(uint32_t kind, uint32_t type, uint32_t bounds)
{
    uint32_t sum = type == SEGMENT_F64 ? 2 : 1;
    return kind == SEGMENT_HISTOGRAM ? bounds + 1 + sum : kind == SEGMENT_COUNTER ? sum : 1;
}

/* A page begins as zeros, and a gauge that was never set is not 0: its slot holds the bits turned so that 0 is a NaN of our own.
 * What a program sets to NaN is not known either. */
#define SEGMENT_GAUGE_UNSET 0x7ff85042d6f6e465ull

static inline uint64_t segment_gauge_bits(double value)
{
    uint64_t bits;
    if (value != value)
        return 0;
    memcpy(&bits, &value, sizeof bits);
    return bits ^ SEGMENT_GAUGE_UNSET;
}

static inline double segment_gauge_value(uint64_t bits) /* NaN: never set */
{
    double value;
    bits ^= SEGMENT_GAUGE_UNSET;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* What SEGMENT_TICKS are counted with. */
#if defined(__x86_64__)
static inline uint64_t segment_ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}
#elif defined(__aarch64__)
static inline uint64_t segment_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#else
#include "base/clock.h"
static inline uint64_t segment_ticks(void)
{
    return clock_monotonic_ns();
}
#endif

#endif
