/* One MPI call passing through a wrapper: enter, time, leave. Its numbers go to the thread's slots in a metrics
 * segment (probe/segment/segment.h). Only the outermost call of a thread counts: calls that MPI makes internally
 * pass through, and so do calls made by callbacks of the program. Handles are tracked in these too (generate.py). */
#ifndef SONDE_PROBE_MPI_CALL_H
#define SONDE_PROBE_MPI_CALL_H

#include "probe/segment/segment.h"
#include "probe/mpi/family.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Generated: pointers to MPI's own functions, real.MPI_Send and so on. */
#ifdef OPEN_MPI
#include <sonde-mpi-real-openmpi.h>
#else
#include <sonde-mpi-real-mpich.h>
#endif

/* The metrics of a function. The generated wrappers pass the mask as a constant, so that offsets become constants. */
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
    uint32_t metric[METRICS]; /* metric numbers; METRIC_CALLS is SEGMENT_METRIC_NONE before the first call */
};
extern struct function_metrics functions[];

extern struct segment call_segment;

enum { CALL_PEERS = 64 };

/* State of a thread, so that a call finds its slots with one lookup (CALL_LEAF depends on the layout). It is
 * allocated with segment_thread_memory: zeroed again in a forked child. */
struct call_thread {
    /* The stack frame from which the thread entered MPI (0: it is outside), and the return address stored there. A
     * call from a deeper frame is made by MPI itself, unless the return address has been overwritten since. So an
     * error handler that leaves MPI by longjmp or an exception has no lasting effect. */
    uintptr_t entry_frame, return_address;
    /* METRIC_CALLS slot of each function, followed by its other metrics; NULL: not looked up yet */
    uint64_t *slots[FUNCTIONS];
    struct call_peer {
        uint64_t key;           /* the rank + 1; 0: none */
        uint64_t *slots;
    } peers[CALL_PEERS];        /* indexed by the lower bits of the rank */
};
_Static_assert(offsetof(struct call_thread, slots) == 16, "as CALL_LEAF has it");
extern SEGMENT_TLS struct call_thread *call_this_thread; /* never NULL: before the first call, an empty one */

#define CALL_NO_RANK (-1)      /* in another world */
#define CALL_UNKNOWN_RANK (-2)
#define CALL_SMALL_BYTES 1024u

struct mpi_call {
    struct call_thread *thread;
    uint32_t function, has;
    uint64_t *slots;         /* METRIC_CALLS slot, followed by the other metrics */
    uint64_t begin, ticks;
    uint64_t end;            /* when work of our own that takes long began; 0: none did */
    uint64_t out, in;        /* bytes */
    uint64_t completed_bytes;        /* bytes of earlier requests that this call completed */
    /* world rank that `out` is sent to; CALL_NO_RANK: none, or of another world; CALL_UNKNOWN_RANK */
    int32_t peer;
    uint32_t messages;       /* sent point to point */
    uint32_t ranks;          /* taking part; 0: point to point */
    uint32_t posted_kind;         /* enum request_kind of the `request` that this call created; 0: none */
    uint32_t token;           /* of the `request` that this call may complete */
    MPI_Request request;
    struct scratch *scratch; /* the same for several requests; NULL: none of them is tracked */
};

struct persistent;

/* One thread at a time adds metrics, so that several get adjacent slots: true locks, false unlocks. */
void call_lock_metrics(bool begin);

/* Adds the metrics of a function, once. */
void call_add_metrics(uint32_t function);

/* Adds what the start of a persistent request implies to the metrics of the function that created it. */
void call_add_persistent(struct mpi_call *call, const struct persistent *persistent);

/* Adds bytes that were finally received (or written) to the metrics of the function that posted the request. */
void call_add_bytes(struct mpi_call *call, uint32_t function, bool is_out, uint64_t bytes);

/* MPI was initialised at this time, if not already (there may be several sessions); MPI is finalised now, for good. */
void call_mpi_started(uint64_t ticks);
void call_mpi_finalized(void);

/* Threads may call concurrently from now on: count them, this one first. */
void call_count_threads(void);

/* Once, before the first call. What is not counted has no metric: a 0 would be wrong. */
void call_init(bool only_counts);

/* The index of a metric among those that the function has. */
#define CALL_PLACE(has, metric) __builtin_popcount((has) & ((1u << (metric)) - 1))

#define CALL_INLINE static inline __attribute__((always_inline))
#define CALL_MOSTLY(condition) __builtin_expect(!!(condition), 1)
#define CALL_RARELY(condition) __builtin_expect(!!(condition), 0)

/* A frame pointer; the word after it is the return address. */
#define CALL_PLACE_ON_STACK ((uintptr_t)__builtin_frame_address(0))
#define CALL_RETURN_ADDRESS(place) (((const volatile uintptr_t *)(place))[1])

