/* Rule: many small messages. Thresholds: 100,000 of under 1 KiB, half of all messages, while 10 % of the ranks' time is
 * spent in MPI (if times are known). */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <math.h>

#define SMALL_MIN 100000
#define PART_MIN 0.5
#define SHARE_MIN 0.10

/* The function that sent the most of them. */
static const struct mpi_function *worst(const struct mpi *mpi)
{
    const struct mpi_function *found = &mpi->functions[0];
    for (size_t i = 1; i < mpi->function_count; i++)
        if (mpi->functions[i].sum.small > found->sum.small || isnan(found->sum.small))
            found = &mpi->functions[i];
    return found;
}

/* All messages sent; if unknown, calls of the functions that sent small ones. */
static double count_sent(const struct mpi *mpi)
{
    double calls = 0;
    for (size_t i = 0; i < mpi->function_count; i++)
        if (mpi->functions[i].sum.small > 0)
            calls += mpi->functions[i].sum.calls;
    return mpi->messages >= mpi->all.small ? mpi->messages : calls;
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct mpi *mpi = &facts->mpi;
    double small = mpi->all.small, share = mpi_share(mpi);
    if (!(small >= SMALL_MIN) || !mpi->function_count || share < SHARE_MIN)
        return false;
    double sent = count_sent(mpi);
    if (small < PART_MIN * sent)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = isnan(share) ? 0.2 : share;
    rule_set_sentence(advice, "%s MPI messages were smaller than 1 KiB, %s of all; %s sent most of them.",
                      phrase_count(small).s, phrase_percent(small < sent ? small / sent : 1).s,
                      phrase_name(bytes_of(worst(mpi)->name)).s);
    rule_set_fix(advice,
                 "Combine them: send many values in one message, use derived types or MPI_Pack, or a collective.");
    return true;
}

const struct rule rule_mpi_small_messages = { .name = "mpi-small-messages", .judge = judge };
