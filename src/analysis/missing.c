/* Turns missing counters and recorded errors into sentences for the report. */
#include "analysis/missing.h"

#include "analysis/rule.h"
#include "analysis/phrase.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add(struct missing_list *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct missing_list *list, const char *format, ...)
{
    if (list->count == MISSING_MAX)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(list->items[list->count], sizeof list->items[0], format, arguments);
    va_end(arguments);
    list->count++;
}

static bool known(const struct facts *facts, enum counter counter)
{
    return counters_has(&facts->job.summary.sum, counter);
}

/* Bytes that no process accounts for. */
static double unattributed_bytes(const struct facts *facts, enum counter counter)
{
    double all, metrics;
    if (facts_io_is_attributed(facts, counter) || !facts_io_bytes(facts, counter, &all))
        return 0;
    facts_sum(facts, counter, &metrics);
    return all - metrics;
}

static void add_io(struct missing_list *list, const struct facts *facts)
{
    double bytes_read = unattributed_bytes(facts, COUNTER_rchar), written = unattributed_bytes(facts, COUNTER_wchar);
    if (!known(facts, COUNTER_rchar) && !known(facts, COUNTER_read_bytes))
        add(list, "I/O: unavailable ('sonde doctor' shows what this node supports)");
    else if (bytes_read > 0 && written > 0)
        add(list, "%s read and %s written could not be attributed to a process", phrase_bytes(bytes_read).s,
            phrase_bytes(written).s);
    else if (bytes_read > 0 || written > 0)
        add(list, "%s %s could not be attributed to a process", phrase_bytes(bytes_read + written).s,
            bytes_read > 0 ? "read" : "written");
}

static void add_waiting(struct missing_list *list, const struct facts *facts)
{
    if (!known(facts, COUNTER_time_waiting))
        add(list, "CPU wait: unavailable ('sonde doctor' shows what this node supports)");
    else if (isnan(facts_waiting_s(facts)))
        add(list, "CPU wait: unavailable for the processes that used %s of CPU time (killed, or without the probe)",
            phrase_percent(1 - facts_waiting_known_share(facts)).s);
}

static void add_counters(struct missing_list *list, const struct facts *facts)
{
    if (isnan(facts_cpu_s(facts)))
        add(list, "CPU time: unavailable");
    if (facts_only_from_agents(facts)) {
        add(list, "processes: not recorded (use 'sonde run' inside the job)");
        return;
    }
    add_waiting(list, facts);
    if (!known(facts, COUNTER_delayacct_blkio_time))
        add(list, "disk wait: unavailable (if delay accounting is off, as root: sysctl kernel.task_delayacct=1)");
    add_io(list, facts);
}

static void add_machine(struct missing_list *list, const struct facts *facts)
{
    if (isnan(facts_cores_allocated(facts)))
        add(list, "number of allocated cores: unknown");
    if (isnan(facts_memory_limit(facts)))
        add(list, "memory limit: unknown");
}

static void add_timeline(struct missing_list *list, const struct facts *facts)
{
    double duration_s = facts_duration_s(facts), period_s = (double)facts->job.period_ns / 1e9;
    if (facts->timeline.samples >= TIMELINE_SAMPLES_MIN)
        return;
    if (facts_run_count(facts) > 1)
        add(list, "timeline: every run had fewer than %d samples (interval %s)", TIMELINE_SAMPLES_MIN,
            phrase_duration(period_s).s);
    else if (duration_s < TIMELINE_SAMPLES_MIN * period_s)
        add(list, "timeline: fewer than %d samples (interval %s)", TIMELINE_SAMPLES_MIN,
            phrase_duration(period_s).s);
    else
        add(list, "timeline: no samples");
}

static void add_processes(struct missing_list *list, const struct facts *facts)
{
    const struct summary *summary = &facts->job.summary;
    if (summary->unprobed && summary->unprobed < summary->images)
        add(list, "%s of %s program executions ran without the probe, with kernel data only (static, set-uid, cleared "
                  "environment, or killed)", format_count(summary->unprobed).s, format_count(summary->images).s);
    if (summary->unprobed && summary->unprobed == summary->images)
        add(list, "the probe was not loaded into any program: kernel data only");
    if (summary->lost)
        add(list, "exit of %s: the values are the last known ones",
            phrase_plural(summary->lost, "process", "processes").s);
    if (summary->running)
        add(list, "exit of %s, still running: the values are the last known ones",
            phrase_plural(summary->running, "process", "processes").s);
}

