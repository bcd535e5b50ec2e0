/* From perf records to event_count. */
#include "collect/perf.h"

/* value x enabled / running, or nothing when it was wanted but never ran. */
static bool correct(uint64_t value, uint64_t enabled_ns, uint64_t running_ns, uint64_t *corrected)
{
    if (running_ns == 0 && (enabled_ns > 0 || value > 0))
        return false;
    *corrected = running_ns < enabled_ns ? (uint64_t)((double)value * ((double)enabled_ns / (double)running_ns)) : value;
    return true;
}

static void read_counts(struct bytes text, size_t events, struct event_count *count)
{
    struct unpacker u = { (const uint8_t *)text.data, (const uint8_t *)text.data + text.size, false };
    for (size_t i = 0; i < events; i++) {
        uint64_t known = unpack_number(&u), value = unpack_number(&u), corrected;
        uint64_t enabled_ns = unpack_number(&u), running_ns = unpack_number(&u);
        if (u.bad)
            return;
        if (known != 1 || !correct(value, enabled_ns, running_ns, &corrected))
            continue;
        count->known |= 1ull << i;
        count->value[i] = corrected;
    }
}

/* A sum is known where every part is. */
static void add_to(struct event_count *sum, const struct event_count *part)
{
    sum->known &= part->known;
    for (size_t i = 0; i < PROCESS_EVENTS_MAX; i++)
        sum->value[i] = sum->known >> i & 1 ? sum->value[i] + part->value[i] : 0;
}

static struct event_count count_of(const struct events *events, uint32_t event, const struct run *run)
{
    struct event_count count = { 0 };
    struct event_texts texts;
    event_texts(events, &events->list[event], &texts);
    read_counts(texts.counts, run->event_count, &count);
    return count;
}

static struct event_count count_of_main(const struct events *events, const struct threads_scratch *scratch, uint32_t event,
                                        const struct run *run)
{
    struct event_count count = count_of(events, event, run);
    for (uint32_t more = 0; more < scratch->perf_count; more++) {
        struct event_count other = count_of(events, scratch->perf[more], run);
        add_to(&count, &other);
    }
    return count;
}

void perf_fill(const struct events *events, const struct threads_scratch *scratch, struct run *run, bool all_threads,
               struct process *process)
{
    struct event_count sum = { .known = all_threads ? UINT64_MAX : 0 };
    bool told = false;
    process->events = UINT32_MAX;
    for (uint32_t i = process->thread_first; i < process->thread_first + process->thread_count; i++) {
        struct thread *thread = &run->threads[i];
        if (thread->events == UINT32_MAX) {
            sum = (struct event_count){ 0 };
            continue;
        }
        uint32_t event = thread->events;
        thread->events = (uint32_t)run->counts_count++;
        run->counts[thread->events] = i == process->thread_first ? count_of_main(events, scratch, event, run)
                                                                 : count_of(events, event, run);
        add_to(&sum, &run->counts[thread->events]);
        told = true;
    }
    if (!told)
        return;
    if (process->thread_count == 1 && all_threads) {
        process->events = run->threads[process->thread_first].events;
        return;
    }
    process->events = (uint32_t)run->counts_count++;
    run->counts[process->events] = sum;
}
