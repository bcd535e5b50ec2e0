/* Metrics of functions, and the sums behind a call. */
#include "probe/mpi/call.h"

#include "base/sys.h"
#include "probe/mpi/peers.h"
#include "probe/mpi/requests.h"
#include "probe/mpi/wait.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#define STACK_NEAR 32768u

struct board call_board;
static struct call_thread nobody;
BOARD_TLS struct call_thread *call_mine = &nobody;

static const struct {
    const char *name, *unit, *help;
    enum board_type type;
} metrics[METRICS] = {
    [METRIC_CALLS] = { "mpi_calls_total", NULL, "Calls of the function", BOARD_U64 },
    [METRIC_TICKS] = { "mpi_seconds_total", "seconds", "Time spent in it", BOARD_TICKS },
    [METRIC_OUT] = { "mpi_sent_bytes_total", "bytes", "Bytes handed over to others, or written", BOARD_U64 },
    [METRIC_IN] = { "mpi_received_bytes_total", "bytes", "Bytes really received, or read", BOARD_U64 },
    [METRIC_WAIT] = { "mpi_wait_seconds_total", "seconds", "Of its time, waiting for other ranks", BOARD_TICKS },
    [METRIC_SMALL] = { "mpi_small_messages_total", NULL, "Messages of less than 1024 bytes, one to one", BOARD_U64 },
};

static char describing;

void call_describe_alone(bool begin)
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
    return board_metric(&call_board, &(struct board_description){
        .name = metrics[metric].name, .labels = labels, .unit = metrics[metric].unit, .help = metrics[metric].help,
        .kind = BOARD_COUNTER, .type = metrics[metric].type,
    });
}

/* Without room all numbers of the function go nowhere together. */
void call_describe(uint32_t function)
{
    struct function_metrics *mine = &functions[function];
    uint32_t made[METRICS] = { 0 }, first = BOARD_NONE;
    call_describe_alone(true);
    board_keep_together(&call_board, METRICS);
    for (unsigned i = 0; i < METRICS; i++)
        if (mine->has & 1u << i) {
            made[i] = describe(mine->name, i);
            first = i == METRIC_CALLS ? made[i] : made[i] == BOARD_NONE ? BOARD_NONE : first;
        }
    for (unsigned i = METRIC_TICKS; i < METRICS; i++)
        mine->metric[i] = made[i];
    __atomic_store_n(&mine->metric[METRIC_CALLS], first, __ATOMIC_RELEASE);
    call_describe_alone(false);
}

uint64_t *call_find_slots(uint32_t function)
{
    if (functions[function].metric[METRIC_CALLS] == BOARD_NONE)
        call_describe(function);
    return board_slots(&call_board, functions[function].metric[METRIC_CALLS]);
}

static uint32_t threads_metric; /* BOARD_NONE: threads call one after another, if at all */

static void count_thread(void)
{
    uint32_t metric = __atomic_load_n(&threads_metric, __ATOMIC_ACQUIRE);
    if (metric != BOARD_NONE)
        board_add_u64(board_slots(&call_board, metric), 1);
}

/* One that took the place of a thread that ended inside is outside all the same. */
static struct call_thread *find_mine(void)
{
    struct call_thread *mine = board_own(&call_board, sizeof *mine);
    if (mine && mine != call_mine) {
        mine->inside = 0;
        call_mine = mine;
        count_thread();
    }
    return mine;
}

void call_share(void)
{
    if (threads_metric != BOARD_NONE)
        return;
    uint32_t metric = board_metric(&call_board, &(struct board_description){
        .name = "mpi_threads_total", .kind = BOARD_COUNTER, .type = BOARD_U64,
        .help = "Threads that have called MPI, where several may at a time",
    });
    __atomic_store_n(&threads_metric, metric, __ATOMIC_RELEASE);
    count_thread();
}

/* A stack that the program has made itself may have gone with the call that did not return; one that is as near as MPI is deep
 * is our own, and no reason for a system call in the program's name. The kernel reads the set of signals, and then finds that
 * there is no such thing to do with it. */
static bool is_readable(uintptr_t here, uintptr_t place)
{
    return place - here < STACK_NEAR || sys4(SYS_rt_sigprocmask, -1, place, NULL, sizeof(uint64_t)) == -EINVAL;
}

/* Is the call still running that the thread made from there? */
__attribute__((no_sanitize("address"))) static bool is_within(uintptr_t here, const struct call_thread *mine)
{
    return here < mine->inside && is_readable(here, (uintptr_t)&CALL_BACK(mine->inside))
        && CALL_BACK(mine->inside) == mine->back;
}

struct call_found call_find(uint32_t function, uintptr_t here)
{
    struct call_thread *mine = is_within(here, call_mine) ? NULL : find_mine();
    if (!mine)
        return (struct call_found){ NULL, NULL };
    if (!mine->slots[function])
        mine->slots[function] = call_find_slots(function);
    return (struct call_found){ mine, mine->slots[function] };
}

void (*call_late(unsigned function, uintptr_t here))(void)
{
    struct call_found found = call_find(function, here);
    if (found.slots) {
        found.mine->inside = 0;
        board_add_u64(found.slots, 1);
    }
    return ((void (**)(void))(void *)&real)[function];
}

static uint64_t life_begin; /* 0: MPI has not begun, or has ended */

/* In a child of fork, which has no life in MPI. */
static void forget(void)
{
    call_mine = &nobody;
    life_begin = 0;
}

/* Where the kernel does not empty the memory of the board in a child of fork, the child must not look into it. */
void call_choose(bool counts_alone)
{
    for (unsigned i = 0; counts_alone && i < FUNCTIONS; i++)
        functions[i].has = 1u << METRIC_CALLS;
    board_open(&call_board, "mpi");
    pthread_atfork(NULL, NULL, forget);
    wait_learn();
}

void call_begin_life(uint64_t ticks)
{
    uint64_t none = 0;
    __atomic_compare_exchange_n(&life_begin, &none, ticks, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void call_end_life(void)
{
    uint64_t begin = __atomic_exchange_n(&life_begin, 0, __ATOMIC_RELAXED);
    if (!begin)
        return;
    uint32_t metric = board_metric(&call_board, &(struct board_description){
        .name = "mpi_life_seconds_total", .unit = "seconds", .help = "Time between MPI_Init and MPI_Finalize",
        .kind = BOARD_COUNTER, .type = BOARD_TICKS,
    });
    board_add_u64(board_slots(&call_board, metric), board_ticks() - begin);
}

__attribute__((destructor)) static void end(void)
{
    call_end_life();
    board_end(&call_board);
}

/* CALL_PLACE of what is not known at build time, where old processors have no instruction for it. */
CALL_INLINE unsigned place_of(uint32_t has, unsigned metric)
{
    unsigned place = 0;
    for (unsigned i = 0; i < metric; i++)
        place += has >> i & 1;
    return place;
}

/* Of another function than the one that is being called. */
CALL_INLINE void add_to(uint32_t function, unsigned metric, uint64_t value)
{
    uint64_t *slots = call_slots(function);
    board_add_u64(slots + place_of(functions[function].has, metric), value);
}

void call_add_for(struct call *call, const struct persistent *persistent)
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

void call_add_bytes(struct call *call, uint32_t function, bool is_out, uint64_t bytes)
{
    call->arrived += bytes;
    if (is_out)
        add_to(function, METRIC_OUT, bytes);
    else
        add_to(function, METRIC_IN, bytes);
}
