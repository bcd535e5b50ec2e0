/* Rule: much of the ranks' time is spent in MPI. Thresholds: 30 % of it, without startup and shutdown, in ranks that
 * run for 1 s in total. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <math.h>
#include <string.h>

#define SHARE_MIN 0.30
#define SHARE_WASTE 0.60
#define LIFE_MIN_S 1
#define MOST 0.5 /* share of the time in MPI spent on files, polling or waiting that needs other advice */

static bool is_startup_or_shutdown(const char *name)
{
    return strcmp(name, "MPI_Init") == 0 || strcmp(name, "MPI_Init_thread") == 0 || strcmp(name, "MPI_Session_init") == 0
        || strcmp(name, "MPI_Finalize") == 0 || strcmp(name, "MPI_Session_finalize") == 0;
}

/* Startup and shutdown cost what they cost, except for waiting in them: in a short job they may dominate, which is no
 * reason to communicate less. */
static double cost(const struct mpi_function *function)
{
    double time_s = is_startup_or_shutdown(function->name) ? function->sum.wait_s : function->sum.time_s;
    return time_s > 0 ? time_s : 0;
}

static bool is_file_io(const struct mpi_function *function)
{
    return strncmp(function->name, "MPI_File_", 9) == 0;
}

/* Functions that check whether something has arrived. */
static bool is_polling(const char *name)
{
    return strncmp(name, "MPI_Test", 8) == 0 || strcmp(name, "MPI_Iprobe") == 0 || strcmp(name, "MPI_Improbe") == 0
        || strcmp(name, "MPI_Request_get_status") == 0 || strcmp(name, "MPI_Parrived") == 0 || strcmp(name, "MPI_Win_test") == 0;
}

/* The time in MPI that matters, and what it was spent on. */
struct mpi_cost {
    double time_s, file_s, poll_s, wait_s; /* without waits in MPI-IO, which may not be for ranks */
    const struct mpi_function *first;     /* the most expensive one */
};

static struct mpi_cost cost_of(const struct mpi *mpi)
{
    struct mpi_cost total = { .time_s = mpi->all.time_s };
    for (size_t i = 0; i < mpi->function_count; i++) {
        const struct mpi_function *function = &mpi->functions[i];
        double time_s = function->sum.time_s > 0 ? function->sum.time_s : 0, wait_s = function->sum.wait_s;
        total.time_s -= time_s - cost(function);
        total.file_s += is_file_io(function) ? time_s : 0;
        total.poll_s += is_polling(function->name) ? time_s : 0;
        total.wait_s += !is_file_io(function) && wait_s > 0 ? wait_s : 0;
        if (!total.first || cost(function) > cost(total.first))
            total.first = function;
    }
    return total;
}

/* What most of the time was spent on, if not on the messages themselves. */
struct mpi_reason {
    const char *what; /* " of it is file I/O"; "": none */
    double time_s;
    const char *fix;
};

static struct mpi_reason reason_of(const struct mpi *mpi, const struct mpi_cost *total)
{
    if (total->file_s >= MOST * total->time_s)
        return (struct mpi_reason){ " of it is file I/O", total->file_s,
            "Read and write larger blocks, collectively (MPI_File_write_all etc.), or less often; also check the file system: "
            "striping, and load from other jobs." };
    if (total->poll_s >= MOST * total->time_s)
        return (struct mpi_reason){ " of it is polling", total->poll_s,
            "Ranks that poll in a loop wait for others: balance the work, and compute between two polls." };
    if (mpi->rank_total > 1 && total->wait_s >= MOST * total->time_s)
        return (struct mpi_reason){ " of it is waiting for other ranks", total->wait_s,
            "Balance the work between synchronization points, synchronize less often, and avoid ranks that start only when "
            "another "
            "one has finished; otherwise check the network." };
    return (struct mpi_reason){ "", NAN,
        "Use fewer ranks for a problem of this size, or communicate less: larger messages, non-blocking calls that overlap with "
        "computation, collectives instead of many sends." };
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct mpi *mpi = &facts->mpi;
    struct mpi_cost total = cost_of(mpi);
    double share = mpi_share(mpi), part = total.time_s / mpi->life_s;
    if (!(share >= SHARE_MIN) || !(part >= SHARE_MIN) || !(mpi->life_s >= LIFE_MIN_S) || !total.first)
        return false;
    advice->severity = part >= SHARE_WASTE ? SEVERITY_WASTE : SEVERITY_HINT;
    advice->weight = part < 1 ? part : 1;
    struct mpi_reason reason = reason_of(mpi, &total);
    rule_set_sentence(advice, "%s of the time of %s is spent in MPI, most of it in %s (%s, %s calls)%s%s%s.",
                      phrase_fraction(share).s, phrase_plural(mpi->rank_count, "rank", "ranks").s,
                      phrase_name(bytes_of(total.first->name)).s,
                      phrase_percent(total.first->sum.time_s / mpi->all.time_s).s,
                      phrase_count(total.first->sum.calls).s, *reason.what ? "; " : "",
                      *reason.what ? phrase_percent(reason.time_s / mpi->all.time_s).s : "", reason.what);
    rule_set_fix(advice, "%s", reason.fix);
    return true;
}

const struct rule rule_mpi_time = { .name = "mpi-time", .unless = "mpi-imbalance", .judge = judge };
