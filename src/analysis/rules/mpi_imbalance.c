/* Rule: ranks wait for one or several others that have more to do. Thresholds: the others wait in MPI for 15 % of their
 * time, the longest rank works 1.25 times as long as the average; 2 ranks or more that run for 1 s in total. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define SHARE_MIN 0.15
#define SHARE_WASTE 0.40
#define RATIO_MIN 1.25
#define LIFE_MIN_S 1

/* The rank that waits, if all others of its world are late; NULL: several wait. */
static const struct mpi_rank *only_waiter(const struct mpi *mpi)
{
    const struct mpi_rank *found = NULL;
    for (size_t i = 0; i < mpi->rank_count; i++) {
        const struct mpi_rank *rank = &mpi->ranks[i];
        if (rank->is_late || !rank_name_same_world(rank->name, mpi->ranks[mpi->longest].name))
            continue;
        if (found)
            return NULL;
        found = rank;
    }
    return found;
}

/* Words for one or several waiting ranks. */
struct waiters {
    const char *rank;
    struct format_text name;
    const char *wait, *whose, *waiters;
};

static struct waiters waiters_of(const struct mpi *mpi)
{
    const struct mpi_rank *only = only_waiter(mpi);
    if (only)
        return (struct waiters){ "Rank ", rank_name_format(only->name), " waits", "its", "the waiting rank" };
    return (struct waiters){ "Ranks", { "" }, " wait", "their", "the waiting ranks" };
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct mpi *mpi = &facts->mpi;
    double share = mpi->others_wait_share, ratio = mpi->own_max_s / mpi->own_mean_s;
    if (mpi->rank_count < 2 || !(share >= SHARE_MIN) || !(ratio >= RATIO_MIN) || !(mpi->life_s >= LIFE_MIN_S))
        return false;
    advice->severity = share >= SHARE_WASTE ? SEVERITY_WASTE : SEVERITY_HINT;
    advice->weight = share < 1 ? share : 1;
    struct waiters waiters = waiters_of(mpi);
    struct format_text longest = rank_name_format(mpi->ranks[mpi->longest].name);
    if (mpi->late_count > 1) {
        rule_set_sentence(advice, "%s%s%s for %zu others for %s of %s time: these work up to %s %s (rank %s), %s work "
                                  "%s on average.", waiters.rank, waiters.name.s, waiters.wait, mpi->late_count,
                          phrase_percent(share).s, waiters.whose, phrase_duration(mpi->own_max_s).s, mpi_own_where(mpi),
                          longest.s, mpi_own_whose(mpi), phrase_duration(mpi->own_mean_s).s);
        rule_set_fix(advice, "Balance the work between ranks: %s could take a part of it.", waiters.waiters);
        return true;
    }
    rule_set_sentence(advice, "%s%s%s for rank %s for %s of %s time: it works %s %s, %s work %s on average.", waiters.rank,
                      waiters.name.s, waiters.wait, longest.s, phrase_percent(share).s, waiters.whose,
                      phrase_duration(mpi->own_max_s).s, mpi_own_where(mpi), mpi_own_whose(mpi),
                      phrase_duration(mpi->own_mean_s).s);
    rule_set_fix(advice, "Balance the work between ranks, or check what is different on rank %s: its part of the data, "
                         "its node, its cores.", longest.s);
    return true;
}

const struct rule rule_mpi_imbalance = { .name = "mpi-imbalance", .judge = judge };
