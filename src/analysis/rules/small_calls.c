/* Rule: many tiny reads or writes, with the class of file. Thresholds: 100,000 calls, 1,000 per second, of under 1 KiB
 * on average. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <string.h>

#define CALLS_MIN 100000
#define RATE_MIN 1000
#define MEAN_MAX 1024

static bool is_small(const struct syscall_stat *call, double duration_s)
{
    return call->calls >= CALLS_MIN && call->bytes / call->calls < MEAN_MAX && call->calls / duration_s >= RATE_MIN;
}

/* The class in words. */
static const char *kind(const struct syscall_stat *call)
{
    const char *class = syscall_stats_class(call);
    return strncmp(class, "file", 4) == 0     ? "to and from files"
           : strncmp(class, "socket", 6) == 0 ? "through sockets"
           : strncmp(class, "pipe", 4) == 0   ? "through pipes"
                                              : "";
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    double duration_s = facts_duration_s(facts);
    const struct syscall_stat *found = NULL;
    for (size_t i = 0; i < facts->calls.class_count; i++)
        if (is_small(&facts->calls.classes[i], duration_s) && (!found || facts->calls.classes[i].calls > found->calls))
            found = &facts->calls.classes[i];
    if (!found)
        return false;
    double mean = found->bytes / found->calls;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.5 - mean / MEAN_MAX / 2;
    rule_set_sentence(advice, "%s %s calls transferred only %s each%s%s.", phrase_count(found->calls).s,
                      phrase_name((struct bytes){ found->name, found->name_size }).s, phrase_bytes(mean).s,
                      *kind(found) ? ", " : "", kind(found));
    rule_set_fix(advice, "Use buffering: stdio or setvbuf in C, buffered streams elsewhere, bs=1M for dd, no "
                         "unbuffered output.");
    return true;
}

const struct rule rule_small_calls = { .name = "small-calls", .needs = NEED_DURATION, .judge = judge };