/* The calling thread's slots of a function. */
uint64_t *call_find_slots(uint32_t function);

/* For a thread that is inside of MPI or has no slots of the function yet. Returned in two registers; NULL: a nested
 * call, or out of memory. */
struct call_found {
    struct call_thread *thread;
    uint64_t *slots;
};
struct call_found call_find(uint32_t function, uintptr_t here);

CALL_INLINE uint64_t *call_slots(uint32_t function)
{
    uint64_t *slots = call_this_thread->slots[function];
    return CALL_MOSTLY(slots) ? slots : call_find_slots(function);
}

CALL_INLINE void call_mark_inside(struct call_thread *mine)
{
    mine->entry_frame = CALL_PLACE_ON_STACK;
    mine->return_address = CALL_RETURN_ADDRESS(CALL_PLACE_ON_STACK);
}

/* False: a nested call. The time stamp is read first, because it stalls the pipeline: the rest overlaps with the
 * start of the call. */
CALL_INLINE bool call_enter(struct mpi_call *call, uint32_t function, uint32_t has)
{
    uint64_t begin = segment_ticks();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct call_found found = { call_this_thread, call_this_thread->slots[function] };
    if (CALL_RARELY(found.thread->entry_frame || !found.slots)) {
        found = call_find(function, CALL_PLACE_ON_STACK);
        if (!found.slots)
            return false;
        begin = segment_ticks();
    }
    call_mark_inside(found.thread);
    segment_add_u64(found.slots, 1);
    *call = (struct mpi_call){
        .thread = found.thread, .function = function, .has = has, .slots = found.slots, .begin = begin, .peer = CALL_NO_RANK,
    };
    return true;
}

/* Before work of our own that takes long: it does not count as time of the call. */
CALL_INLINE void call_stop_clock(struct mpi_call *call)
{
    if (!call->end)
        call->end = segment_ticks();
}

CALL_INLINE void call_time(struct mpi_call *call)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    call->ticks = (CALL_RARELY(call->end) ? call->end : segment_ticks()) - call->begin;
    segment_add_u64(call->slots + 1, call->ticks);
}

CALL_INLINE void call_leave(const struct mpi_call *call)
{
    call->thread->entry_frame = 0;
}

/* The same without time. */
CALL_INLINE bool call_enter_counting(struct mpi_call *call, uint32_t function)
{
    struct call_found found = { call_this_thread, call_this_thread->slots[function] };
    if (CALL_RARELY(found.thread->entry_frame || !found.slots)) {
        found = call_find(function, CALL_PLACE_ON_STACK);
        if (!found.slots)
            return false;
    }
    call_mark_inside(found.thread);
    segment_add_u64(found.slots, 1);
    call->thread = found.thread;
    return true;
}

/* Counts a call of a leaf function whose thread is inside of MPI or has no slots of it yet. Returns MPI's own
 * function. */
__attribute__((visibility("hidden"))) void (*call_count_slow(unsigned function, uintptr_t here))(void);

#if defined(__x86_64__)
/* A function that calls no other MPI function by name needs no code after the call if only calls are counted: count
 * and jump, with all arguments in place. A compiler would copy those on the stack. */
#define CALL_LEAF(name, number) \
    void leaf_##name(void); \
    __asm__(".text\n.balign 16\n.type leaf_" #name ", @function\nleaf_" #name ":\n.cfi_startproc\n" \
            "movq call_this_thread@gottpoff(%rip), %rax\nmovq %fs:(%rax), %rax\n" \
            "cmpq $0, (%rax)\nmovq 16 + 8 * " #number "(%rax), %rax\njne 1f\n" \
            "testq %rax, %rax\nje 1f\naddq $1, (%rax)\njmp *real + 8 * " #number "(%rip)\n" \
            "1: movl $" #number ", %r11d\njmp leaf_slow\n.cfi_endproc\n.size leaf_" #name ", . - leaf_" #name "\n");

/* Preserves the arguments, none of which is floating point, and passes a frame pointer as C code would have it. */
#define CALL_LEAF_SLOW \
    __asm__(".text\nleaf_slow:\n.cfi_startproc\npushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n" \
            "movq %rsp, %rbp\n.cfi_def_cfa_register %rbp\n" \
            "pushq %rdi\npushq %rsi\npushq %rdx\npushq %rcx\npushq %r8\npushq %r9\n" \
            "movl %r11d, %edi\nmovq %rbp, %rsi\ncall call_count_slow\nmovq %rax, %r11\n" \
            "popq %r9\npopq %r8\npopq %rcx\npopq %rdx\npopq %rsi\npopq %rdi\n" \
            "popq %rbp\n.cfi_def_cfa %rsp, 8\njmp *%r11\n.cfi_endproc\n");
#endif

#endif
