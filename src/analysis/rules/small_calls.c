/* Rule: many tiny reads or writes, with what they went to. Thresholds: 100,000 calls, 1,000 a second, of under 1 KiB on
 * average. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <string.h>

#define CALLS_MIN 100000
#define RATE_MIN 1000
#define MEAN_MAX 1024

static bool is_small(const struct call *call, double duration_s)
{
    return call->calls >= CALLS_MIN && call->bytes / call->calls < MEAN_MAX && call->calls / duration_s >= RATE_MIN;
}

/* What people know it as. */
static const char *kind(const struct call *call)
{
    const char *class = calls_class(call);
    return strncmp(class, "file", 4) == 0     ? "to and from files"
           : strncmp(class, "socket", 6) == 0 ? "through sockets"
           : strncmp(class, "pipe", 4) == 0   ? "through pipes"
                                              : "";
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    double duration_s = facts_duration_s(facts);
    const struct call *found = NULL;
    for (size_t i = 0; i < facts->calls.class_count; i++)
        if (is_small(&facts->calls.classes[i], duration_s) && (!found || facts->calls.classes[i].calls > found->calls))
            found = &facts->calls.classes[i];
    if (!found)
        return false;
    double mean = found->bytes / found->calls;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.5 - mean / MEAN_MAX / 2;
    rule_say(advice, "%s calls of %s moved only %s each%s%s.", say_count(found->calls).s,
             say_name((struct bytes){ found->name, found->name_size }).s, say_bytes(mean).s, *kind(found) ? ", " : "",
             kind(found));
    rule_advise(advice, "Gather them: stdio or setvbuf in C, buffered streams elsewhere, bs=1M for dd, no unbuffered output.");
    return true;
}

const struct rule rule_small_calls = { .name = "small-calls", .needs = NEED_DURATION, .judge = judge };
