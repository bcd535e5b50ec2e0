/* Names the numbers that are missing: from the known bits and the counters of trouble into sentences of the report. */
#include "analysis/missing.h"

#include "analysis/rule.h"
#include "analysis/phrase.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add(struct unknown_list *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct unknown_list *list, const char *format, ...)
{
    if (list->count == UNKNOWN_MAX)
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

/* Bytes that were moved, and of which no process told. */
static double moved_by_unknown(const struct facts *facts, enum counter counter)
{
    double all, told;
    if (facts_moved_is_told(facts, counter) || !facts_moved(facts, counter, &all))
        return 0;
    facts_sum(facts, counter, &told);
    return all - told;
}

static void add_moved(struct unknown_list *list, const struct facts *facts)
{
    double bytes_read = moved_by_unknown(facts, COUNTER_rchar), written = moved_by_unknown(facts, COUNTER_wchar);
    if (!known(facts, COUNTER_rchar) && !known(facts, COUNTER_read_bytes))
        add(list, "input and output: no process told all of it (sonde doctor shows what this machine tells)");
    else if (bytes_read > 0 || written > 0)
        add(list, "who read %s and wrote %s of the bytes above: who was killed, or watched from outside only, does not tell",
            say_bytes(bytes_read).s, say_bytes(written).s);
}

static void add_waiting(struct unknown_list *list, const struct facts *facts)
{
    if (!known(facts, COUNTER_time_waiting))
        add(list, "waiting for a CPU: no process told all of it (sonde doctor shows what this machine tells)");
    else if (isnan(facts_waiting_s(facts)))
        add(list, "waiting for a CPU: of those who used %s of the CPU time nobody told it (killed, or watched from outside only)",
            say_share(1 - facts_waiting_told_share(facts)).s);
}

static void add_counters(struct unknown_list *list, const struct facts *facts)
{
    if (isnan(facts_cpu_s(facts)))
        add(list, "CPU time: no process told of it");
    if (facts_by_agents(facts)) {
        add(list, "processes: none was watched (sonde run, in the job, does)");
        return;
    }
    add_waiting(list, facts);
    if (!known(facts, COUNTER_delayacct_blkio_time))
        add(list, "waiting for disk: no process told all of it (if the kernel does not count it, as root: "
            "sysctl kernel.task_delayacct=1)");
    add_moved(list, facts);
}

static void add_machine(struct unknown_list *list, const struct facts *facts)
{
    if (isnan(facts_cores_allowed(facts)))
        add(list, "how many cores were allowed");
    if (isnan(facts_memory_limit(facts)))
        add(list, "how much memory was allowed");
}

static void add_shape(struct unknown_list *list, const struct facts *facts)
{
    double duration_s = facts_duration_s(facts), period_s = (double)facts->job.period_ns / 1e9;
    if (facts->shape.samples >= SHAPE_SAMPLES_MIN)
        return;
    if (facts_run_count(facts) > 1)
        add(list, "use over time: no run was as long as %d samples of %s", SHAPE_SAMPLES_MIN, say_seconds(period_s).s);
    else if (duration_s < SHAPE_SAMPLES_MIN * period_s)
        add(list, "use over time: the job was shorter than %d samples of %s", SHAPE_SAMPLES_MIN,
            say_seconds(period_s).s);
    else
        add(list, "use over time: there are no samples");
}

static void add_processes(struct unknown_list *list, const struct facts *facts)
{
    const struct summary *summary = &facts->job.summary;
    if (summary->unprobed && summary->unprobed < summary->images)
        add(list,
            "%s of %s programs %s watched from outside only (static, set-uid, without our environment, or killed)",
            text_count(summary->unprobed).s, text_count(summary->images).s, summary->unprobed == 1 ? "was" : "were");
    if (summary->unprobed && summary->unprobed == summary->images)
        add(list, "no program was watched from inside: all numbers are the kernel's");
    if (summary->lost)
        add(list, "the end of %s: the numbers are what was seen last",
            say_many(summary->lost, "process", "processes").s);
    if (summary->running)
        add(list, "the end of %s that still ran: the numbers are those until then",
            say_many(summary->running, "process", "processes").s);
}

static void add_events(struct unknown_list *list, const struct facts *facts)
{
    if (facts->uncounted && !facts->event_count)
        add(list, "perf events: no program could be counted (set-uid, killed at once, or what it made was made past libc, as by "
            "static programs)");
    else if (facts->uncounted)
        add(list, "perf events of %s of %s programs (set-uid, killed at once, or made past libc, as by static programs): the "
            "sums may lack them", text_count(facts->uncounted).s, text_count(facts->countable).s);
    if (facts->counted_late)
        add(list, "perf events of the exec and the loader of %s, which came by posix_spawn or past libc",
            say_many(facts->counted_late, "program", "programs").s);
}

static void add_gaps(struct unknown_list *list, const struct facts *facts)
{
    const struct run_gaps *gaps = &facts->job.summary.gaps;
    if (!facts->job.ended)
        add(list, "the end of the job: Sonde was ended before it");
    if (gaps->records_lost)
        add(list, "what stood in %s that could not be written", say_many(gaps->records_lost, "record", "records").s);
    if (gaps->bytes_damaged)
        add(list, "what stood in %s of the spool that were damaged", say_bytes((double)gaps->bytes_damaged).s);
    if (gaps->events_lost)
        add(list, "what %s of the kernel said that came too fast",
            say_many(gaps->events_lost, "message", "messages").s);
    if (gaps->ticks_late)
        add(list, "the moments of %s that came late", say_many(gaps->ticks_late, "sample", "samples").s);
}

static void add_calls_past_libc(struct unknown_list *list, const struct facts *facts)
{
    const struct summary *summary = &facts->job.summary;
    if (facts->calls_gap.in_libc && summary->unprobed)
        add(list, "system calls of %s of %s: only those watched from inside count theirs, in libc (as root without --libc, or "
            "with --ptrace, all are counted)", text_count(summary->unprobed).s,
            say_many(summary->images, "program", "programs").s);
}

static double calls_of(const struct facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->calls.count; i++)
        if (!strcmp(facts->calls.list[i].name, name))
            return facts->calls.list[i].calls;
    return 0;
}

