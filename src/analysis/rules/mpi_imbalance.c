/* Rule: ranks wait for one, or some, that have more to do. Thresholds: the others wait in MPI for 15 % of their time, the longest
 * rank works 1.25 times as long as ranks do on average; 2 ranks or more that live 1 s together. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define SHARE_MIN 0.15
#define SHARE_WASTE 0.40
#define RATIO_MIN 1.25
#define LIFE_MIN_S 1

/* The one that waits, where all others of its world are late; NULL: there are more of them. */
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

/* Words that differ where one alone waits. */
struct waiters {
    const char *rank;
    struct text name;
    const char *wait, *whose, *who;
};

static struct waiters waiters_of(const struct mpi *mpi)
{
    const struct mpi_rank *only = only_waiter(mpi);
    if (only)
        return (struct waiters){ "Rank ", rank_name_say(only->name), " waits", "its", "the one that waits" };
    return (struct waiters){ "Ranks", { "" }, " wait", "their", "those that wait" };
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct mpi *mpi = &facts->mpi;
    double share = mpi->others_wait_share, ratio = mpi->own_max_s / mpi->own_mean_s;
    if (mpi->rank_count < 2 || !(share >= SHARE_MIN) || !(ratio >= RATIO_MIN) || !(mpi->life_s >= LIFE_MIN_S))
        return false;
    advice->severity = share >= SHARE_WASTE ? SEVERITY_WASTE : SEVERITY_HINT;
    advice->weight = share < 1 ? share : 1;
    struct waiters who = waiters_of(mpi);
    struct text longest = rank_name_say(mpi->ranks[mpi->longest].name);
    if (mpi->late_count > 1) {
        rule_say(advice, "%s%s%s for %zu others for %s of %s time: these work up to %s %s (rank %s), %s do %s on average.",
                 who.rank, who.name.s, who.wait, mpi->late_count, say_share(share).s, who.whose, say_seconds(mpi->own_max_s).s,
                 mpi_own_where(mpi), longest.s, mpi_own_whose(mpi), say_seconds(mpi->own_mean_s).s);
        rule_advise(advice, "Give each rank as much to do: %s could take a part of it.", who.who);
        return true;
    }
    rule_say(advice, "%s%s%s for rank %s for %s of %s time: that one works %s %s, %s do %s on average.", who.rank, who.name.s,
             who.wait, longest.s, say_share(share).s, who.whose, say_seconds(mpi->own_max_s).s, mpi_own_where(mpi),
             mpi_own_whose(mpi), say_seconds(mpi->own_mean_s).s);
    rule_advise(advice, "Give each rank as much to do, or look at what is different on rank %s: its part of the data, its node, "
                        "its cores.", longest.s);
    return true;
}

const struct rule rule_mpi_imbalance = { .name = "mpi-imbalance", .judge = judge };
