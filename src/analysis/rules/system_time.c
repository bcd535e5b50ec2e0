/* Rule: much CPU time was spent in the kernel. Thresholds: 40 % of it, 1 s in total. The most frequent operation is
 * named as the likely cause. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define SYSTEM_SHARE 0.4
#define CPU_MIN_S 1
#define FAULTS_PER_S 50000.0 /* per second of system time, for page faults to explain it */
#define CALLS_PER_S 100000.0
#define PROCESSES_PER_S 300.0

static void advise(struct advice *advice, const struct facts *facts, double system_s)
{
    const struct syscall_stat *longest = syscall_stats_longest(&facts->calls, false);
    double faults = 0, reads = 0, writes = 0;
    facts_sum(facts, COUNTER_minflt, &faults);
    facts_sum(facts, COUNTER_syscr, &reads);
    facts_sum(facts, COUNTER_syscw, &writes);
    if ((double)facts->job.summary.images / system_s >= PROCESSES_PER_S)
        rule_set_fix(advice, "Much of it is starting and ending %s: do more in each.",
                     phrase_plural(facts->job.summary.images, "program", "programs").s);
    else if ((reads + writes) / system_s >= CALLS_PER_S)
        rule_set_fix(advice, "%s read and write calls are a likely cause: transfer more with each.",
                     phrase_count(reads + writes).s);
    else if (faults / system_s >= FAULTS_PER_S)
        rule_set_fix(advice,
                     "%s page faults are a likely cause: reuse memory instead of freeing it, or use huge pages.",
                     phrase_count(faults).s);
    else if (longest)
        rule_set_fix(advice,
                     "The system call %s took the most time, %s in total: check whether fewer of them would do.",
                     phrase_name((struct bytes){ longest->name, longest->name_size }).s,
                     phrase_duration(longest->time_s).s);
    else
        rule_set_fix(advice, "'sonde run --syscall-time COMMAND' or perf top shows the system calls.");
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    double system_us, share = facts_kernel_share(facts);
    facts_sum(facts, COUNTER_systemtime, &system_us);
    if (facts_cpu_s(facts) < CPU_MIN_S || !(share >= SYSTEM_SHARE))
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = share;
    rule_set_sentence(advice, "%s of the CPU time, %s, was spent in the kernel.", phrase_fraction(share).s,
                      phrase_duration(system_us / 1e6).s);
    advise(advice, facts, system_us / 1e6);
    return true;
}

const struct rule rule_system_time = {
    .name = "system-time", .counters = RULE_COUNTER(systemtime) | RULE_COUNTER(usertime), .judge = judge,
};
