/* For MPI programs whose counts are known: each rank writes what the probe must have counted into a file of its own,
 * in the format of segment_dump, and the scene (scenes/mpi.bats) looks for each line. Without $EXPECT nothing is
 * written. */
#ifndef SONDE_TESTS_MPI_EXPECT_H
#define SONDE_TESTS_MPI_EXPECT_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;
static int expect_world; /* of a spawned program; 0: the first */
static FILE *expect_file;

static inline void expect_begin(int argc, char **argv)
{
    char path[4096];
    if (argc >= 0)
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *folder = getenv("EXPECT");
    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%d@%d", folder, rank, expect_world);
    expect_file = fopen(path, "w");
}

/* "3", or "3@1", at the start of a line. */
static inline void expect_name(void)
{
    fprintf(expect_file, expect_world ? "%d@%d " : "%d ", rank, expect_world);
}

/* A metric of a function of this rank. */
static inline void expect(const char *metric, const char *function, unsigned long long value)
{
    if (!expect_file)
        return;
    expect_name();
    fprintf(expect_file, "mpi_%s_total{function=\"%s\"} %llu\n", metric, function, value);
}

static inline void expect_calls(const char *function, unsigned long long calls)
{
    expect("calls", function, calls);
}

static inline void expect_bytes(const char *function, unsigned long long sent, unsigned long long received)
{
    expect("sent_bytes", function, sent);
    expect("received_bytes", function, received);
}

static inline void expect_peer(int to, unsigned long long messages, unsigned long long bytes)
{
    if (!expect_file)
        return;
    expect_name();
    fprintf(expect_file, "mpi_peer_messages_total{to=\"%d\"} %llu\n", to, messages);
    expect_name();
    fprintf(expect_file, "mpi_peer_bytes_total{to=\"%d\"} %llu\n", to, bytes);
}

/* To ranks of other worlds. */
static inline void expect_elsewhere(unsigned long long messages, unsigned long long bytes)
{
    if (!expect_file)
        return;
    expect_name();
    fprintf(expect_file, "mpi_peer_messages_total{to=\"elsewhere\"} %llu\n", messages);
    expect_name();
    fprintf(expect_file, "mpi_peer_bytes_total{to=\"elsewhere\"} %llu\n", bytes);
}

/* Checks that the program itself got what MPI guarantees. */
static inline void require(int is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static inline int expect_end(void)
{
    if (expect_file)
        fclose(expect_file);
    if (!rank)
        puts("all is well");
    MPI_Finalize();
    return 0;
}

#endif
