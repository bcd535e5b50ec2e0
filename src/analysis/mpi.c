/* Sums up rows "RANK/FUNCTION" by rank and by function; rows "FROM>TO" become pairs. */
#include "analysis/mpi.h"

#include "model/program_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NS 1e9
#define FINALIZE "MPI_Finalize"
#define LIFE_ERROR 1.01   /* clock tolerance: more time in MPI than this factor of the rank's life means several threads */
#define LATE_RANGE 0.1    /* ranks in the top tenth of the range of own work are as late as the longest one */
#define LATE_EXPLAINS 0.5 /* share of the waits that the longest rank's extra work must explain for a rank to be called late */

static const struct mpi_sum unknown_sum = { NAN, NAN, NAN, NAN, NAN, NAN };

static void add(double *sum, double value)
{
    if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
}

static void add_sum(struct mpi_sum *sum, const struct mpi_sum *more)
{
    add(&sum->calls, more->calls);
    add(&sum->time_s, more->time_s);
    add(&sum->out_bytes, more->out_bytes);
    add(&sum->in_bytes, more->in_bytes);
    add(&sum->wait_s, more->wait_s);
    add(&sum->small, more->small);
}

static struct mpi_sum sum_of(const struct job_metrics *metrics, size_t row)
{
    return (struct mpi_sum){
        .calls = job_metrics_value(metrics, JOB_METRICS_MPI, row, MPI_CALLS),
        .time_s = job_metrics_value(metrics, JOB_METRICS_MPI, row, MPI_TIME) / NS,
        .out_bytes = job_metrics_value(metrics, JOB_METRICS_MPI, row, MPI_BYTES_OUT),
        .in_bytes = job_metrics_value(metrics, JOB_METRICS_MPI, row, MPI_BYTES_IN),
        .wait_s = job_metrics_value(metrics, JOB_METRICS_MPI, row, MPI_WAIT) / NS,
        .small = job_metrics_value(metrics, JOB_METRICS_MPI, row, MPI_SMALL),
    };
}

/* "3/MPI_Send", "3/"; false: neither. */
static bool parse(const char *instance, struct rank_name *rank, const char **function)
{
    if (!rank_name_read(&instance, rank) || *instance != '/')
        return false;
    *function = instance + 1;
    return true;
}

static struct mpi_function *function_named(struct mpi *mpi, struct dictionary *names, const char *name)
{
    uint32_t number = dictionary_add(names, bytes_of(name));
    if (number == DICTIONARY_NONE)
        return NULL;
    if (number == mpi->function_count)
        mpi->functions[mpi->function_count++] = (struct mpi_function){ name, unknown_sum };
    return &mpi->functions[number];
}

static int by_number(const void *a, const void *b)
{
    const struct mpi_rank *left = a, *right = b;
    return rank_name_compare(left->name, right->name);
}

static double cost(const struct mpi_sum *sum)
{
    return isnan(sum->time_s) ? 0 : sum->time_s;
}

static int by_cost(const void *a, const void *b)
{
    const struct mpi_function *left = a, *right = b;
    double l = cost(&left->sum), r = cost(&right->sum);
    if (l == r) {
        l = left->sum.calls;
        r = right->sum.calls;
    }
    return l < r ? 1 : l > r ? -1 : strcmp(left->name, right->name);
}

static int by_bytes(const void *a, const void *b)
{
    const struct mpi_pair *left = a, *right = b;
    if (left->bytes != right->bytes)
        return left->bytes < right->bytes ? 1 : -1;
    int from = rank_name_compare(left->from, right->from);
    return from ? from : rank_name_compare(left->to, right->to);
}

/* The probe reports totals per rank; the rank's life is only in those. */
static void add_rank(struct mpi *mpi, struct rank_name name, const struct job_metrics *metrics, size_t row)
{
    struct mpi_rank *rank = &mpi->ranks[mpi->rank_count++];
    *rank = (struct mpi_rank){
        .name = name,
        .sum = sum_of(metrics, row),
        .life_s = job_metrics_value(metrics, JOB_METRICS_MPI, row, MPI_LIFE) / NS,
        .world_ranks = job_metrics_value(metrics, JOB_METRICS_MPI, row, MPI_WORLD),
        .threads = job_metrics_value(metrics, JOB_METRICS_MPI, row, MPI_THREADS),
        .finalize_s = NAN,
    };
}

static struct mpi_rank *find_rank(const struct mpi *mpi, struct rank_name name)
{
    return bsearch(&(struct mpi_rank){ .name = name }, mpi->ranks, mpi->rank_count, sizeof *mpi->ranks, by_number);
}

