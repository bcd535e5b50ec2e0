/* Names and units of the metric sets. */
#include "model/program_sets.h"

static const struct metric program_counter[] = {
    { "total", "1", COUNTER, F64, "total counted by the programs so far" },
};

static const struct metric program_gauge[] = {
    { "sum", "1", GAUGE, F64, "sum over the running programs" },
    { "min", "1", GAUGE, F64, "minimum over the programs" },
    { "max", "1", GAUGE, F64, "maximum over the programs" },
    { "mean", "1", GAUGE, F64, "sum / programs" },
    { "programs", "1", GAUGE, U64, "running programs that have set it" },
};

static const struct metric mpi[] = {
    { "calls", "1", COUNTER, U64, "calls of the function" },
    { "time", "ns", COUNTER, U64, "time spent in the function" },
    { "bytes_out", "B", COUNTER, U64, "bytes sent" },
    { "bytes_in", "B", COUNTER, U64, "bytes received" },
    { "wait", "ns", COUNTER, U64, "part of the time spent waiting for other ranks" },
    { "small", "1", COUNTER, U64, "messages of less than 1 KiB" },
    { "life", "ns", COUNTER, U64, "between MPI_Init and MPI_Finalize" },
    { "world", "1", GAUGE, U64, "ranks in its MPI_COMM_WORLD" },
    { "threads", "1", GAUGE, U64, "threads that have called MPI (MPI_THREAD_MULTIPLE)" },
};

static const struct metric mpi_peer[] = {
    { "messages", "1", COUNTER, U64, "messages from one rank to the other" },
    { "bytes", "B", COUNTER, U64, "bytes in these messages" },
};

static const struct metric syscall[] = {
    { "calls", "1", COUNTER, U64, "calls that returned" },
    { "errors", "1", COUNTER, U64, "calls that returned an error" },
    { "bytes", "B", COUNTER, U64, "read or written, as the calls returned" },
    { "time", "ns", COUNTER, U64, "between entry and return" },
};

#define BUCKET(i) { "below_2_" #i, "1", COUNTER, U64, "calls that took less than 2^" #i " ns, and at least half of that" }
static const struct metric syscall_time[] = {
    BUCKET(8), BUCKET(9), BUCKET(10), BUCKET(11), BUCKET(12), BUCKET(13), BUCKET(14), BUCKET(15), BUCKET(16), BUCKET(17),
    BUCKET(18), BUCKET(19), BUCKET(20), BUCKET(21), BUCKET(22), BUCKET(23), BUCKET(24), BUCKET(25), BUCKET(26), BUCKET(27),
    BUCKET(28), BUCKET(29), BUCKET(30), { "above", "1", COUNTER, U64, "calls that took longer" },
};
#undef BUCKET

static const struct metric syscall_way[] = {
    { "way", "1", GAUGE, U64, "how system calls are counted from now on: 1 kernel, 2 libc, 3 ptrace, 0 not at all" },
};

#define SET_SIZE(metrics) (sizeof(metrics) / sizeof *(metrics))
_Static_assert(SET_SIZE(program_counter) == PROGRAM_COUNTER_SIZE, "a name for each metric");
_Static_assert(SET_SIZE(program_gauge) == PROGRAM_GAUGE_SIZE, "a name for each metric");
_Static_assert(SET_SIZE(mpi) == MPI_SIZE, "a name for each metric");
_Static_assert(SET_SIZE(mpi_peer) == MPI_PEER_SIZE, "a name for each metric");
_Static_assert(SET_SIZE(syscall) == SYSCALL_SIZE, "a name for each metric");
_Static_assert(SET_SIZE(syscall_time) == SYSCALL_BUCKETS, "a name for each metric");

const struct set program_counter_set = { "program_counter", program_counter, SET_SIZE(program_counter), "metric" };
const struct set program_gauge_set = { "program_gauge", program_gauge, SET_SIZE(program_gauge), "metric" };
const struct set mpi_set = { "mpi", mpi, SET_SIZE(mpi), "function" };
const struct set mpi_peer_set = { "mpi_peer", mpi_peer, SET_SIZE(mpi_peer), "ranks" };
const struct set syscall_set = { "syscall", syscall, SET_SIZE(syscall), "call" };
const struct set syscall_time_set = { "syscall_time", syscall_time, SET_SIZE(syscall_time), "call" };
const struct set syscall_way_set = { "syscall_way", syscall_way, SET_SIZE(syscall_way), NULL };

void program_sets_add_way(struct batch *out, uint64_t time_ns, enum syscall_way way)
{
    struct sample *sample = batch_add(out, &syscall_way_set, time_ns, "");
    if (sample)
        sample_set_u64(sample, 0, way);
}
