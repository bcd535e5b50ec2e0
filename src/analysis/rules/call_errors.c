/* Rule: a system call fails again and again. Thresholds: 10,000 errors, half of the calls, 100 per second; calls that
 * wait are excluded, since they fail whenever nothing has arrived. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define ERRORS_MIN 10000
#define PART_MIN 0.5
#define RATE_MIN 100

static bool is_bad(const struct syscall_stat *call, double duration_s)
{
    return !syscall_stats_waits(call) && call->errors >= ERRORS_MIN && call->errors >= PART_MIN * call->calls
           && call->errors / duration_s >= RATE_MIN;
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    double duration_s = facts_duration_s(facts);
    const struct syscall_stat *found = NULL;
    for (size_t i = 0; i < facts->calls.count; i++)
        if (is_bad(&facts->calls.list[i], duration_s) && (!found || facts->calls.list[i].errors > found->errors))
            found = &facts->calls.list[i];
    if (!found)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.3;
    rule_set_sentence(advice, "%s of %s %s calls failed.", phrase_count(found->errors).s, phrase_count(found->calls).s,
                      phrase_name((struct bytes){ found->name, found->name_size }).s);
    rule_set_fix(advice, "Find out why with 'strace -f -Z -e trace=%s'. Long search paths (PATH, LD_LIBRARY_PATH, "
                         "PYTHONPATH) and polling are common causes.",
                 phrase_name((struct bytes){ found->name, found->name_size }).s);
    return true;
}

const struct rule rule_call_errors = { .name = "call-errors", .needs = NEED_DURATION, .judge = judge };
