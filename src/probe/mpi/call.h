/* A call of MPI on its way through a wrapper: entered, timed, left. Its numbers go to the thread's own slots of the
 * board (probe/segment/segment.h). Only the outermost call of a thread counts: what MPI calls within itself passes
 * through, and so does what a function of the program calls that MPI has called. Their handles are followed to their
 * end all the same (generate.py). */
#ifndef SONDE_PROBE_MPI_CALL_H
#define SONDE_PROBE_MPI_CALL_H

#include "probe/segment/segment.h"
#include "probe/mpi/family.h"

#include <stdbool.h>
#include <stddef.h>
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

enum { CALL_PEERS = 64 };

/* What a thread knows of itself, so that a call finds its slots with one look (CALL_LEAF knows where they are). It is memory of
 * the board (board_own): in a child of fork it is empty again. */
struct call_thread {
    /* Where on its stack the thread entered MPI, 0: it is outside; and what stands there, the address that MPI returns to. A call
     * from below is one of MPI itself, unless something else stands there by now. So an error handler that jumps out of MPI, or
     * throws an exception, leaves nothing behind that matters for long. */
    uintptr_t inside, back;
    uint64_t *slots[FUNCTIONS]; /* of the calls of each function, the others stand behind it; NULL: not asked yet */
    struct call_peer {
        uint64_t key;           /* the rank and 1; 0: none */
        uint64_t *slots;
    } peers[CALL_PEERS];        /* by the lower bits of the rank */
};
_Static_assert(offsetof(struct call_thread, slots) == 16, "as CALL_LEAF has it");
extern BOARD_TLS struct call_thread *call_mine; /* never NULL: of a thread that has not called yet one that is empty */

#define CALL_NO_RANK (-1)      /* one of another world */
#define CALL_UNKNOWN_RANK (-2)
#define CALL_SMALL_BYTES 1024u

struct call {
    struct call_thread *mine;
    uint32_t function, has;
    uint64_t *slots;         /* of the calls; the others stand behind it */
    uint64_t begin, ticks;
    uint64_t end;            /* when it was known that our own work would take long; 0: it did not */
    uint64_t out, in;        /* bytes */
    uint64_t arrived;        /* bytes of requests of others that ended in this call */
    int32_t peer;            /* rank of the world that out goes to; CALL_NO_RANK: none, or of another world; CALL_UNKNOWN_RANK */
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
void call_add_for(struct call *call, const struct persistent *persistent);

/* Adds bytes that were received (or written) at last to the slots of the function that posted them. */
void call_add_bytes(struct call *call, uint32_t function, bool is_out, uint64_t bytes);

/* MPI begins at these ticks, if it has not yet (sessions may be many); it has ended: now, and never again. */
void call_begin_life(uint64_t ticks);
void call_end_life(void);

/* Threads may call side by side from now on: they are counted, this one first. */
void call_share(void);

/* Once, before the first call. What is not counted has no metric: a 0 would say that there was nothing. */
void call_choose(bool counts_alone);

/* The place of a metric among those that the function has. */
#define CALL_PLACE(has, metric) __builtin_popcount((has) & ((1u << (metric)) - 1))

#define CALL_INLINE static inline __attribute__((always_inline))
#define CALL_MOSTLY(condition) __builtin_expect(!!(condition), 1)
#define CALL_RARELY(condition) __builtin_expect(!!(condition), 0)

/* Of a frame, whose second word is the address that it returns to. */
#define CALL_PLACE_ON_STACK ((uintptr_t)__builtin_frame_address(0))
#define CALL_BACK(place) (((const volatile uintptr_t *)(place))[1])

/* The calling thread's slots of a function. */
uint64_t *call_find_slots(uint32_t function);

/* For a thread that is inside or has no slots of the function yet. In two registers; NULL: it is a call within another one, or
 * there is no memory. */
struct call_found {
    struct call_thread *mine;
    uint64_t *slots;
};
struct call_found call_find(uint32_t function, uintptr_t here);

CALL_INLINE uint64_t *call_slots(uint32_t function)
{
    uint64_t *slots = call_mine->slots[function];
    return CALL_MOSTLY(slots) ? slots : call_find_slots(function);
}

CALL_INLINE void call_go_inside(struct call_thread *mine)
{
    mine->inside = CALL_PLACE_ON_STACK;
    mine->back = CALL_BACK(CALL_PLACE_ON_STACK);
}

/* False: a call within another one. The time is taken first of all: reading it keeps the processor from going on, whereas what
 * comes behind runs beside the beginning of the call. */
CALL_INLINE bool call_enter(struct call *call, uint32_t function, uint32_t has)
{
    uint64_t begin = board_ticks();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct call_found found = { call_mine, call_mine->slots[function] };
    if (CALL_RARELY(found.mine->inside || !found.slots)) {
        found = call_find(function, CALL_PLACE_ON_STACK);
        if (!found.slots)
            return false;
        begin = board_ticks();
    }
    call_go_inside(found.mine);
    board_add_u64(found.slots, 1);
    *call = (struct call){
        .mine = found.mine, .function = function, .has = has, .slots = found.slots, .begin = begin, .peer = CALL_NO_RANK,
    };
    return true;
}

/* Before something of our own that takes long: it does not belong to the call. */
CALL_INLINE void call_stop(struct call *call)
{
    if (!call->end)
        call->end = board_ticks();
}

CALL_INLINE void call_time(struct call *call)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    call->ticks = (CALL_RARELY(call->end) ? call->end : board_ticks()) - call->begin;
    board_add_u64(call->slots + 1, call->ticks);
}

