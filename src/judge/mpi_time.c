/* Rule: much of the ranks' time is spent in MPI. Thresholds: 30 % of it, without its beginning and end, in ranks that live 1 s
 * together. */
#include "judge/rules.h"

#include "judge/say.h"

#include <string.h>

#define SHARE_MIN 0.30
#define SHARE_WASTE 0.60
#define LIFE_MIN_S 1

static bool begins_or_ends(const char *name)
{
    return strcmp(name, "MPI_Init") == 0 || strcmp(name, "MPI_Init_thread") == 0 || strcmp(name, "MPI_Session_init") == 0
        || strcmp(name, "MPI_Finalize") == 0 || strcmp(name, "MPI_Session_finalize") == 0;
}

/* To begin and to end takes what it takes: in a short job that may be most of all, and no reason to talk less. */
static double talk_share(const struct mpi *mpi)
{
    double talk_s = mpi->all.time_s;
    for (size_t i = 0; i < mpi->function_count; i++) {
        const struct mpi_sum *sum = &mpi->functions[i].sum;
        if (begins_or_ends(mpi->functions[i].name) && sum->time_s > 0)
            talk_s -= sum->time_s - (sum->wait_s > 0 ? sum->wait_s : 0);
    }
    return talk_s / mpi->life_s;
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct mpi *mpi = &facts->mpi;
    double share = mpi_share(mpi), talk = talk_share(mpi);
    if (!(share >= SHARE_MIN) || !(talk >= SHARE_MIN) || !(mpi->life_s >= LIFE_MIN_S) || !mpi->function_count)
        return false;
    const struct mpi_function *first = &mpi->functions[0];
    advice->severity = talk >= SHARE_WASTE ? SEVERITY_WASTE : SEVERITY_HINT;
    advice->weight = talk < 1 ? talk : 1;
    rule_say(advice, "%s of the time of %s is spent in MPI, most of all in %s (%s of it, %s calls).", say_part(share).s,
             say_many(mpi->rank_count, "rank", "ranks").s, say_name(bytes_of(first->name)).s,
             say_share(first->sum.time_s / mpi->all.time_s).s, say_count(first->sum.calls).s);
    rule_advise(advice, "Use fewer ranks for a problem of this size, or let them talk less: larger messages, calls that do not "
                        "block while there is work, collectives in place of many sends.");
    return true;
}

const struct rule rule_mpi_time = { .name = "mpi-time", .unless = "mpi-imbalance", .judge = judge };