static enum err read_ranks(struct mpi *mpi, const struct job_metrics *metrics)
{
    const struct job_metrics_table *table = &metrics->tables[JOB_METRICS_MPI];
    struct rank_name rank;
    const char *function;
    mpi->ranks = calloc(table->count + 1, sizeof *mpi->ranks);
    if (!mpi->ranks)
        return NOMEM;
    for (size_t i = 0; i < table->count; i++)
        if (parse(table->rows[i].instance, &rank, &function) && !*function)
            add_rank(mpi, rank, metrics, i);
    qsort(mpi->ranks, mpi->rank_count, sizeof *mpi->ranks, by_number);
    return OK;
}

/* Bytes, waits and small messages of a rank are summed over its functions if the probe did not sum them up. */
static void fill_rank(struct mpi_rank *rank, const struct mpi_sum *summed)
{
    double *metrics = &rank->sum.calls;
    const double *own = &summed->calls;
    for (size_t i = 0; i < sizeof rank->sum / sizeof *metrics; i++)
        if (isnan(metrics[i]) || metrics[i] < own[i])
            metrics[i] = own[i];
}

/* Collects what the totals of a rank do not have. */
static void note_function(struct mpi_rank *rank, const char *name, const struct mpi_sum *sum)
{
    if (strncmp(name, "MPI_File_", 9) == 0 && sum->time_s > 0)
        rank->file_s += sum->time_s - (sum->wait_s > 0 ? sum->wait_s : 0);
    if (strcmp(name, FINALIZE) == 0)
        add(&rank->finalize_s, sum->time_s);
    if (strcmp(name, FINALIZE) == 0 || strcmp(name, "MPI_Session_finalize") == 0) {
        rank->has_ended |= sum->time_s > 0;
        rank->is_ending |= sum->calls > 0;
    }
}

/* The life of a rank is compared to its time in MPI, so it is unknown for a rank that only counted calls, and so is the
 * sum for all ranks. Such a rank has ended when it called MPI_Finalize: whether that returned is unknown. */
static void add_rank_times(struct mpi *mpi)
{
    bool have_times = true;
    for (size_t i = 0; i < mpi->rank_count; i++) {
        struct mpi_rank *rank = &mpi->ranks[i];
        if (isnan(rank->sum.time_s)) {
            have_times = false;
            rank->life_s = NAN;
            rank->has_ended = rank->is_ending;
        }
        mpi->unended_count += !rank->has_ended;
        add(&mpi->life_s, rank->life_s);
    }
    if (!have_times)
        mpi->life_s = NAN;
}

static enum err read_functions(struct mpi *mpi, const struct job_metrics *metrics, struct mpi_sum *by_rank)
{
    const struct job_metrics_table *table = &metrics->tables[JOB_METRICS_MPI];
    struct dictionary names;
    enum err err = OK;
    dictionary_init(&names);
    for (size_t i = 0; i < table->count && !err; i++) {
        struct rank_name own;
        const char *name;
        if (!parse(table->rows[i].instance, &own, &name) || !*name)
            continue;
        struct mpi_sum sum = sum_of(metrics, i);
        struct mpi_function *function = function_named(mpi, &names, name);
        struct mpi_rank *rank = find_rank(mpi, own);
        if (function)
            add_sum(&function->sum, &sum);
        else
            err = NOMEM;
        if (rank) {
            add_sum(&by_rank[rank - mpi->ranks], &sum);
            note_function(rank, name, &sum);
        }
        add_sum(&mpi->all, &sum);
    }
    dictionary_clear(&names);
    return err;
}

static enum err read_sums(struct mpi *mpi, const struct job_metrics *metrics)
{
    struct mpi_sum *by_rank = calloc(mpi->rank_count + 1, sizeof *by_rank);
    mpi->functions = calloc(metrics->tables[JOB_METRICS_MPI].count + 1, sizeof *mpi->functions);
    enum err err = by_rank && mpi->functions ? OK : NOMEM;
    for (size_t i = 0; !err && i < mpi->rank_count; i++)
        by_rank[i] = unknown_sum;
    if (!err)
        err = read_functions(mpi, metrics, by_rank);
    for (size_t i = 0; !err && i < mpi->rank_count; i++)
        fill_rank(&mpi->ranks[i], &by_rank[i]);
    free(by_rank);
    if (!err)
        add_rank_times(mpi);
    if (!err)
        qsort(mpi->functions, mpi->function_count, sizeof *mpi->functions, by_cost);
    return err;
}

/* "3>1", "3>elsewhere"; false: neither. */
static bool parse_pair(const char *at, struct mpi_pair *pair)
{
    if (!rank_name_read(&at, &pair->from) || *at++ != '>')
        return false;
    pair->to = pair->from;
    pair->is_elsewhere = strcmp(at, RANK_NAME_ELSEWHERE) == 0;
    return pair->is_elsewhere || (rank_name_read(&at, &pair->to) && !*at);
}

