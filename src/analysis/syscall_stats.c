/* Splits rows "read" and "read/file:ext4" into two lists. */
#include "analysis/syscall_stats.h"

#include "model/program_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add(double *sum, double value)
{
    if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
}

const char *syscall_stats_class(const struct syscall_stat *call)
{
    return call->name[call->name_size] ? call->name + call->name_size + 1 : "";
}

bool syscall_stats_is_extra(const struct syscall_stat *call)
{
    return strcmp(syscall_stats_class(call), "other") == 0;
}

bool syscall_stats_waits(const struct syscall_stat *call)
{
    static const char *const names[] = {
        "futex", "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2", "nanosleep",
        "clock_nanosleep", "wait4", "waitid", "pause", "rt_sigtimedwait", "rt_sigsuspend", "accept", "accept4", "io_getevents",
        "sched_yield", "semtimedop", "semop", "msgrcv",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == call->name_size && strncmp(names[i], call->name, call->name_size) == 0)
            return true;
    return false;
}

const struct syscall_stat *syscall_stats_longest(const struct syscall_stats *calls, bool with_waits)
{
    const struct syscall_stat *longest = NULL;
    for (size_t i = 0; i < calls->count; i++) {
        const struct syscall_stat *call = &calls->list[i];
        if (call->time_s > (longest ? longest->time_s : 0) && (with_waits || !syscall_stats_waits(call)))
            longest = call;
    }
    return longest;
}

static double known_or_0(double value)
{
    return isnan(value) ? 0 : value;
}

static int by_cost(const void *a, const void *b)
{
    const struct syscall_stat *left = a, *right = b;
    double l = known_or_0(left->time_s), r = known_or_0(right->time_s);
    if (l == r) {
        l = known_or_0(left->calls);
        r = known_or_0(right->calls);
    }
    return l < r ? 1 : l > r ? -1 : strcmp(left->name, right->name);
}

static struct syscall_stat call_of(const struct job_metrics *metrics, size_t row)
{
    const char *name = metrics->tables[JOB_METRICS_SYSCALL].rows[row].instance;
    return (struct syscall_stat){
        .name = name,
        .name_size = strcspn(name, "/"),
        .calls = job_metrics_value(metrics, JOB_METRICS_SYSCALL, row, SYSCALL_CALLS),
        .errors = job_metrics_value(metrics, JOB_METRICS_SYSCALL, row, SYSCALL_ERRORS),
        .bytes = job_metrics_value(metrics, JOB_METRICS_SYSCALL, row, SYSCALL_BYTES),
        .time_s = job_metrics_value(metrics, JOB_METRICS_SYSCALL, row, SYSCALL_TIME) / 1e9,
    };
}

void syscall_stats_gap_add(struct syscall_stats_gap *gap, const struct run_series *series)
{
    uint64_t from_ns = 0;
    if (strcmp(series->set.name, syscall_way_set.name) != 0 || series->set.size != 1)
        return;
    for (size_t row = 0; row < series->count; row++) {
        gap->in_libc |= series->known[row] && series->values[row].u64 == SYSCALL_WAY_LIBC;
        bool counts = !series->known[row] || series->values[row].u64 != SYSCALL_WAY_NONE;
        if (counts && from_ns)
            gap->lost_ns += series->times_ns[row] - from_ns;
        from_ns = counts ? 0 : from_ns ? from_ns : series->times_ns[row];
        if (from_ns && (!gap->from_ns || from_ns < gap->from_ns))
            gap->from_ns = from_ns;
    }
    gap->is_open |= from_ns != 0;
}

enum err syscall_stats_read(struct syscall_stats *calls, const struct job_metrics *metrics)
{
    size_t count = metrics->tables[JOB_METRICS_SYSCALL].count;
    *calls = (struct syscall_stats){ .all = { .name = "", .calls = NAN, .errors = NAN, .bytes = NAN, .time_s = NAN } };
    calls->list = calloc(count + 1, sizeof *calls->list);
    calls->classes = calloc(count + 1, sizeof *calls->classes);
    if (!calls->list || !calls->classes)
        return NOMEM;
    for (size_t i = 0; i < count; i++) {
        struct syscall_stat call = call_of(metrics, i);
        if (!(call.calls > 0) && !(call.bytes > 0))
            continue;
        if (call.name[call.name_size]) {
            calls->classes[calls->class_count++] = call;
            continue;
        }
        calls->list[calls->count++] = call;
        add(&calls->all.calls, call.calls);
        add(&calls->all.errors, call.errors);
        add(&calls->all.bytes, call.bytes);
        add(&calls->all.time_s, call.time_s);
    }
    qsort(calls->list, calls->count, sizeof *calls->list, by_cost);
    qsort(calls->classes, calls->class_count, sizeof *calls->classes, by_cost);
    return OK;
}

void syscall_stats_clear(struct syscall_stats *calls)
{
    free(calls->list);
    free(calls->classes);
    *calls = (struct syscall_stats){ 0 };
}
