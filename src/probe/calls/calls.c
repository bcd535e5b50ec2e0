/* The board of libsonde-calls.so, and the functions behind the wrapped ones. All of it comes into being when it is first
 * needed: before the constructors of other libraries have run, in a signal handler, in a child. */
#include "probe/calls/calls.h"

#include "base/sys.h"
#include "spool/probe_env.h"

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>

int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);
#pragma weak __register_atfork

#define LABELS_ROOM 64

struct board calls_board;
struct calls_places calls_places[CALLS_SIZE];
enum calls_way calls_way;
_Atomic uintptr_t calls_next[CALLS_FUNCTIONS_SIZE];

/* Texts in a row, because pointers would have to be relocated at each start. */
static const char function_names[] =
#define X(name) #name "\0"
    CALLS_FUNCTIONS(X);
#undef X
static const char call_names[] =
#define X(name, bytes) #name "\0"
    CALLS_LIST(X);
#undef X
static const uint8_t returns_bytes[] = {
#define X(name, bytes) bytes,
    CALLS_LIST(X)
#undef X
};

static const char *name_at(const char *names, int place)
{
    for (; place; place--)
        names += strlen(names) + 1;
    return names;
}

uintptr_t calls_find(enum calls_function function)
{
    int kept = errno;
    uintptr_t real = (uintptr_t)dlsym(RTLD_NEXT, name_at(function_names, (int)function));
    errno = kept;
    atomic_store_explicit(&calls_next[function], real, memory_order_relaxed);
    return real;
}

static const char *variable(const char *name)
{
    size_t size = strlen(name);
    for (char **entry = environ; entry && *entry; entry++)
        if (strncmp(*entry, name, size) == 0 && (*entry)[size] == '=')
            return *entry + size + 1;
    return NULL;
}

/* An image that comes up under a filter that is not sonde run's own; as the probe of processes has it. */
static bool is_in_sandbox(void)
{
    const char *flags = variable(PROBE_ENV_FLAGS);
    return flags && !strchr(flags, PROBE_FLAG_SECCOMP) && sys1(SYS_prctl, PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
}

static void begin(void)
{
    const char *wish = variable(CALLS_ENV);
    if (is_in_sandbox())
        calls_quiet = true;
    calls_way = wish && strcmp(wish, "time") == 0 ? CALLS_TIME : CALLS_COUNT;
}

static uint32_t make_metric(const char *name, const char *labels, const char *unit, const char *help, enum board_type type)
{
    uint32_t metric = board_metric(&calls_board, &(struct board_description){
        .name = name, .labels = labels, .unit = unit, .help = help, .kind = BOARD_COUNTER, .type = type,
    });
    return metric ? metric : BOARD_HEAD_SLOTS; /* a place in chunk 0, where nobody looks; not 0, so as not to try again */
}

/* Whoever comes here at the same time finds the same numbers. */
static uint32_t make(enum calls_call call)
{
    int kept = errno;
    struct calls_places *places = &calls_places[call];
    char labels[LABELS_ROOM];
    board_open(&calls_board, "calls");
    board_label(labels, 0, sizeof labels, "call", name_at(call_names, (int)call));
    uint32_t first = make_metric("syscall_calls_total", labels, "", "System calls that returned", BOARD_U64);
    places->errors = make_metric("syscall_errors_total", labels, "", "System calls that failed", BOARD_U64);
    if (returns_bytes[call])
        places->bytes = make_metric("syscall_bytes_total", labels, "bytes", "Bytes that system calls read or wrote", BOARD_U64);
    if (calls_way == CALLS_TIME)
        places->ticks = make_metric("syscall_seconds_total", labels, "seconds", "Time in system calls", BOARD_TICKS);
    atomic_store_explicit(&places->calls, first, memory_order_release);
    errno = kept;
    return first;
}

/* Only what this thread has its slot for. */
static void add_quietly(uint32_t metric, uint64_t value)
{
    const struct board_thread *mine = board_mine;
    uint32_t chunk = metric >> BOARD_CHUNK_SHIFT;
    uint64_t *slots = metric && chunk < mine->count ? mine->chunks[chunk] : NULL;
    if (slots)
        board_add_u64(slots + (metric & (BOARD_CHUNK_SLOTS - 1)), value);
}

static void end_quietly(const struct calls_places *places, bool failed, uint64_t bytes, uint64_t ticks)
{
    add_quietly(atomic_load_explicit(&places->calls, memory_order_acquire), 1);
    if (failed)
        add_quietly(places->errors, 1);
    else if (bytes)
        add_quietly(places->bytes, bytes);
    if (ticks)
        add_quietly(places->ticks, ticks);
}

void calls_end_slow(enum calls_call call, bool failed, uint64_t bytes, uint64_t begin_ticks)
{
    const struct calls_places *places = &calls_places[call];
    uint64_t ticks = begin_ticks ? board_ticks() - begin_ticks : 0;
    if (calls_way == CALLS_UNKNOWN && !environ)
        return; /* libc has not begun: a sanitizer comes before it. It cannot be known yet where the board is to be */
    if (calls_way == CALLS_UNKNOWN)
        begin();
    uint32_t first = atomic_load_explicit(&places->calls, memory_order_acquire);
    if (calls_quiet) {
        end_quietly(places, failed, bytes, ticks);
        return;
    }
    if (!first)
        first = make(call);
    board_add_u64(board_slots(&calls_board, first), 1);
    if (failed)
        board_add_u64(board_slots(&calls_board, places->errors), 1);
    else if (bytes)
        board_add_u64(board_slots(&calls_board, places->bytes), bytes);
    if (begin_ticks && places->ticks)
        board_add_u64(board_slots(&calls_board, places->ticks), ticks);
}

/* In the place of glibc's, which would be linked in here, needs start files, and calls what musl lacks: that ends a program at
 * its start for it. The board's part of this library comes here too. */
__attribute__((visibility("hidden"))) int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    if (__register_atfork)
        return __register_atfork(prepare, parent, child, NULL);
    int (*other)(void (*)(void), void (*)(void), void (*)(void)) = dlsym(RTLD_NEXT, "pthread_atfork");
    return other ? other(prepare, parent, child) : ENOSYS;
}

/* The linker's lock may be held for ever in the child, by a thread that is no more there: what it may call is found before. */
void calls_find_all(void)
{
    for (int i = 0; i < CALLS_FUNCTIONS_SIZE; i++)
        if (!atomic_load_explicit(&calls_next[i], memory_order_relaxed))
            calls_find((enum calls_function)i);
}

__attribute__((constructor)) static void calls_start(void)
{
    pthread_atfork(calls_find_all, NULL, NULL);
    calls_find(FUNCTION_syscall);
    if (calls_way == CALLS_UNKNOWN)
        begin();
}

__attribute__((destructor)) static void calls_stop(void)
{
    if (!calls_quiet)
        board_end(&calls_board);
}
