/* Reads the counts through agent_notify.h. An agent reports since when it counts: another time means another agent,
 * or one that has restarted. If it does not report that, counts that decrease, or having to notify it again, mean
 * the same. */
#include "run/agent_syscalls.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "model/program_sets.h"
#include "run/agent_notify.h"

#include <string.h>

#define PAUSE_NS (NS_PER_S - NS_PER_S / 10) /* timer ticks are not exactly one second apart */
#define NO_RESPONSE_PAUSE_NS (10 * NS_PER_S)           /* the agent did not respond: wait longer before the next attempt */

void agent_syscalls_begin(struct agent_syscalls *calls)
{
    *calls = (struct agent_syscalls){ .is_on = true, .last_ns = clock_realtime_ns() };
    batch_init(&calls->before);
    batch_init(&calls->totals);
}

void agent_syscalls_close(struct agent_syscalls *calls)
{
    batch_clear(&calls->before);
    batch_clear(&calls->totals);
    *calls = (struct agent_syscalls){ 0 };
}

static uint64_t total_calls(const struct batch *batch)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->samples[i].set == &syscall_set)
            sum += batch->samples[i].values[SYSCALL_CALLS].u64;
    return sum;
}

static const struct sample *find(const struct batch *batch, const struct sample *like)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->samples[i].set == like->set && !strcmp(batch->samples[i].instance, like->instance))
            return &batch->samples[i];
    return NULL;
}

/* more may be NULL. A value is known if it is known in either of the two. */
static enum err add_sum(struct batch *to, uint64_t time_ns, const struct sample *one, const struct sample *more)
{
    struct sample *sum = batch_add(to, one->set, time_ns, one->instance);
    for (size_t i = 0; sum && i < one->set->size; i++)
        if (one->known[i] || (more && more->known[i]))
            sample_set_u64(sum, i, one->values[i].u64 + (more ? more->values[i].u64 : 0));
    return sum ? OK : NOMEM;
}

static enum err sum_up(struct agent_syscalls *calls, const struct batch *answer, uint64_t time_ns)
{
    enum err err = OK;
    batch_reset(&calls->totals);
    for (size_t i = 0; i < answer->count && !err; i++)
        err = add_sum(&calls->totals, time_ns, &answer->samples[i], find(&calls->before, &answer->samples[i]));
    for (size_t i = 0; i < calls->before.count && !err; i++)
        if (!find(answer, &calls->before.samples[i]))
            err = add_sum(&calls->totals, time_ns, &calls->before.samples[i], NULL);
    return err;
}

static bool is_other_agent(const struct agent_syscalls *calls, const struct agent_answer *answer)
{
    if (!answer->since_ns)
        return calls->is_restarted || total_calls(&answer->counts) < calls->calls;
    return calls->since_ns ? answer->since_ns != calls->since_ns : answer->since_ns > calls->last_ns;
}

/* Another agent counts from here on: keep what the previous ones have counted. */
static void change_agent(struct agent_syscalls *calls, const struct agent_answer *answer, struct batch *out)
{
    struct batch before = calls->before;
    uint64_t restarted_ns = answer->since_ns ? answer->since_ns : calls->is_restarted ? calls->restarted_ns : answer->time_ns;
    if (restarted_ns < calls->last_ns) /* the clock was set back */
        restarted_ns = calls->last_ns;
    calls->before = calls->totals;
    calls->totals = before;
    program_sets_add_way(out, calls->last_ns, SYSCALL_WAY_NONE);
    program_sets_add_way(out, restarted_ns, SYSCALL_WAY_KERNEL);
    log_warn("the agent that counts system calls was restarted: system calls of %s are missing",
             format_duration(restarted_ns - calls->last_ns).s);
}

enum err agent_syscalls_add(struct agent_syscalls *calls, const struct agent_answer *answer, struct batch *out)
{
    if (is_other_agent(calls, answer))
        change_agent(calls, answer, out);
    calls->is_restarted = false;
    calls->calls = total_calls(&answer->counts);
    calls->since_ns = answer->since_ns;
    calls->last_ns = answer->time_ns;
    enum err err = sum_up(calls, &answer->counts, answer->time_ns);
    for (size_t i = 0; i < calls->totals.count && !err; i++)
        err = add_sum(out, answer->time_ns, &calls->totals.samples[i], NULL);
    return err;
}

/* A new agent, which does not know this run. It may count even if its answer comes too late. */
static void begin_again(struct agent_syscalls *calls)
{
    enum err err = agent_notify_begin_again();
    if (err && err != AGAIN)
        return;
    calls->is_restarted = true;
    calls->restarted_ns = clock_realtime_ns();
}

static void give_up(struct agent_syscalls *calls, struct batch *out)
{
    program_sets_add_way(out, calls->last_ns, SYSCALL_WAY_NONE);
    log_warn("the agent no longer reports system calls: those of the last %s are missing",
             format_duration(clock_realtime_ns() - calls->last_ns).s);
    calls->is_on = false;
}

void agent_syscalls_read(struct agent_syscalls *calls, bool is_last, struct batch *out)
{
    struct agent_answer answer;
    uint64_t now_ns = clock_monotonic_ns();
    if (!calls->is_on || (!is_last && now_ns < calls->next_ns))
        return;
    batch_init(&answer.counts);
    enum err err = agent_notify_read_counts(is_last, &answer.since_ns, &answer.counts);
    answer.time_ns = clock_realtime_ns();
    if (!err)
        agent_syscalls_add(calls, &answer, out);
    else if (is_last)
        give_up(calls, out);
    else if (err == ABSENT)
        begin_again(calls);
    calls->next_ns = now_ns + (err == AGAIN ? NO_RESPONSE_PAUSE_NS : PAUSE_NS);
    batch_clear(&answer.counts);
}
