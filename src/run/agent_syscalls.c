/* Asks through agent_notify.h. An agent says from when on it counts: one that says something else is another, or has
 * begun anew. Of one that does not say, numbers only grow: where they fell, or where we had to tell of the job again,
 * another one counts. */
#include "run/agent_syscalls.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "model/program_sets.h"
#include "run/agent_notify.h"

#include <string.h>

#define PAUSE_NS (NS_PER_S - NS_PER_S / 10) /* ticks of a second are not that exact */
#define ASLEEP_NS (10 * NS_PER_S)           /* we have waited for the agent in vain: not again that soon */

void agent_calls_begin(struct agent_calls *calls)
{
    *calls = (struct agent_calls){ .is_on = true, .last_ns = clock_realtime_ns() };
    batch_init(&calls->before);
    batch_init(&calls->seen);
}

void agent_calls_close(struct agent_calls *calls)
{
    batch_clear(&calls->before);
    batch_clear(&calls->seen);
    *calls = (struct agent_calls){ 0 };
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

/* more may be NULL. What one of the two knows is known. */
static enum err add_sum(struct batch *to, uint64_t time_ns, const struct sample *one, const struct sample *more)
{
    struct sample *sum = batch_add(to, one->set, time_ns, one->instance);
    for (size_t i = 0; sum && i < one->set->size; i++)
        if (one->known[i] || (more && more->known[i]))
            sample_set_u64(sum, i, one->values[i].u64 + (more ? more->values[i].u64 : 0));
    return sum ? OK : NOMEM;
}

static enum err sum_up(struct agent_calls *calls, const struct batch *answer, uint64_t time_ns)
{
    enum err err = OK;
    batch_reset(&calls->seen);
    for (size_t i = 0; i < answer->count && !err; i++)
        err = add_sum(&calls->seen, time_ns, &answer->samples[i], find(&calls->before, &answer->samples[i]));
    for (size_t i = 0; i < calls->before.count && !err; i++)
        if (!find(answer, &calls->before.samples[i]))
            err = add_sum(&calls->seen, time_ns, &calls->before.samples[i], NULL);
    return err;
}

static bool is_another(const struct agent_calls *calls, const struct agent_answer *answer)
{
    if (!answer->since_ns)
        return calls->is_anew || total_calls(&answer->counts) < calls->calls;
    return calls->since_ns ? answer->since_ns != calls->since_ns : answer->since_ns > calls->last_ns;
}

/* Another agent counts: what those before it have counted stays. */
static void change_agent(struct agent_calls *calls, const struct agent_answer *answer, struct batch *out)
{
    struct batch before = calls->before;
    uint64_t begun_ns = answer->since_ns ? answer->since_ns : calls->is_anew ? calls->begun_ns : answer->time_ns;
    if (begun_ns < calls->last_ns) /* the clock was set back */
        begun_ns = calls->last_ns;
    calls->before = calls->seen;
    calls->seen = before;
    program_sets_add_way(out, calls->last_ns, SYSCALL_WAY_NONE);
    program_sets_add_way(out, begun_ns, SYSCALL_WAY_KERNEL);
    log_warn("the agent that counts system calls was gone for a while: those of %s are missing",
             text_duration(begun_ns - calls->last_ns).s);
}

enum err agent_calls_take(struct agent_calls *calls, const struct agent_answer *answer, struct batch *out)
{
    if (is_another(calls, answer))
        change_agent(calls, answer, out);
    calls->is_anew = false;
    calls->calls = total_calls(&answer->counts);
    calls->since_ns = answer->since_ns;
    calls->last_ns = answer->time_ns;
    enum err err = sum_up(calls, &answer->counts, answer->time_ns);
    for (size_t i = 0; i < calls->seen.count && !err; i++)
        err = add_sum(out, answer->time_ns, &calls->seen.samples[i], NULL);
    return err;
}

/* An agent that does not know of the run has come after the one that did. It may count although its answer came too late. */
static void begin_anew(struct agent_calls *calls)
{
    enum err err = run_tell_begin_again();
    if (err && err != AGAIN)
        return;
    calls->is_anew = true;
    calls->begun_ns = clock_realtime_ns();
}

static void give_up(struct agent_calls *calls, struct batch *out)
{
    program_sets_add_way(out, calls->last_ns, SYSCALL_WAY_NONE);
    log_warn("the agent does not tell any more what system calls it has counted: those of the last %s are missing",
             text_duration(clock_realtime_ns() - calls->last_ns).s);
    calls->is_on = false;
}

void agent_calls_read(struct agent_calls *calls, bool is_last, struct batch *out)
{
    struct agent_answer answer;
    uint64_t now_ns = clock_monotonic_ns();
    if (!calls->is_on || (!is_last && now_ns < calls->next_ns))
        return;
    batch_init(&answer.counts);
    enum err err = run_tell_read_counts(is_last, &answer.since_ns, &answer.counts);
    answer.time_ns = clock_realtime_ns();
    if (!err)
        agent_calls_take(calls, &answer, out);
    else if (is_last)
        give_up(calls, out);
    else if (err == ABSENT)
        begin_anew(calls);
    calls->next_ns = now_ns + (err == AGAIN ? ASLEEP_NS : PAUSE_NS);
    batch_clear(&answer.counts);
}