CALL_INLINE void call_leave(const struct call *call)
{
    call->mine->inside = 0;
}

/* The same without the time. */
CALL_INLINE bool call_enter_counting(struct call *call, uint32_t function)
{
    struct call_found found = { call_mine, call_mine->slots[function] };
    if (CALL_RARELY(found.mine->inside || !found.slots)) {
        found = call_find(function, CALL_PLACE_ON_STACK);
        if (!found.slots)
            return false;
    }
    call_go_inside(found.mine);
    board_add_u64(found.slots, 1);
    call->mine = found.mine;
    return true;
}

/* Counts a call of a leaf whose thread is inside or has no slots of the function yet. Returns MPI's own function. */
__attribute__((visibility("hidden"))) void (*call_late(unsigned function, uintptr_t here))(void);

#if defined(__x86_64__)
/* A function that calls nothing of MPI by name needs no way back where calls alone are counted: it is counted and jumped to, and
 * its arguments stay where they are. A compiler would load and store all of those that are on the stack. */
#define CALL_LEAF(name, number) \
    void leaf_##name(void); \
    __asm__(".text\n.balign 16\n.type leaf_" #name ", @function\nleaf_" #name ":\n.cfi_startproc\n" \
            "movq call_mine@gottpoff(%rip), %rax\nmovq %fs:(%rax), %rax\n" \
            "cmpq $0, (%rax)\nmovq 16 + 8 * " #number "(%rax), %rax\njne 1f\n" \
            "testq %rax, %rax\nje 1f\naddq $1, (%rax)\njmp *real + 8 * " #number "(%rip)\n" \
            "1: movl $" #number ", %r11d\njmp leaf_late\n.cfi_endproc\n.size leaf_" #name ", . - leaf_" #name "\n");

/* Keeps the arguments, none of which is a floating-point number, and tells where a frame of C would be. */
#define CALL_LEAF_LATE \
    __asm__(".text\nleaf_late:\n.cfi_startproc\npushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n" \
            "movq %rsp, %rbp\n.cfi_def_cfa_register %rbp\n" \
            "pushq %rdi\npushq %rsi\npushq %rdx\npushq %rcx\npushq %r8\npushq %r9\n" \
            "movl %r11d, %edi\nmovq %rbp, %rsi\ncall call_late\nmovq %rax, %r11\n" \
            "popq %r9\npopq %r8\npopq %rcx\npopq %rdx\npopq %rsi\npopq %rdi\n" \
            "popq %rbp\n.cfi_def_cfa %rsp, 8\njmp *%r11\n.cfi_endproc\n");
#endif

#endif
