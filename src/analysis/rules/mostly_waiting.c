/* Rule: the job used hardly any CPU. Threshold: under half a core on average, in a job of 1 s or more. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define CORES_USED 0.5
#define DURATION_MIN_S 1
#define STORAGE_SHARE 0.3 /* of the duration, for storage to be named as the reason */

static void advise(struct advice *advice, const struct facts *facts)
{
    const struct syscall_stat *longest = syscall_stats_longest(&facts->calls, true);
    double blocked_us, duration_s = facts_duration_s(facts);
    if (facts_sum(facts, COUNTER_delayacct_blkio_time, &blocked_us) && blocked_us / 1e6 >= STORAGE_SHARE * duration_s)
        rule_set_fix(advice,
                     "It waited for storage: read ahead, use larger blocks, or move the data to faster storage.");
    else if (longest)
        rule_set_fix(advice, "Most time was in the system call %s, %s in total: find out what it waited for there.",
                     phrase_name((struct bytes){ longest->name, longest->name_size }).s,
                     phrase_duration(longest->time_s).s);
    else
        rule_set_fix(advice, "Find out what it waited for: sleep, input, network, locks or storage ('sonde run "
                             "--syscall-time COMMAND' shows it).");
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    double used = facts_cores_used(facts), duration_s = facts_duration_s(facts);
    if (facts_cores_wanted(facts) >= CORES_USED || duration_s < DURATION_MIN_S)
        return false; /* threads waiting for a CPU had work to do: analysis/rules/run_queue.c */
    advice->severity = used < CORES_USED / 2 ? SEVERITY_WASTE : SEVERITY_HINT;
    advice->weight = 1 - used;
    rule_set_sentence(advice, "The job used %s of CPU time in %s (%s of a core): it waited most of the time.",
                      phrase_duration(facts_cpu_s(facts)).s, phrase_duration(duration_s).s, phrase_percent(used).s);
    advise(advice, facts);
    return true;
}

const struct rule rule_mostly_waiting = { .name = "mostly-waiting", .needs = NEED_DURATION | NEED_CPU, .judge = judge };
