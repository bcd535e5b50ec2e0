/* A call of MPI on its way through a wrapper: entered, timed, left. Its numbers go to the thread's own slots of the board
 * (probe/board.h). Only the outermost call of a thread counts: what MPI calls within itself passes through. */
#ifndef SONDE_PROBE_MPI_CALL_H
#define SONDE_PROBE_MPI_CALL_H

#include "probe/board.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Generated: MPI's own functions, real.MPI_Send and so on. */
#ifdef OPEN_MPI
#include <sonde-mpi-real-openmpi.h>
#else
#include <sonde-mpi-real-mpich.h>
#endif

/* What a function has numbers of. The generated wrappers know it, so that places become constants. */
enum { METRIC_CALLS, METRIC_TICKS, METRIC_OUT, METRIC_IN, METRIC_WAIT, METRIC_SMALL, METRICS };
enum {
    HAS_CALLS = 1 << METRIC_CALLS | 1 << METRIC_TICKS,
    HAS_OUT = 1 << METRIC_OUT,
    HAS_IN = 1 << METRIC_IN,
    HAS_WAIT = 1 << METRIC_WAIT,
    HAS_SMALL = 1 << METRIC_SMALL,
};

struct function_metrics {
    const char *name;
    uint32_t has;
    uint32_t metric[METRICS]; /* numbers on the board; that of the calls is BOARD_NONE before the first call */
};
extern struct function_metrics functions[];

extern struct board call_board;

/* Where on its stack a thread entered MPI; 0: it is outside. A call from below there is one of MPI itself. A place instead
 * of a number of levels, so that an error handler that jumps out of MPI leaves nothing behind that matters for long. */
extern BOARD_TLS uintptr_t call_inside;

#define CALL_NO_RANK (-1)
#define CALL_SMALL_BYTES 1024u

struct call {
    uint32_t function, has;
    uint64_t *slots;         /* of the calls; the others stand behind it */
    uint64_t begin, ticks;
    uint64_t out, in;        /* bytes */
    uint64_t arrived;        /* bytes of requests of others that ended in this call */
    int32_t peer;            /* rank of the world that out goes to; CALL_NO_RANK: none, or not in the world */
    uint32_t messages;       /* sent, one to one */
    uint32_t ranks;          /* that take part; 0: one to one */
    uint32_t posted;         /* enum request_kind of the request kept, which the call has made; 0: none */
    uint32_t note;           /* of the request kept, which the call may end */
    MPI_Request kept;
    struct scratch *scratch; /* the same of many; NULL: none of them is followed */
};

struct persistent;

/* One thread at a time makes metrics, so that several get places side by side: true at the begin, false at the end. */
void call_describe_alone(bool begin);

/* Makes the metrics of a function, once. */
void call_describe(uint32_t function);

/* Adds what a start of a persistent request means to the slots of the function that made it. */
void call_add_for(const struct persistent *persistent);

/* Adds bytes that were received (or written) at last to the slots of the function that posted them. */
void call_add_bytes(struct call *call, uint32_t function, bool is_out, uint64_t bytes);

/* MPI begins at these ticks; it has ended: now, and never again. */
void call_begin_life(uint64_t ticks);
void call_end_life(void);

/* Once, when all functions of MPI are known. */
void call_choose(void);

/* The place of a metric among those that the function has. */
#define CALL_PLACE(has, metric) __builtin_popcount((has) & ((1u << (metric)) - 1))

#define CALL_INLINE static inline __attribute__((always_inline))

CALL_INLINE uint64_t *call_slots(uint32_t function)
{
    if (__builtin_expect(functions[function].metric[METRIC_CALLS] == BOARD_NONE, 0))
        call_describe(function);
    return board_slots(&call_board, functions[function].metric[METRIC_CALLS]);
}

/* False: MPI calls itself. */
CALL_INLINE bool call_enter(struct call *call, uint32_t function, uint32_t has)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (__builtin_expect(here < call_inside, 0))
        return false;
    call_inside = here;
    *call = (struct call){ .function = function, .has = has, .slots = call_slots(function), .peer = CALL_NO_RANK };
    board_add_u64(call->slots, 1);
    call->begin = board_ticks();
    return true;
}

CALL_INLINE void call_time(struct call *call)
{
    call->ticks = board_ticks() - call->begin;
    board_add_u64(call->slots + 1, call->ticks);
}

CALL_INLINE void call_leave(void)
{
    call_inside = 0;
}

CALL_INLINE bool call_enter_counting(uint32_t function)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (__builtin_expect(here < call_inside, 0))
        return false;
    call_inside = here;
    board_add_u64(call_slots(function), 1);
    return true;
}

#endif
