/* Metrics of the MPI functions, and what is added to them after a call. */
#include "probe/mpi/call.h"

#include "base/sys.h"
#include "probe/mpi/peers.h"
#include "probe/mpi/requests.h"
#include "probe/mpi/wait.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#define STACK_NEAR 32768u

struct segment call_segment;
static struct call_thread nobody;
SEGMENT_TLS struct call_thread *call_this_thread = &nobody;

static const struct {
    const char *name, *unit, *help;
    enum segment_value_type type;
} metrics[METRICS] = {
    [METRIC_CALLS] = { "mpi_calls_total", NULL, "Calls of the function", SEGMENT_U64 },
    [METRIC_TICKS] = { "mpi_seconds_total", "seconds", "Time spent in it", SEGMENT_TICKS },
    [METRIC_OUT] = { "mpi_sent_bytes_total", "bytes", "Bytes sent to other ranks, or written", SEGMENT_U64 },
    [METRIC_IN] = { "mpi_received_bytes_total", "bytes", "Bytes actually received, or read", SEGMENT_U64 },
    [METRIC_WAIT] = { "mpi_wait_seconds_total", "seconds", "Part of its time spent waiting for other ranks", SEGMENT_TICKS },
    [METRIC_SMALL] = { "mpi_small_messages_total", NULL, "Point-to-point messages of less than 1024 bytes", SEGMENT_U64 },
};

static char describing;

void call_lock_metrics(bool begin)
{
    while (begin && __atomic_test_and_set(&describing, __ATOMIC_ACQUIRE))
        sched_yield();
    if (!begin)
        __atomic_clear(&describing, __ATOMIC_RELEASE);
}

static uint32_t describe(const char *function, unsigned metric)
{
    char labels[128];
    snprintf(labels, sizeof labels, "function=\"%s\"", function);
    return segment_metric(&call_segment, &(struct segment_description){
        .name = metrics[metric].name, .labels = labels, .unit = metrics[metric].unit, .help = metrics[metric].help,
        .kind = SEGMENT_COUNTER, .type = metrics[metric].type,
    });
}

/* If one metric of a function does not fit, none of them is recorded. */
void call_add_metrics(uint32_t function)
{
    struct function_metrics *mine = &functions[function];
    uint32_t made[METRICS] = { 0 }, first = SEGMENT_METRIC_NONE;
    call_lock_metrics(true);
    segment_keep_adjacent(&call_segment, METRICS);
    for (unsigned i = 0; i < METRICS; i++)
        if (mine->has & 1u << i) {
            made[i] = describe(mine->name, i);
            first = i == METRIC_CALLS ? made[i] : made[i] == SEGMENT_METRIC_NONE ? SEGMENT_METRIC_NONE : first;
        }
    for (unsigned i = METRIC_TICKS; i < METRICS; i++)
        mine->metric[i] = made[i];
    __atomic_store_n(&mine->metric[METRIC_CALLS], first, __ATOMIC_RELEASE);
    call_lock_metrics(false);
}

uint64_t *call_find_slots(uint32_t function)
{
    if (functions[function].metric[METRIC_CALLS] == SEGMENT_METRIC_NONE)
        call_add_metrics(function);
    return segment_slots(&call_segment, functions[function].metric[METRIC_CALLS]);
}

static uint32_t threads_metric; /* SEGMENT_METRIC_NONE: MPI calls are serialised */

static void count_thread(void)
{
    uint32_t metric = __atomic_load_n(&threads_metric, __ATOMIC_ACQUIRE);
    if (metric != SEGMENT_METRIC_NONE)
        segment_add_u64(segment_slots(&call_segment, metric), 1);
}

/* A thread that reuses the entry of one that ended inside of MPI is outside nevertheless. */
static struct call_thread *find_mine(void)
{
    struct call_thread *mine = segment_thread_memory(&call_segment, sizeof *mine);
    if (mine && mine != call_this_thread) {
        mine->entry_frame = 0;
        call_this_thread = mine;
        count_thread();
    }
    return mine;
}

void call_count_threads(void)
{
    if (threads_metric != SEGMENT_METRIC_NONE)
        return;
    uint32_t metric = segment_metric(&call_segment, &(struct segment_description){
        .name = "mpi_threads_total", .kind = SEGMENT_COUNTER, .type = SEGMENT_U64,
        .help = "Threads that have called MPI, if concurrent calls are allowed",
    });
    __atomic_store_n(&threads_metric, metric, __ATOMIC_RELEASE);
    count_thread();
}

