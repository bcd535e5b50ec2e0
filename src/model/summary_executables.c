/* Sums the processes of a run by executable, for the table of executables in reports. */
#include "model/summary.h"

#include "base/vec.h"
#include "model/dictionary.h"
#include "model/concurrency.h"

#include <stdlib.h>

#define NONE UINT32_MAX

/* Executables are found by path; those with the same path and different names (unknown path, process renamed itself) are
 * chained. */
struct lookup {
    struct dictionary paths;
    uint32_t *first; /* per path: index of an executable */
    uint32_t *next;  /* per executable: another one of the same path */
    size_t capacity;
};

static void add_numbers(struct summary_executable *executable, const struct process *process)
{
    const struct counters *c = &process->counters;
    uint64_t rss_kb = counters_get(c, COUNTER_rssmax);
    executable->count++;
    executable->short_count += concurrency_is_short(process);
    executable->failed += process->state != PROCESS_EXECED && process->status_known
                          && (process->exit_code || process->exit_signal);
    executable->cpu_us += counters_cpu_us(c);
    if (process->start_ns && process->end_ns > process->start_ns)
        executable->wall_ns += process->end_ns - process->start_ns;
    executable->rss_max_kb = rss_kb > executable->rss_max_kb ? rss_kb : executable->rss_max_kb;
    executable->read_bytes += counters_get(c, COUNTER_read_bytes);
    executable->write_bytes += counters_get(c, COUNTER_write_bytes);
    executable->rchar += counters_get(c, COUNTER_rchar);
    executable->wchar += counters_get(c, COUNTER_wchar);
    executable->waiting_ns += counters_get(c, COUNTER_time_waiting);
    executable->blkio_us += counters_get(c, COUNTER_delayacct_blkio_time);
}

static bool grow(struct summary_executables *executables, struct lookup *lookup)
{
    if (executables->count < lookup->capacity)
        return true;
    size_t capacity = vec_capacity(lookup->capacity, executables->count + 1, VEC_MAX);
    if (array_resize(executables->items, capacity) || array_resize(lookup->first, capacity)
        || array_resize(lookup->next, capacity))
        return false;
    lookup->capacity = capacity;
    return true;
}

static uint32_t executable_of(struct summary_executables *executables, struct lookup *lookup,
                              const struct process *process)
{
    size_t known = lookup->paths.count;
    uint32_t path = dictionary_add(&lookup->paths, process->path);
    if (path == DICTIONARY_NONE)
        return NONE;
    uint32_t i = path < known ? lookup->first[path] : NONE;
    for (; i != NONE; i = lookup->next[i])
        if (bytes_equal(executables->items[i].name, process->name))
            return i;
    if (!grow(executables, lookup))
        return NONE;
    i = (uint32_t)executables->count++;
    executables->items[i] = (struct summary_executable){ .name = process->name, .path = process->path };
    lookup->next[i] = path < known ? lookup->first[path] : NONE;
    lookup->first[path] = i;
    return i;
}

enum err summary_executables_of_run(struct summary_executables *executables, const struct run *run)
{
    struct lookup lookup = { 0 };
    enum err err = OK;
    *executables = (struct summary_executables){ 0 };
    executables->of_process = malloc((run->process_count + 1) * sizeof *executables->of_process);
    if (!executables->of_process)
        return NOMEM;
    for (size_t i = 0; i < run->process_count && err == OK; i++) {
        uint32_t at = executable_of(executables, &lookup, &run->processes[i]);
        executables->of_process[i] = at;
        if (at == NONE)
            err = NOMEM;
        else
            add_numbers(&executables->items[at], &run->processes[i]);
    }
    dictionary_clear(&lookup.paths);
    free(lookup.first);
    free(lookup.next);
    if (err != OK)
        summary_executables_clear(executables);
    return err;
}

void summary_executables_clear(struct summary_executables *executables)
{
    free(executables->items);
    free(executables->of_process);
    *executables = (struct summary_executables){ 0 };
}
