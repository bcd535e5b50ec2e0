/* Rule: much CPU time went into the kernel. Thresholds: 40 % of it, 1 s in all. What it did there is told by what there
 * was most of. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define SYSTEM_SHARE 0.4
#define CPU_MIN_S 1
#define FAULTS_PER_S 50000.0 /* of system time: from here on page faults explain it */
#define CALLS_PER_S 100000.0
#define PROCESSES_PER_S 300.0

static void advise(struct advice *advice, const struct facts *facts, double system_s)
{
    const struct call *longest = calls_longest(&facts->calls, false);
    double faults = 0, reads = 0, writes = 0;
    facts_sum(facts, COUNTER_minflt, &faults);
    facts_sum(facts, COUNTER_syscr, &reads);
    facts_sum(facts, COUNTER_syscw, &writes);
    if ((double)facts->job.summary.images / system_s >= PROCESSES_PER_S)
        rule_advise(advice, "Much of it starts and ends %s: do more in each.",
                    say_many(facts->job.summary.images, "program", "programs").s);
    else if ((reads + writes) / system_s >= CALLS_PER_S)
        rule_advise(advice, "%s read and write calls are a likely cause: move more with each.",
                    say_count(reads + writes).s);
    else if (faults / system_s >= FAULTS_PER_S)
        rule_advise(advice, "%s page faults are a likely cause: use memory again instead of freeing it, or huge pages.",
                    say_count(faults).s);
    else if (longest)
        rule_advise(advice, "Of its system calls %s took longest, %s in all: see whether fewer of them would do.",
                    say_name((struct bytes){ longest->name, longest->name_size }).s, say_seconds(longest->time_s).s);
    else
        rule_advise(advice, "sonde run --syscall-time CMD, or perf top, shows which calls they are.");
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    double system_us, share = facts_kernel_share(facts);
    facts_sum(facts, COUNTER_systemtime, &system_us);
    if (facts_cpu_s(facts) < CPU_MIN_S || !(share >= SYSTEM_SHARE))
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = share;
    rule_say(advice, "%s of the CPU time, %s, went into the kernel.", say_part(share).s,
             say_seconds(system_us / 1e6).s);
    advise(advice, facts, system_us / 1e6);
    return true;
}

const struct rule rule_system_time = {
    .name = "system-time", .counters = RULE_COUNTER(systemtime) | RULE_COUNTER(usertime), .judge = judge,
};
