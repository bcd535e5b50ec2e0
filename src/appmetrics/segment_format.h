/* The format of a metrics segment: a file in /dev/shm in which a program publishes its numbers.
 * probe/segment/segment.c writes it inside the program; segment_reader.c reads it from outside, at each tick and once
 * more when the program has ended. Everything is in the byte order of the node, and in pages of 4096 bytes: first the
 * header, then blocks of pages. */
#ifndef SONDE_APPMETRICS_SEGMENT_FORMAT_H
#define SONDE_APPMETRICS_SEGMENT_FORMAT_H

#include "base/hash.h"

#include <stdint.h>
#include <string.h>

#define SEGMENT_DIR "/dev/shm"
#define SEGMENT_PREFIX "sonde."         /* of a name: sonde.<pid>.<library>.<16 hex digits>[.<socket>] */
#define SEGMENT_FROM_RUN "sonde.r"      /* of the name of one that a run has left to an agent: sonde.r<pid>... */
#define SEGMENT_ENV_DIR "SONDE_BOARDS"  /* another directory: sonde run gives one to its command */
#define SEGMENT_ENV_SOCKET "TAU_METRIC_PROXY" /* of an agent, which may read only segments that name its socket */
#define SEGMENT_RUN_PREFIX "sonde-run." /* of the directory of a run: sonde-run.<uid>.<random>, in SEGMENT_DIR */
#define SEGMENT_CLAIM_LASTS_S 600       /* a claim that is not locked, but was touched this recently: the agent restarts */

/* A file in SEGMENT_DIR by which an agent claims segments, so that programs leave them behind when they end:
 * "sonde-agent" for those of the node, "sonde-agent.<uid>" for those of a user, "sonde-agent.<uid>.<socket>" for those
 * that name the socket of the agent. The agent holds a write lock on it (fcntl, F_OFD_SETLK) and touches it now and
 * then. */
#define SEGMENT_CLAIM "sonde-agent"

#define SEGMENT_MAGIC "SondeBrd"
#define SEGMENT_VERSION 1u
#define SEGMENT_PAGE 4096u
#define SEGMENT_BYTES_MAX (256u << 20)
#define SEGMENT_STRING_MAX 65535u /* of a name, its labels, its unit, its help string */
#define SEGMENT_NAME_MAX 32768u   /* of name{labels}, values escaped, for readers */

/* A chunk is a page of 512 slots of 8 bytes; the first 8 are its head. The number of a metric tells where its slots
 * are in the chunks of each thread: (chunk << 9) + first slot. Chunk 0 does not exist: metrics without a place are
 * counted there. */
#define SEGMENT_CHUNK_SHIFT 9u
#define SEGMENT_CHUNK_SLOTS (1u << SEGMENT_CHUNK_SHIFT)
#define SEGMENT_HEAD_SLOTS 8u
#define SEGMENT_CHUNKS_MAX (SEGMENT_BYTES_MAX / SEGMENT_PAGE)
#define SEGMENT_SLOTS_MAX (SEGMENT_CHUNK_SLOTS - SEGMENT_HEAD_SLOTS)
#define SEGMENT_BOUNDS_MAX (SEGMENT_SLOTS_MAX - 3)
#define SEGMENT_METRIC_NONE 0u

/* A socket in names of segments and claims: the hash of its path, in hexadecimal digits. */
#define SEGMENT_SOCKET_SIZE 17
static inline uint64_t segment_socket_hash(const char *path)
{
    return hash_add_text(HASH_START, path) | 1ull << 63;
}

/* The socket at the end of the name of a segment, which may be any string; "": none. */
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
    uint64_t bytes;       /* of the file, which is sparse */
    uint64_t pages;       /* in use, this one included; what follows them is not ready */
    uint64_t lost;        /* metrics and chunks for which there was no memory */
    int32_t pid;          /* as the program sees it, in its own pid namespace */
    int32_t rank, size;   /* of MPI_COMM_WORLD; -1: none */
    uint32_t threads;     /* peak number of threads that have counted */
    uint64_t pid_space;   /* inode of the pid namespace; 0: unknown */
    uint64_t start_ticks; /* of the process: field 22 of /proc/PID/stat; 0: unknown */
    uint64_t exe_device, exe_inode; /* of the executable: another one after exec */
    uint64_t ticks;       /* of segment_ticks() at the time monotonic_ns; with another such pair, which the reader takes, */
    uint64_t monotonic_ns; /* ... ticks become seconds */
    uint64_t realtime_ns; /* when the segment was created */
    char library[32];     /* that writes it: "sonde", "mpi", "calls" */
    char job[128];        /* from the environment; empty: none */
    char command[512];    /* arguments separated by blanks, cut */
    int32_t subject_pid;  /* the process that the numbers are about, if it is not the writer; 0: it is. Accepted from root */
    uint32_t subject_uid; /* ... and from the user of that process, which this is */
    uint64_t program;     /* of MPI: the same for all processes that a launcher has started on this node; 0: unknown */
    uint64_t ended_ns;    /* CLOCK_REALTIME, when the state became SEGMENT_ENDED; 0: not yet */
    uint32_t world;       /* of MPI: 0, or which one of those that the program has spawned */
    int32_t parent_pid;   /* as the program sees it: identifies the job when the program has ended. 0: unknown */
    char rest[3280];
};
_Static_assert(sizeof(struct segment_header) == SEGMENT_PAGE, "the header is a page");

enum segment_block_kind { SEGMENT_BLOCK_DESCRIPTORS = 1, SEGMENT_BLOCK_CHUNK = 2 };

/* The head of a block of pages. Readers skip kinds that they do not know. */
struct segment_block {
    uint32_t kind;
    uint32_t pages;
    uint32_t chunk;  /* the number of a chunk. Threads have chunks of the same number: their sum is the value */
    uint32_t thread; /* to which the chunk belongs, or belonged; 0: the process as a whole, for gauges */
    uint64_t used;   /* of descriptors: bytes, this head included */
    uint64_t rest[5];
};
_Static_assert(sizeof(struct segment_block) == SEGMENT_HEAD_SLOTS * 8, "the head takes the first slots");

enum segment_metric_kind {
    SEGMENT_COUNTER = 1,
    SEGMENT_GAUGE = 2,     /* one slot, SEGMENT_F64, see segment_gauge_bits */
    SEGMENT_HISTOGRAM = 3, /* a slot for each bound and one for what is above (not cumulative), then the sum */
};

/* Of a counter, or of the sum of a histogram. */
enum segment_value_type {
    SEGMENT_U64 = 1,
    SEGMENT_F64 = 2,   /* two slots, of which the sum counts: the second one is for signal handlers */
    SEGMENT_TICKS = 3, /* of a counter: u64 of segment_ticks(), reported as seconds */
};

/* Followed by the bounds (f64, rising), name, labels, unit and help, without NUL; the next one is at a multiple of 8. */
struct segment_descriptor {
    uint32_t bytes; /* of all this */
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

/* A page begins with zeros, but a gauge that was never set is not 0: its slot has the bits of the value XOR those of a
 * NaN. A gauge that is set to NaN is unset. */
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

/* The clock of SEGMENT_TICKS. */
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