/* Bytes that calls move and do not return. A ring that the kernel looks into by itself needs io_uring_enter not at all. */
static void add_bytes_of_calls(struct unknown_list *list, const struct facts *facts)
{
    double messages = calls_of(facts, "sendmmsg") + calls_of(facts, "recvmmsg");
    if (calls_of(facts, "io_uring_setup") > 0 || calls_of(facts, "io_uring_enter") > 0)
        add(list, "bytes that went through io_uring, which was entered %s: of them only those from and to disk are counted",
            say_many(say_whole(calls_of(facts, "io_uring_enter")), "time", "times").s);
    if (messages > 0)
        add(list, "bytes of sendmmsg and recvmmsg, called %s: they return how many messages they moved",
            say_many(say_whole(messages), "time", "times").s);
}

static void add_calls(struct unknown_list *list, const struct facts *facts)
{
    const struct calls_gap *gap = &facts->calls_gap;
    add_calls_past_libc(list, facts);
    add_bytes_of_calls(list, facts);
    double from_s = gap->from_ns > facts->job.start_ns ? (double)(gap->from_ns - facts->job.start_ns) / 1e9 : 0;
    if (!gap->from_ns)
        return;
    if (gap->is_open)
        add(list, "system calls from %s after the start on: no agent counted them", say_seconds(from_s).s);
    else
        add(list, "system calls of %s, from %s after the start on: no agent counted them",
            say_seconds((double)gap->lost_ns / 1e9).s, say_seconds(from_s).s);
}

void unknown_of(struct unknown_list *list, const struct facts *facts)
{
    list->count = 0;
    add_gaps(list, facts);
    add_processes(list, facts);
    add_events(list, facts);
    add_shape(list, facts);
    add_counters(list, facts);
    add_calls(list, facts);
    add_machine(list, facts);
}