static enum err read_pairs(struct mpi *mpi, const struct job_metrics *metrics)
{
    const struct job_metrics_table *table = &metrics->tables[JOB_METRICS_PEER];
    mpi->pairs = calloc(table->count + 1, sizeof *mpi->pairs);
    if (!mpi->pairs)
        return NOMEM;
    for (size_t i = 0; i < table->count; i++) {
        struct mpi_pair *pair = &mpi->pairs[mpi->pair_count];
        if (!parse_pair(table->rows[i].instance, pair))
            continue;
        mpi->pair_count++;
        pair->messages = job_metrics_value(metrics, JOB_METRICS_PEER, i, MPI_PEER_MESSAGES);
        pair->bytes = job_metrics_value(metrics, JOB_METRICS_PEER, i, MPI_PEER_BYTES);
        add(&mpi->messages, pair->messages);
        add(&mpi->message_bytes, pair->bytes);
        add(&mpi->messages_elsewhere, pair->is_elsewhere ? pair->messages : NAN);
        add(&mpi->bytes_elsewhere, pair->is_elsewhere ? pair->bytes : NAN);
    }
    qsort(mpi->pairs, mpi->pair_count, sizeof *mpi->pairs, by_bytes);
    return OK;
}

static double counter_named(const struct job_metrics *metrics, const char *name)
{
    const struct job_metrics_table *table = &metrics->tables[JOB_METRICS_COUNTER];
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].instance, name) == 0)
            return job_metrics_value(metrics, JOB_METRICS_COUNTER, i, PROGRAM_COUNTER_TOTAL);
    return NAN;
}

/* Ranks of one world: from begin to below end. */
struct span {
    size_t begin, end;
};

static struct span world_at(const struct mpi *mpi, size_t begin)
{
    struct span world = { begin, begin + 1 };
    while (world.end < mpi->rank_count && rank_name_same_world(mpi->ranks[begin].name, mpi->ranks[world.end].name))
        world.end++;
    return world;
}

static double ranks_of(const struct mpi *mpi, struct span world)
{
    double most = NAN;
    for (size_t i = world.begin; i < world.end; i++)
        if (!(mpi->ranks[i].world_ranks <= most))
            most = mpi->ranks[i].world_ranks;
    return most;
}

/* A probe knows the size of its world, even if the metrics segments of other ranks could not be read. */
static void count_all_ranks(struct mpi *mpi)
{
    double total = mpi->rank_count ? 0 : NAN;
    for (struct span world = { 0, 0 }; world.end < mpi->rank_count;) {
        world = world_at(mpi, world.end);
        double ranks = ranks_of(mpi, world), recorded = (double)(world.end - world.begin);
        total += ranks < recorded ? recorded : ranks;
    }
    mpi->rank_total = total;
}

/* Ranks wait for others of their own world; of several worlds, the one that took the most time is examined. */
static struct span longest_world(const struct mpi *mpi)
{
    struct span longest = { 0, 0 };
    double most_s = -1;
    for (struct span world = { 0, 0 }; world.end < mpi->rank_count;) {
        double life_s = 0;
        world = world_at(mpi, world.end);
        for (size_t i = world.begin; i < world.end; i++)
            life_s += isnan(mpi->ranks[i].life_s) ? 0 : mpi->ranks[i].life_s;
        if (life_s > most_s) {
            most_s = life_s;
            longest = world;
        }
    }
    return longest;
}

bool mpi_has_threads(const struct mpi_rank *rank)
{
    return rank->threads > 1 || rank->sum.time_s > LIFE_ERROR * rank->life_s;
}

double mpi_own_s(const struct mpi_rank *rank)
{
    return mpi_has_threads(rank) ? NAN : rank->life_s - rank->sum.time_s + rank->file_s;
}

const char *mpi_own_where(const struct mpi *mpi)
{
    return mpi->ranks[mpi->longest].file_s > 0 ? "outside of MPI and on files" : "outside of MPI";
}

const char *mpi_own_whose(const struct mpi *mpi)
{
    for (size_t i = 0; i < mpi->rank_count; i++)
        if (!rank_name_same_world(mpi->ranks[i].name, mpi->ranks[mpi->longest].name))
            return "ranks of its world";
    return "ranks";
}

