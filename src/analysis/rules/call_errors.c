/* Rule: a system call that fails again and again. Thresholds: 10,000 errors, half of the calls, 100 a second; calls that wait are
 * left aside, since they fail when nothing has come. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define ERRORS_MIN 10000
#define PART_MIN 0.5
#define RATE_MIN 100

static bool is_bad(const struct call *call, double duration_s)
{
    return !calls_waits(call) && call->errors >= ERRORS_MIN && call->errors >= PART_MIN * call->calls
           && call->errors / duration_s >= RATE_MIN;
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    double duration_s = facts_duration_s(facts);
    const struct call *found = NULL;
    for (size_t i = 0; i < facts->calls.count; i++)
        if (is_bad(&facts->calls.list[i], duration_s) && (!found || facts->calls.list[i].errors > found->errors))
            found = &facts->calls.list[i];
    if (!found)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.3;
    rule_say(advice, "%s of %s calls of %s failed.", say_count(found->errors).s, say_count(found->calls).s,
             say_name((struct bytes){ found->name, found->name_size }).s);
    rule_advise(advice, "See what it looks for in vain: 'strace -f -Z -e trace=%s' shows it. Long search paths (PATH, "
                        "LD_LIBRARY_PATH, PYTHONPATH) and polling are the usual reasons.",
                say_name((struct bytes){ found->name, found->name_size }).s);
    return true;
}

const struct rule rule_call_errors = { .name = "call-errors", .needs = NEED_DURATION, .judge = judge };
