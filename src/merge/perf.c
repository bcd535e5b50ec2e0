/* Converts perf records to struct event_count. */
#include "merge/perf.h"

#include "base/clock.h"

/* Tolerated difference between CPU time and counted time: work done before the events were opened, or charged
 * differently by the kernel. */
#define MISSED_NS (20 * NS_PER_MS)
#define MISSED_PART 5

/* The counts of a thread and how long its events were enabled. */
struct taken {
    struct event_count count;
    uint64_t enabled_ns;
};

/* value * enabled / running; false if the event was requested but never ran. */
static bool correct(uint64_t value, uint64_t enabled_ns, uint64_t running_ns, uint64_t *corrected)
{
    if (running_ns == 0 && (enabled_ns > 0 || value > 0))
        return false;
    *corrected = running_ns < enabled_ns ? (uint64_t)((double)value * ((double)enabled_ns / (double)running_ns)) : value;
    return true;
}

static void read_counts(struct bytes text, size_t events, struct taken *taken)
{
    struct unpacker u = { (const uint8_t *)text.data, (const uint8_t *)text.data + text.size, false };
    for (size_t i = 0; i < events; i++) {
        uint64_t known = unpack_number(&u), value = unpack_number(&u), corrected;
        uint64_t enabled_ns = unpack_number(&u), running_ns = unpack_number(&u);
        if (u.bad)
            return;
        taken->enabled_ns = known == 1 && enabled_ns > taken->enabled_ns ? enabled_ns : taken->enabled_ns;
        if (known != 1 || !correct(value, enabled_ns, running_ns, &corrected))
            continue;
        taken->count.known |= 1ull << i;
        taken->count.value[i] = corrected;
    }
}

/* A sum is known if every part is. */
static void add_to(struct event_count *sum, const struct event_count *part)
{
    sum->known &= part->known;
    for (size_t i = 0; i < PROCESS_EVENTS_MAX; i++)
        sum->value[i] = sum->known >> i & 1 ? sum->value[i] + part->value[i] : 0;
}

static struct taken taken_of(const struct record_index *records, uint32_t entry, const struct run *run)
{
    struct taken taken = { 0 };
    struct record_strings strings;
    record_index_strings(records, &records->list[entry], &strings);
    read_counts(strings.counts, run->event_count, &taken);
    return taken;
}

static struct taken taken_of_main(const struct record_index *records, const struct threads_scratch *scratch, uint32_t entry,
                                  const struct run *run)
{
    struct taken taken = taken_of(records, entry, run);
    for (uint32_t more = 0; more < scratch->perf_count; more++) {
        struct taken other = taken_of(records, scratch->perf[more], run);
        add_to(&taken.count, &other.count);
        taken.enabled_ns += other.enabled_ns;
    }
    return taken;
}

/* Events are enabled while their thread runs. If the process ran much longer, something was not counted: threads of a
 * static program, or a set-uid program, for which the kernel disables the events. */
static bool is_whole(const struct process *process, uint64_t enabled_ns)
{
    uint64_t cpu_ns = counters_cpu_us(&process->counters) * NS_PER_US;
    return process->sources & USAGE_WITH_OTHERS || cpu_ns <= enabled_ns + MISSED_NS + cpu_ns / MISSED_PART;
}

/* No event of the main thread was opened before the exec. */
static bool is_late(const struct record_index *records, const struct threads_scratch *scratch, uint32_t entry)
{
    bool late = entry != UINT32_MAX && records->list[entry].flags & ENTRY_PERF_LATE;
    for (uint32_t more = 0; more < scratch->perf_count && late; more++)
        late = records->list[scratch->perf[more]].flags & ENTRY_PERF_LATE;
    return late;
}

void perf_fill(const struct record_index *records, const struct threads_scratch *scratch, struct run *run, bool all_threads,
               struct process *process)
{
    struct event_count sum = { .known = all_threads ? UINT64_MAX : 0 };
    uint64_t enabled_ns = 0;
    bool has_counts = false;
    process->events = UINT32_MAX;
    if (is_late(records, scratch, run->threads[process->thread_first].events))
        process->sources |= EVENTS_LATE;
    for (uint32_t i = process->thread_first; i < process->thread_first + process->thread_count; i++) {
        struct thread *thread = &run->threads[i];
        if (thread->events == UINT32_MAX) {
            sum = (struct event_count){ 0 };
            continue;
        }
        struct taken taken = i == process->thread_first ? taken_of_main(records, scratch, thread->events, run)
                                                        : taken_of(records, thread->events, run);
        thread->events = (uint32_t)run->counts_count++;
        run->counts[thread->events] = taken.count;
        enabled_ns += taken.enabled_ns;
        add_to(&sum, &taken.count);
        has_counts = true;
    }
    if (!has_counts)
        return;
    if (!is_whole(process, enabled_ns))
        sum = (struct event_count){ 0 };
    else if (process->thread_count == 1 && all_threads) {
        process->events = run->threads[process->thread_first].events;
        return;
    }
    process->events = (uint32_t)run->counts_count++;
    run->counts[process->events] = sum;
}
