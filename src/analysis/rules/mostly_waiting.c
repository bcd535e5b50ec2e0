/* Rule: the job used hardly any CPU. Threshold: under half a core on average, in a job of 1 s or more. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define CORES_USED 0.5
#define DURATION_MIN_S 1
#define STORAGE_SHARE 0.3 /* of the duration, from which on storage is named as the reason */

static void advise(struct advice *advice, const struct facts *facts)
{
    const struct call *longest = calls_longest(&facts->calls, true);
    double blocked_us, duration_s = facts_duration_s(facts);
    if (facts_sum(facts, COUNTER_delayacct_blkio_time, &blocked_us) && blocked_us / 1e6 >= STORAGE_SHARE * duration_s)
        rule_advise(advice, "It waited for storage: read ahead, use larger blocks, or keep the data in a faster place.");
    else if (longest)
        rule_advise(advice, "It was longest in the system call %s, %s in all: see for what it waited there.",
                    say_name((struct bytes){ longest->name, longest->name_size }).s, say_seconds(longest->time_s).s);
    else
        rule_advise(advice, "Find out for what it waited: sleep, input, network, locks or storage (sonde run "
                            "--syscall-time CMD shows it).");
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    double used = facts_cores_used(facts), duration_s = facts_duration_s(facts);
    if (facts_cores_wanted(facts) >= CORES_USED || duration_s < DURATION_MIN_S)
        return false; /* what waited for a CPU had something to do: analysis/rules/run_queue.c */
    advice->severity = used < CORES_USED / 2 ? SEVERITY_WASTE : SEVERITY_HINT;
    advice->weight = 1 - used;
    rule_say(advice, "The job used %s of CPU time in %s (%s of a core): it waited most of the time.",
             say_seconds(facts_cpu_s(facts)).s, say_seconds(duration_s).s, say_share(used).s);
    advise(advice, facts);
    return true;
}

const struct rule rule_mostly_waiting = { .name = "mostly-waiting", .needs = NEED_DURATION | NEED_CPU, .judge = judge };