/* A stack allocated by the program may be gone together with a call that did not return. A frame as near as MPI's
 * stack is deep is on our own stack, and not worth a system call. rt_sigprocmask with an invalid operation makes the
 * kernel read the memory and return EINVAL. */
static bool is_readable(uintptr_t here, uintptr_t place)
{
    return place - here < STACK_NEAR || sys4(SYS_rt_sigprocmask, -1, place, NULL, sizeof(uint64_t)) == -EINVAL;
}

/* Is the call that the thread entered from there still running? */
__attribute__((no_sanitize("address"))) static bool is_within(uintptr_t here, const struct call_thread *mine)
{
    return here < mine->entry_frame && is_readable(here, (uintptr_t)&CALL_RETURN_ADDRESS(mine->entry_frame))
        && CALL_RETURN_ADDRESS(mine->entry_frame) == mine->return_address;
}

struct call_found call_find(uint32_t function, uintptr_t here)
{
    struct call_thread *mine = is_within(here, call_this_thread) ? NULL : find_mine();
    if (!mine)
        return (struct call_found){ NULL, NULL };
    if (!mine->slots[function])
        mine->slots[function] = call_find_slots(function);
    return (struct call_found){ mine, mine->slots[function] };
}

void (*call_count_slow(unsigned function, uintptr_t here))(void)
{
    struct call_found found = call_find(function, here);
    if (found.slots) {
        found.thread->entry_frame = 0;
        segment_add_u64(found.slots, 1);
    }
    return ((void (**)(void))(void *)&real)[function];
}

static uint64_t init_ticks; /* 0: MPI is not initialised, or finalised */

/* In a forked child, which does not take part in MPI. */
static void forget(void)
{
    call_this_thread = &nobody;
    init_ticks = 0;
}

/* Where the kernel does not zero the segment's private memory in a forked child, the child must not use it. */
void call_init(bool only_counts)
{
    for (unsigned i = 0; only_counts && i < FUNCTIONS; i++)
        functions[i].has = 1u << METRIC_CALLS;
    segment_open(&call_segment, "mpi");
    pthread_atfork(NULL, NULL, forget);
    wait_calibrate();
}

void call_mpi_started(uint64_t ticks)
{
    uint64_t none = 0;
    __atomic_compare_exchange_n(&init_ticks, &none, ticks, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void call_mpi_finalized(void)
{
    uint64_t begin = __atomic_exchange_n(&init_ticks, 0, __ATOMIC_RELAXED);
    if (!begin)
        return;
    uint32_t metric = segment_metric(&call_segment, &(struct segment_description){
        .name = "mpi_life_seconds_total", .unit = "seconds", .help = "Time between MPI_Init and MPI_Finalize",
        .kind = SEGMENT_COUNTER, .type = SEGMENT_TICKS,
    });
    segment_add_u64(segment_slots(&call_segment, metric), segment_ticks() - begin);
}

__attribute__((destructor)) static void end(void)
{
    call_mpi_finalized();
    segment_end(&call_segment);
}

/* CALL_PLACE for values unknown at build time, without popcount, which old processors lack. */
CALL_INLINE unsigned place_of(uint32_t has, unsigned metric)
{
    unsigned place = 0;
    for (unsigned i = 0; i < metric; i++)
        place += has >> i & 1;
    return place;
}

/* Adds to another function than the one being called. */
CALL_INLINE void add_to(uint32_t function, unsigned metric, uint64_t value)
{
    uint64_t *slots = call_slots(function);
    segment_add_u64(slots + place_of(functions[function].has, metric), value);
}

void call_add_persistent(struct mpi_call *call, const struct persistent *persistent)
{
    if (persistent->out)
        add_to(persistent->function, METRIC_OUT, persistent->out);
    if (persistent->in)
        add_to(persistent->function, METRIC_IN, persistent->in);
    if (!persistent->messages)
        return;
    if (persistent->out < CALL_SMALL_BYTES)
        add_to(persistent->function, METRIC_SMALL, 1);
    peers_add(call, persistent->peer, persistent->out);
}

void call_add_bytes(struct mpi_call *call, uint32_t function, bool is_out, uint64_t bytes)
{
    call->completed_bytes += bytes;
    if (is_out)
        add_to(function, METRIC_OUT, bytes);
    else
        add_to(function, METRIC_IN, bytes);
}
