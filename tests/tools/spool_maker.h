/* Spools made of records in memory, for tests of what reads them; and a short way to ask what became of them. */
#ifndef SONDE_TESTS_TOOLS_SPOOL_MAKER_H
#define SONDE_TESTS_TOOLS_SPOOL_MAKER_H

#include "merge/merge.h"
#include "spool/frame.h"

#define MAKER_RUN_PID 100
#define MAKER_START_NS 1000000000000ull

/* Times in tests: ms after the run's start. */
#define AT(ms) (MAKER_START_NS + (uint64_t)((ms) * 1000000.0))

struct spool_maker {
    struct buf buf;
};

void spool_maker_init(struct spool_maker *maker); /* with a run record whose pid is MAKER_RUN_PID */
void spool_maker_init_empty(struct spool_maker *maker);
void spool_maker_clear(struct spool_maker *maker);

/* void spool_maker_image(struct spool_maker *, const struct image_record *), …: appends one record in its frame. */
#define X(number, name, fields) \
    void spool_maker_##name(struct spool_maker *maker, const struct name##_record *record);
RECORD_KINDS(X)
#undef X

/* spool_add(maker, image, .pid = 5, .time_ns = AT(3)) */
#define spool_add(maker, kind, ...) spool_maker_##kind(maker, &(struct kind##_record){ __VA_ARGS__ })

/* A text with the NULs that are in it, also the last: TEXT("ls\0-l"). */
#define TEXT(text) ((struct bytes){ text, sizeof(text) })
#define PATH(text) ((struct bytes){ text, sizeof(text) - 1 })

/* What getrusage tells of some CPU time: the other numbers follow from it. */
struct counters usage_us(uint64_t user_us, uint64_t system_us);

/* Names and values in turn, COUNTERS_SIZE at the end. */
struct counters counters_with(enum counter first, uint64_t value, ...);

/* Shorter still, for the common ones. Each has CPU time as its only number. */
void spool_fork(struct spool_maker *maker, uint32_t pid, uint32_t ppid, double ms);
void spool_image(struct spool_maker *maker, uint32_t pid, uint32_t ppid, double ms, const char *path);
void spool_exec(struct spool_maker *maker, uint32_t pid, double ms, const char *path, uint64_t self_us);
void spool_end(struct spool_maker *maker, uint32_t pid, double ms, uint64_t self_us, uint64_t children_us);
void spool_wait(struct spool_maker *maker, uint32_t waiter, uint32_t pid, double ms, int status, uint64_t usage_us);
void spool_kernel_fork(struct spool_maker *maker, uint32_t pid, uint32_t ppid, double ms);
void spool_kernel_exec(struct spool_maker *maker, uint32_t pid, double ms, const char *path);
void spool_kernel_exit(struct spool_maker *maker, uint32_t pid, double ms, int status);
void spool_taskstats(struct spool_maker *maker, uint32_t pid, uint32_t ppid, double start_ms, double end_ms, uint64_t us);
void spool_run_end(struct spool_maker *maker, double ms, uint64_t total_us);

/* Merges; the test fails when it cannot. merged borrows from maker. */
void spool_merge(const struct spool_maker *maker, struct merged *merged);

/* The process record; the test fails when there is none, or more than one. */
const struct process *run_process(const struct run *run, uint32_t pid, uint32_t image);

/* How many records have this pid. */
size_t run_count(const struct run *run, uint32_t pid);

/* Fails unless pre-order, last, parents and inclusive times are right for every process. */
void run_check_tree(const struct run *run);

#endif
