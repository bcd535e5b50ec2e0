/* The segment of libsonde-calls.so, and lookup of the real functions. Everything is initialised on first use, which
 * may be before the constructors of other libraries, in a signal handler or in a child. */
#include "probe/calls/calls.h"

#include "base/sys.h"
#include "spool/probe_env.h"

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>

int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);
#pragma weak __register_atfork

#define LABELS_CAPACITY 64

struct segment calls_segment;
struct calls_metrics calls_metrics[CALLS_SIZE];
enum calls_mode calls_mode;
_Atomic uintptr_t calls_next[CALLS_FUNCTIONS_SIZE];

/* Strings in a row: an array of pointers would need relocations at every start. */
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
    int saved_errno = errno;
    uintptr_t real = (uintptr_t)dlsym(RTLD_NEXT, name_at(function_names, (int)function));
    errno = saved_errno;
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

/* Started under a seccomp filter that is not sonde run's own, as in the process probe. */
static bool is_in_sandbox(void)
{
    const char *flags = variable(PROBE_ENV_FLAGS);
    return flags && !strchr(flags, PROBE_FLAG_SECCOMP) && sys1(SYS_prctl, PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
}

static void begin(void)
{
    const char *mode = variable(CALLS_ENV);
    if (is_in_sandbox())
        calls_is_sandboxed = true;
    calls_mode = mode && strcmp(mode, "time") == 0 ? CALLS_TIME : CALLS_COUNT;
}

static uint32_t add_metric(const char *name, const char *labels, const char *unit, const char *help,
                           enum segment_value_type type)
{
    uint32_t metric = segment_metric(&calls_segment, &(struct segment_description){
        .name = name, .labels = labels, .unit = unit, .help = help, .kind = SEGMENT_COUNTER, .type = type,
    });
    return metric ? metric : SEGMENT_HEAD_SLOTS; /* a slot in chunk 0, which nobody reads; not 0, so as not to try again */
}

/* Threads that race here get the same metric numbers. */
static uint32_t add_metrics(enum calls_call call)
{
    int saved_errno = errno;
    struct calls_metrics *metrics = &calls_metrics[call];
    char labels[LABELS_CAPACITY];
    segment_open(&calls_segment, "calls");
    segment_append_label(labels, 0, sizeof labels, "call", name_at(call_names, (int)call));
    uint32_t first = add_metric("syscall_calls_total", labels, "", "System calls that returned", SEGMENT_U64);
    metrics->errors = add_metric("syscall_errors_total", labels, "", "System calls that failed", SEGMENT_U64);
    if (returns_bytes[call])
        metrics->bytes = add_metric("syscall_bytes_total", labels, "bytes", "Bytes that system calls read or wrote",
                                    SEGMENT_U64);
    if (calls_mode == CALLS_TIME)
        metrics->ticks = add_metric("syscall_seconds_total", labels, "seconds", "Time in system calls", SEGMENT_TICKS);
    atomic_store_explicit(&metrics->calls, first, memory_order_release);
    errno = saved_errno;
    return first;
}

/* Only if this thread already has the slot. */
static void add_if_mapped(uint32_t metric, uint64_t value)
{
    const struct segment_thread *mine = segment_this_thread;
    uint32_t chunk = metric >> SEGMENT_CHUNK_SHIFT;
    uint64_t *slots = metric && chunk < mine->count ? mine->chunks[chunk] : NULL;
    if (slots)
        segment_add_u64(slots + (metric & (SEGMENT_CHUNK_SLOTS - 1)), value);
}

static void end_sandboxed(const struct calls_metrics *metrics, bool failed, uint64_t bytes, uint64_t ticks)
{
    add_if_mapped(atomic_load_explicit(&metrics->calls, memory_order_acquire), 1);
    if (failed)
        add_if_mapped(metrics->errors, 1);
    else if (bytes)
        add_if_mapped(metrics->bytes, bytes);
    if (ticks)
        add_if_mapped(metrics->ticks, ticks);
}

void calls_end_slow(enum calls_call call, bool failed, uint64_t bytes, uint64_t begin_ticks)
{
    const struct calls_metrics *metrics = &calls_metrics[call];
    uint64_t ticks = begin_ticks ? segment_ticks() - begin_ticks : 0;
    if (calls_mode == CALLS_UNKNOWN && !environ)
        return; /* libc is not initialised yet (called by a sanitizer), so the segment's directory is unknown */
    if (calls_mode == CALLS_UNKNOWN)
        begin();
    uint32_t first = atomic_load_explicit(&metrics->calls, memory_order_acquire);
    if (calls_is_sandboxed) {
        end_sandboxed(metrics, failed, bytes, ticks);
        return;
    }
    if (!first)
        first = add_metrics(call);
    segment_add_u64(segment_slots(&calls_segment, first), 1);
    if (failed)
        segment_add_u64(segment_slots(&calls_segment, metrics->errors), 1);
    else if (bytes)
        segment_add_u64(segment_slots(&calls_segment, metrics->bytes), bytes);
    if (begin_ticks && metrics->ticks)
        segment_add_u64(segment_slots(&calls_segment, metrics->ticks), ticks);
}

/* Replaces glibc's, which would be linked in statically, needs start files, and calls a function that musl does not
 * have. The segment writer in this library uses it too. */
__attribute__((visibility("hidden"))) int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    if (__register_atfork)
        return __register_atfork(prepare, parent, child, NULL);
    int (*other)(void (*)(void), void (*)(void), void (*)(void)) = dlsym(RTLD_NEXT, "pthread_atfork");
    return other ? other(prepare, parent, child) : ENOSYS;
}

/* Before fork: in the child, the dynamic linker's lock may be held forever by a thread that no longer exists. */
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
    if (calls_mode == CALLS_UNKNOWN)
        begin();
}

__attribute__((destructor)) static void calls_stop(void)
{
    if (!calls_is_sandboxed)
        segment_end(&calls_segment);
}
