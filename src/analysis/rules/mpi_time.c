/* Rule: much of the ranks' time is spent in MPI. Thresholds: 30 % of it, without its beginning and end, in ranks that live 1 s
 * together. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#include <math.h>
#include <string.h>

#define SHARE_MIN 0.30
#define SHARE_WASTE 0.60
#define LIFE_MIN_S 1
#define MOST 0.5 /* of the time in MPI, that goes into files, questions or waiting: other advice is needed then */

static bool begins_or_ends(const char *name)
{
    return strcmp(name, "MPI_Init") == 0 || strcmp(name, "MPI_Init_thread") == 0 || strcmp(name, "MPI_Session_init") == 0
        || strcmp(name, "MPI_Finalize") == 0 || strcmp(name, "MPI_Session_finalize") == 0;
}

/* To begin and to end takes what it takes, but for waiting there: in a short job that may be most of all, and no reason to talk
 * less. */
static double cost(const struct mpi_function *function)
{
    double time_s = begins_or_ends(function->name) ? function->sum.wait_s : function->sum.time_s;
    return time_s > 0 ? time_s : 0;
}

static bool is_of_files(const struct mpi_function *function)
{
    return strncmp(function->name, "MPI_File_", 9) == 0;
}

/* Has something come? */
static bool is_question(const char *name)
{
    return strncmp(name, "MPI_Test", 8) == 0 || strcmp(name, "MPI_Iprobe") == 0 || strcmp(name, "MPI_Improbe") == 0
        || strcmp(name, "MPI_Request_get_status") == 0 || strcmp(name, "MPI_Parrived") == 0 || strcmp(name, "MPI_Win_test") == 0;
}

/* What of the time in MPI is a reason to speak, and what it was. */
struct talk {
    double time_s, file_s, ask_s, wait_s; /* waiting on files left out: whether it was for ranks is not known */
    const struct mpi_function *first;     /* that cost most */
};

static struct talk talk_of(const struct mpi *mpi)
{
    struct talk talk = { .time_s = mpi->all.time_s };
    for (size_t i = 0; i < mpi->function_count; i++) {
        const struct mpi_function *function = &mpi->functions[i];
        double time_s = function->sum.time_s > 0 ? function->sum.time_s : 0, wait_s = function->sum.wait_s;
        talk.time_s -= time_s - cost(function);
        talk.file_s += is_of_files(function) ? time_s : 0;
        talk.ask_s += is_question(function->name) ? time_s : 0;
        talk.wait_s += !is_of_files(function) && wait_s > 0 ? wait_s : 0;
        if (!talk.first || cost(function) > cost(talk.first))
            talk.first = function;
    }
    return talk;
}

/* What most of it was for, if not for the messages themselves. */
struct reason {
    const char *what; /* " of it goes into files"; "": none */
    double time_s;
    const char *remedy;
};

static struct reason reason_of(const struct mpi *mpi, const struct talk *talk)
{
    if (talk->file_s >= MOST * talk->time_s)
        return (struct reason){ " of it goes into files", talk->file_s,
            "Read and write larger pieces, all ranks together (MPI_File_write_all and the like), or less often; look at the file "
            "system, too: stripes, and who else uses it." };
    if (talk->ask_s >= MOST * talk->time_s)
        return (struct reason){ " of it is asking whether something has come", talk->ask_s,
            "Who asks in a loop waits for others: give each rank as much to do, and let it work between two questions." };
    if (mpi->rank_total > 1 && talk->wait_s >= MOST * talk->time_s)
        return (struct reason){ " of it is waiting for other ranks", talk->wait_s,
            "Give each rank as much to do between two meetings, let them meet less often, and none begin only when another one "
            "is done; where all that is so, look at the network." };
    return (struct reason){ "", NAN,
        "Use fewer ranks for a problem of this size, or let them talk less: larger messages, calls that do not block while there "
        "is work, collectives in place of many sends." };
}

static bool judge(const struct facts *facts, struct advice *advice)
{
    const struct mpi *mpi = &facts->mpi;
    struct talk talk = talk_of(mpi);
    double share = mpi_share(mpi), part = talk.time_s / mpi->life_s;
    if (!(share >= SHARE_MIN) || !(part >= SHARE_MIN) || !(mpi->life_s >= LIFE_MIN_S) || !talk.first)
        return false;
    advice->severity = part >= SHARE_WASTE ? SEVERITY_WASTE : SEVERITY_HINT;
    advice->weight = part < 1 ? part : 1;
    struct reason reason = reason_of(mpi, &talk);
    rule_say(advice, "%s of the time of %s is spent in MPI, most of all in %s (%s of it, %s calls)%s%s%s.", say_part(share).s,
             say_many(mpi->rank_count, "rank", "ranks").s, say_name(bytes_of(talk.first->name)).s,
             say_share(talk.first->sum.time_s / mpi->all.time_s).s, say_count(talk.first->sum.calls).s,
             *reason.what ? "; " : "", *reason.what ? say_share(reason.time_s / mpi->all.time_s).s : "", reason.what);
    rule_advise(advice, "%s", reason.remedy);
    return true;
}

const struct rule rule_mpi_time = { .name = "mpi-time", .unless = "mpi-imbalance", .judge = judge };
