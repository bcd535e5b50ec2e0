/* Rule: one thread or process worked while its peers waited. Thresholds: the average peer used under half the CPU time
 * of the busiest, together they used 30 % of the job's, and under 75 % of the cores were busy. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define BALANCE_MAX 0.5  /* average / busiest */
#define JOB_SHARE 0.3
#define BUSY_SHARE 0.75
#define TOGETHER 0.7     /* average lifetime of the others, relative to that of the busiest one */
#define CPU_MIN_S 1

/* Peers that ran at the same time. */
struct peer_group {
    struct format_text what; /* "8 threads of lmp" */
    const char *one;
    uint64_t count;
    double cpu_s, busiest_s;
};

static bool uneven(const struct peer_group *group, const struct facts *facts)
{
    return group->count >= 2 && group->cpu_s >= CPU_MIN_S && group->cpu_s >= JOB_SHARE * facts_cpu_s(facts) &&
           group->cpu_s / (double)group->count < BALANCE_MAX * group->busiest_s;
}

static bool find_threads(const struct facts *facts, struct peer_group *group)
{
    if (!facts->thread_count)
        return false;
    const struct facts_thread *busiest = &facts->threads[0];
    for (size_t i = 0; i < facts->process_count; i++) {
        const struct process *process = &facts->processes[i];
        if (facts->process_number[i] != busiest->process || process->thread_count > facts->job.summary.threads_peak)
            continue;
        *group = (struct peer_group){ .one = "thread", .count = process->thread_count,
            .cpu_s = (double)counters_cpu_us(&process->counters) / 1e6,
            .busiest_s = (double)counters_cpu_us(&busiest->thread.counters) / 1e6, .what = phrase_name(process->name) };
        return uneven(group, facts);
    }
    return false;
}

static bool find_processes(const struct facts *facts, struct peer_group *group)
{
    for (size_t i = 0; i < facts->process_count; i++) {
        const struct process *busiest = &facts->processes[i];
        for (size_t k = 0; k < facts->executable_count; k++) {
            const struct summary_executable *executable = &facts->executables[k];
            if (!bytes_equal(executable->path, busiest->path) || !bytes_equal(executable->name, busiest->name) ||
                executable->count > facts->job.summary.live_peak || executable->count < 2 ||
                (double)executable->wall_ns / (double)executable->count <
                    TOGETHER * (double)(busiest->end_ns - busiest->start_ns))
                continue;
            *group = (struct peer_group){ .one = "process",
                                     .count = executable->count,
                                     .cpu_s = (double)executable->cpu_us / 1e6,
                                     .busiest_s = (double)counters_cpu_us(&busiest->counters) / 1e6,
                                     .what = phrase_name(executable->name) };
            if (uneven(group, facts))
                return true;
        }
    }
    return false;
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    struct peer_group group;
    if (facts_cores_wanted(facts) >= BUSY_SHARE * facts_cores_allocated(facts))
        return false;
    if (!find_threads(facts, &group) && !find_processes(facts, &group))
        return false;
    double others_s = (group.cpu_s - group.busiest_s) / (double)(group.count - 1);
    bool threads = group.one[0] == 't';
    advice->severity = SEVERITY_HINT;
    advice->weight = 1 - others_s / group.busiest_s;
    rule_set_sentence(advice, "One of %s %s of %s used %s of CPU time, the others %s on average.",
                      format_count(group.count).s, threads ? "threads" : "processes", group.what.s,
                      phrase_duration(group.busiest_s).s, phrase_duration(others_s > 0 ? others_s : 0).s);
    rule_set_fix(advice, "Distribute the work more evenly (smaller chunks, dynamic scheduling), or start fewer %s.",
                 threads ? "threads" : "processes");
    return true;
}

const struct rule rule_imbalance = {
    .name = "imbalance", .needs = NEED_DURATION | NEED_CPU | NEED_CORES, .judge = judge,
};
