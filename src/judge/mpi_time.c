/* Rule: much of the ranks' time is spent in MPI. Thresholds: 30 % of it, in ranks that live 1 s together. */
#include "judge/rules.h"

#include "judge/say.h"

#define SHARE_MIN 0.30
#define SHARE_WASTE 0.60
#define LIFE_MIN_S 1

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct mpi *mpi = &facts->mpi;
    double share = mpi_share(mpi);
    if (!(share >= SHARE_MIN) || !(mpi->life_s >= LIFE_MIN_S) || !mpi->function_count)
        return false;
    const struct mpi_function *first = &mpi->functions[0];
    advice->severity = share >= SHARE_WASTE ? SEVERITY_WASTE : SEVERITY_HINT;
    advice->weight = share < 1 ? share : 1;
    rule_say(advice, "%s of the time of %s is spent in MPI, most of it in %s (%s of it, %s calls).", say_part(share).s,
             say_many(mpi->rank_count, "rank", "ranks").s, say_name(bytes_of(first->name)).s,
             say_share(first->sum.time_s / mpi->all.time_s).s, say_count(first->sum.calls).s);
    rule_advise(advice, "Use fewer ranks for a problem of this size, or let them talk less: larger messages, calls that do not "
                        "block while there is work, collectives in place of many sends.");
    return true;
}

const struct rule rule_mpi_time = { .name = "mpi-time", .unless = "mpi-imbalance", .judge = judge };
