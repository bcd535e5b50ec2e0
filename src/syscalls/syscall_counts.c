/* Counts calls and converts the counts to samples. */
#include "syscalls/syscall_counts.h"

#include "model/program_sets.h"

#define ERRNO_MAX 4095

static void add(_Atomic uint64_t *value, uint64_t more)
{
    atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + more, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

/* Cached, because syscall_names_result compares strings. */
static bool returns_bytes(unsigned number)
{
    static uint8_t known[SYSCALL_NAMES_MAX];
    if (!known[number])
        known[number] = syscall_names_result(number) == SYSCALL_RESULT_OTHER ? 1 : 2;
    return known[number] == 2;
}

void syscall_counts_add(struct syscall_counts *counts, unsigned number, int64_t result, uint64_t time_ns)
{
    if (number >= SYSCALL_NAMES_MAX)
        return;
    struct syscall_count *count = &counts->of[number];
    add(&count->calls, 1);
    if (result < 0 && result >= -ERRNO_MAX)
        add(&count->errors, 1);
    else if (returns_bytes(number))
        add(&count->bytes, (uint64_t)result);
    add(&count->time_ns, time_ns);
}

/* Static, because samples borrow the name. */
static const char *name_of(unsigned number)
{
    static char unknown[SYSCALL_NAMES_MAX][SYSCALL_NAME_MAX];
    return syscall_names_write(number, unknown[number]);
}

void syscall_counts_sample(const struct syscall_counts *counts, uint64_t time_ns, struct batch *out)
{
    for (unsigned i = 0; i < SYSCALL_NAMES_MAX; i++) {
        const struct syscall_count *count = &counts->of[i];
        uint64_t calls = get(&count->calls);
        struct sample *sample = calls ? batch_add(out, &syscall_set, time_ns, name_of(i)) : NULL;
        if (!sample)
            continue;
        sample_set_u64(sample, SYSCALL_CALLS, calls);
        sample_set_u64(sample, SYSCALL_ERRORS, get(&count->errors));
        if (returns_bytes(i))
            sample_set_u64(sample, SYSCALL_BYTES, get(&count->bytes));
        if (counts->timed)
            sample_set_u64(sample, SYSCALL_TIME, get(&count->time_ns));
    }
}

uint64_t syscall_counts_calls(const struct syscall_counts *counts)
{
    uint64_t calls = 0;
    for (unsigned i = 0; i < SYSCALL_NAMES_MAX; i++)
        calls += get(&counts->of[i].calls);
    return calls;
}
