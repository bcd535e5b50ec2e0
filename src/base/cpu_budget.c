/* CLOCK_THREAD_CPUTIME_ID is a system call of 200 ns: it is read for one of many questions. */
#include "base/cpu_budget.h"

#include "base/clock.h"

#define QUESTIONS 1024

static _Thread_local uint64_t end_ns; /* of the thread's processor time; 0: no limit */
static _Thread_local unsigned questions;

void cpu_budget_set(uint64_t ns)
{
    end_ns = ns ? clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns : 0;
    questions = 0;
}

bool cpu_budget_is_spent(void)
{
    static _Thread_local bool is_spent;
    if (!end_ns)
        return false;
    if (questions++ % QUESTIONS == 0)
        is_spent = clock_ns(CLOCK_THREAD_CPUTIME_ID) >= end_ns;
    return is_spent;
}