static void add_events(struct missing_list *list, const struct facts *facts)
{
    if (facts->uncounted && !facts->event_count)
        add(list, "perf events: no program could be counted (set-uid, killed early, or started by a static program)");
    else if (facts->uncounted)
        add(list, "perf events of %s of %s program executions (set-uid, killed early, or started by a static program): "
                  "the totals may be too low", format_count(facts->uncounted).s, format_count(facts->countable).s);
    if (facts->counted_late)
        add(list, "perf events of the exec and loader of %s, started by posix_spawn or by a static program",
            phrase_plural(facts->counted_late, "program", "programs").s);
}

static void add_gaps(struct missing_list *list, const struct facts *facts)
{
    const struct run_gaps *gaps = &facts->job.summary.gaps;
    if (!facts->job.ended)
        add(list, "the end of the job: Sonde was terminated before it");
    if (gaps->records_lost)
        add(list, "%s that could not be written", phrase_plural(gaps->records_lost, "record", "records").s);
    if (gaps->bytes_damaged)
        add(list, "%s of the spool that were damaged", phrase_bytes((double)gaps->bytes_damaged).s);
    if (gaps->events_lost)
        add(list, "%s that arrived too fast", phrase_plural(gaps->events_lost, "kernel event", "kernel events").s);
    if (gaps->ticks_late)
        add(list, "the exact time of %s, taken late", phrase_plural(gaps->ticks_late, "sample", "samples").s);
}

static void add_unprobed_calls(struct missing_list *list, const struct facts *facts)
{
    const struct summary *summary = &facts->job.summary;
    if (facts->syscall_stats_gap.in_libc && summary->unprobed)
        add(list, "system calls of %s of %s without the probe, since they were counted in libc (all are counted as "
                  "root without --libc, or with --ptrace)", format_count(summary->unprobed).s,
            phrase_plural(summary->images, "program", "programs").s);
}

static double calls_of(const struct facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->calls.count; i++)
        if (!strcmp(facts->calls.list[i].name, name))
            return facts->calls.list[i].calls;
    return 0;
}

/* Bytes that calls transfer but do not return. A ring in polling mode needs no io_uring_enter at all. */
static void add_bytes_of_calls(struct missing_list *list, const struct facts *facts)
{
    double messages = calls_of(facts, "sendmmsg") + calls_of(facts, "recvmmsg");
    if (calls_of(facts, "io_uring_setup") > 0 || calls_of(facts, "io_uring_enter") > 0)
        add(list, "bytes transferred by io_uring (%s entered): only those from and to disk are counted",
            phrase_plural(phrase_round(calls_of(facts, "io_uring_enter")), "time", "times").s);
    if (messages > 0)
        add(list, "bytes of sendmmsg and recvmmsg (called %s): they return the number of messages, not bytes",
            phrase_plural(phrase_round(messages), "time", "times").s);
}

static void add_calls(struct missing_list *list, const struct facts *facts)
{
    const struct syscall_stats_gap *gap = &facts->syscall_stats_gap;
    add_unprobed_calls(list, facts);
    add_bytes_of_calls(list, facts);
    double from_s = gap->from_ns > facts->job.start_ns ? (double)(gap->from_ns - facts->job.start_ns) / 1e9 : 0;
    if (!gap->from_ns)
        return;
    if (gap->is_open)
        add(list, "system calls from %s after the start: no agent counted them", phrase_duration(from_s).s);
    else
        add(list, "system calls during %s, from %s after the start: no agent counted them",
            phrase_duration((double)gap->lost_ns / 1e9).s, phrase_duration(from_s).s);
}

void missing_find(struct missing_list *list, const struct facts *facts)
{
    list->count = 0;
    add_gaps(list, facts);
    add_processes(list, facts);
    add_events(list, facts);
    add_timeline(list, facts);
    add_counters(list, facts);
    add_calls(list, facts);
    add_machine(list, facts);
}