/* All ranks leave MPI_Finalize together, so the time beyond that of the rank with the shortest call is waiting. */
static void add_finalize_waits(struct mpi *mpi, struct span world)
{
    struct mpi_function *function = mpi->functions;
    double least_s = INFINITY;
    while (function < mpi->functions + mpi->function_count && strcmp(function->name, FINALIZE) != 0)
        function++;
    for (size_t i = world.begin; i < world.end; i++) {
        if (isnan(mpi->ranks[i].finalize_s))
            return;
        least_s = fmin(least_s, mpi->ranks[i].finalize_s);
    }
    for (size_t i = world.begin; i < world.end; i++) {
        double wait_s = mpi->ranks[i].finalize_s - least_s;
        add(&mpi->ranks[i].sum.wait_s, wait_s);
        add(&function->sum.wait_s, wait_s);
        add(&mpi->all.wait_s, wait_s);
    }
}

/* False: times are unknown. */
static bool find_longest(struct mpi *mpi, struct span world)
{
    double sum_s = 0;
    for (size_t i = world.begin; i < world.end; i++) {
        double own_s = mpi_own_s(&mpi->ranks[i]);
        if (isnan(own_s)) {
            mpi->own_max_s = NAN;
            return false;
        }
        sum_s += own_s;
        if (i == world.begin || own_s > mpi->own_max_s) {
            mpi->own_max_s = own_s;
            mpi->longest = i;
        }
    }
    if (world.end > world.begin)
        mpi->own_mean_s = sum_s / (double)(world.end - world.begin);
    return world.end > world.begin;
}

/* A rank that waited longer than its own work was shorter also waited for something else: other ranks, the network. */
static bool explains_waiting(const struct mpi *mpi, struct span world)
{
    double wait_s = 0, explained_s = 0;
    for (size_t i = world.begin; i < world.end; i++) {
        double own_s = mpi->ranks[i].sum.wait_s, less_s = mpi->own_max_s - mpi_own_s(&mpi->ranks[i]);
        wait_s += own_s;
        explained_s += own_s < less_s ? own_s : less_s;
    }
    return explained_s > 0 && explained_s >= LATE_EXPLAINS * wait_s;
}

/* Several ranks may be late: the workers, for example, if one rank distributes work and waits for all of them. */
static void find_late(struct mpi *mpi, struct span world)
{
    double least_s = INFINITY, wait_s = 0, life_s = 0;
    if (!find_longest(mpi, world) || !explains_waiting(mpi, world))
        return;
    for (size_t i = world.begin; i < world.end; i++)
        least_s = fmin(least_s, mpi_own_s(&mpi->ranks[i]));
    for (size_t i = world.begin; i < world.end; i++) {
        struct mpi_rank *rank = &mpi->ranks[i];
        rank->is_late = mpi_own_s(rank) >= mpi->own_max_s - LATE_RANGE * (mpi->own_max_s - least_s);
        mpi->late_count += rank->is_late;
        wait_s += rank->is_late ? 0 : rank->sum.wait_s;
        life_s += rank->is_late ? 0 : rank->life_s;
    }
    if (life_s > 0)
        mpi->others_wait_share = wait_s / life_s;
}

static void find_waiting(struct mpi *mpi)
{
    for (struct span world = { 0, 0 }; world.end < mpi->rank_count;) {
        world = world_at(mpi, world.end);
        add_finalize_waits(mpi, world);
    }
    find_late(mpi, longest_world(mpi));
}

enum err mpi_read(struct mpi *mpi, const struct job_metrics *metrics)
{
    *mpi = (struct mpi){ .all = unknown_sum, .life_s = NAN, .rank_total = NAN, .messages = NAN, .message_bytes = NAN,
                         .messages_elsewhere = NAN, .bytes_elsewhere = NAN,
                         .own_mean_s = NAN, .own_max_s = NAN, .others_wait_share = NAN,
                         .requests_lost = counter_named(metrics, "mpi_requests_lost_total") };
    enum err err = read_ranks(mpi, metrics);
    if (!err)
        err = read_sums(mpi, metrics);
    if (!err)
        err = read_pairs(mpi, metrics);
    if (!err)
        find_waiting(mpi);
    if (!err)
        count_all_ranks(mpi);
    return err;
}

void mpi_clear(struct mpi *mpi)
{
    free(mpi->functions);
    free(mpi->ranks);
    free(mpi->pairs);
    *mpi = (struct mpi){ 0 };
}

double mpi_share(const struct mpi *mpi)
{
    for (size_t i = 0; i < mpi->rank_count; i++)
        if (mpi_has_threads(&mpi->ranks[i]))
            return NAN;
    return mpi->life_s > 0 ? mpi->all.time_s / mpi->life_s : NAN;
}

bool mpi_waits(const struct mpi_rank *rank, double share)
{
    return !mpi_has_threads(rank) && rank->sum.wait_s / rank->life_s > share;
}
