/* Numbers derived from the facts of a job: cores used, share of the memory, waiting times. */
#include "analysis/facts.h"

#include <math.h>

#define ATTRIBUTED_MIN 0.99 /* share of the bytes that counts as all of them */
#define COVERED_MIN 0.5 /* share of the CPU time that must be covered to speak for the whole job */

bool facts_only_from_agents(const struct facts *facts)
{
    const struct store_job *job = &facts->job; /* sonde run stores the command first of all */
    return job->summary.images == 0 && !job->command.size && job->hosts && job->hosts[0];
}

bool facts_is_recorded_run(const struct store_run *run)
{
    return run->command.size > 0;
}

bool facts_run_failed(const struct store_run *run)
{
    return facts_is_recorded_run(run) && run->status_known && (run->exit_code || run->exit_signal);
}

size_t facts_run_count(const struct facts *facts)
{
    size_t count = 0;
    for (size_t i = 0; i < facts->runs.count; i++)
        count += facts_is_recorded_run(&facts->runs.list[i]);
    return count;
}

size_t facts_runs_failed(const struct facts *facts)
{
    size_t count = 0;
    for (size_t i = 0; i < facts->runs.count; i++)
        count += facts_run_failed(&facts->runs.list[i]);
    return count;
}

bool facts_succeeded(const struct facts *facts)
{
    const struct store_job *job = &facts->job;
    return job->status_known && job->exit_code == 0 && job->exit_signal == 0 && !facts_runs_failed(facts);
}

double facts_duration_s(const struct facts *facts)
{
    if (facts->job.start_ns == 0 || facts->job.end_ns <= facts->job.start_ns)
        return NAN;
    return (double)(facts->job.end_ns - facts->job.start_ns) / 1e9;
}

static bool cpu_known(const struct counters *counters)
{
    return counters_has(counters, COUNTER_usertime) || counters_has(counters, COUNTER_systemtime);
}

double facts_cpu_s(const struct facts *facts)
{
    const struct counters *total = &facts->job.summary.total, *sum = &facts->job.summary.sum;
    if (!cpu_known(total) && !cpu_known(sum))
        return NAN;
    return fmax((double)counters_cpu_us(total), (double)counters_cpu_us(sum)) / 1e6;
}

double facts_kernel_share(const struct facts *facts)
{
    double system_us, user_us;
    if (!facts_sum(facts, COUNTER_systemtime, &system_us) || !facts_sum(facts, COUNTER_usertime, &user_us))
        return NAN;
    double known_us = system_us + user_us;
    return known_us > 0 && known_us >= COVERED_MIN * facts_cpu_s(facts) * 1e6 ? system_us / known_us : NAN;
}

double facts_cores_allocated(const struct facts *facts)
{
    if (facts->job.cores_allowed_milli)
        return (double)facts->job.cores_allowed_milli / 1000;
    return facts->job.cores ? (double)facts->job.cores : NAN;
}

double facts_cores_used(const struct facts *facts)
{
    return facts_cpu_s(facts) / facts_duration_s(facts);
}

double facts_cores_wanted(const struct facts *facts)
{
    double waiting_ns;
    facts_sum(facts, COUNTER_time_waiting, &waiting_ns); /* 0 if unknown */
    return facts_cores_used(facts) + waiting_ns / 1e9 / facts_duration_s(facts);
}

double facts_cores_of_other_processes(const struct facts *facts)
{
    double others = timeline_mean(&facts->timeline, TIMELINE_NODE) - timeline_mean(&facts->timeline, TIMELINE_CPU);
    return facts->timeline.samples < TIMELINE_SAMPLES_MIN ? NAN : others < 0 ? 0 : others;
}

double facts_memory_limit(const struct facts *facts)
{
    if (facts->job.memory_limit_bytes)
        return (double)facts->job.memory_limit_bytes;
    return facts->job.memory_bytes ? (double)facts->job.memory_bytes : NAN;
}

/* Of all processes together. NAN also if it is more than there is: resident sizes were added, with shared pages in each. */
static double sampled_peak(const struct facts *facts)
{
    uint64_t peak_bytes = facts->job.summary.rss_peak_bytes;
    double peak = peak_bytes ? (double)peak_bytes : timeline_peak(&facts->timeline, TIMELINE_MEMORY);
    return facts->job.memory_bytes && peak > (double)facts->job.memory_bytes ? NAN : peak;
}

enum facts_memory_source facts_memory_source(const struct facts *facts)
{
    double peak = facts_memory_peak(facts);
    if (isnan(peak))
        return FACTS_MEMORY_UNKNOWN;
    return sampled_peak(facts) >= peak ? facts->sampled_memory : FACTS_MEMORY_PROCESS;
}

double facts_memory_peak(const struct facts *facts)
{
    const struct summary *summary = &facts->job.summary;
    double peak = sampled_peak(facts), largest;
    if (facts_sum(facts, COUNTER_rssmax, &largest))
        peak = fmax(peak, largest * 1024);
    if (counters_has(&summary->total, COUNTER_rssmax))
        peak = fmax(peak, (double)summary->total.value[COUNTER_rssmax] * 1024);
    return peak;
}

unsigned facts_executable_sources(const struct facts *facts, const struct summary_executable *executable)
{
    unsigned sources = 0;
    for (size_t i = 0; i < facts->process_count; i++) {
        const struct process *process = &facts->processes[i];
        if (bytes_equal(process->path, executable->path) && bytes_equal(process->name, executable->name))
            sources |= process->sources;
    }
    return sources;
}

bool facts_executable_has_io(const struct summary_executable *executable)
{
    return executable->rchar > 0;
}

bool facts_sum(const struct facts *facts, enum counter counter, double *value)
{
    *value = (double)counters_get(&facts->job.summary.sum, counter);
    return counters_has(&facts->job.summary.sum, counter);
}

bool facts_io_bytes(const struct facts *facts, enum counter counter, double *bytes)
{
    const struct counters *total = &facts->job.summary.total, *sum = &facts->job.summary.sum;
    bool is_total = counters_has(total, counter);
    *bytes = (double)counters_get(is_total ? total : sum, counter);
    return is_total || counters_has(sum, counter);
}

bool facts_io_is_attributed(const struct facts *facts, enum counter counter)
{
    double metrics, all;
    return facts_sum(facts, counter, &metrics) && facts_io_bytes(facts, counter, &all) && metrics >= ATTRIBUTED_MIN * all;
}

double facts_waiting_known_share(const struct facts *facts)
{
    double waiting_ns, running_ns, cpu_s = facts_cpu_s(facts);
    if (!facts_sum(facts, COUNTER_time_waiting, &waiting_ns))
        return 0;
    if (!facts_sum(facts, COUNTER_time_oncpu, &running_ns) || !(cpu_s > 0))
        return 1;
    return fmin(running_ns / 1e9 / cpu_s, 1);
}

double facts_waiting_s(const struct facts *facts)
{
    double waiting_ns;
    bool is_known = facts_sum(facts, COUNTER_time_waiting, &waiting_ns);
    return is_known && facts_waiting_known_share(facts) >= COVERED_MIN ? waiting_ns / 1e9 : NAN;
}

double facts_run_queue_share(const struct facts *facts)
{
    double waiting = facts_waiting_s(facts) * 1e9, running;
    if (isnan(waiting) || !facts_sum(facts, COUNTER_time_oncpu, &running))
        return NAN;
    return waiting + running > 0 ? waiting / (waiting + running) : NAN;
}
