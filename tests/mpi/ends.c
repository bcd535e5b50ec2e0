/* Unusual starts and ends: ends HOW. One rank is enough.
 *   abort      MPI_Abort                                  leaves     exits without MPI_Finalize
 *   killed     kills itself                               forks      forked children end, or execute a program
 *   spawns     starts another MPI program                 stranger   never initialises MPI, but asks whether it is
 *   session    creates sessions (MPI-4) */
#include "expect.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void count_something(void)
{
    for (int i = 0; i < 3; i++)
        MPI_Barrier(MPI_COMM_SELF);
    expect_calls("MPI_Barrier", 3);
    if (expect_file)
        fflush(expect_file);
    puts("all is well");
    fflush(stdout);
}

static void forks(void)
{
    int flag;
    pid_t child = fork();
    if (child == 0) {
        MPI_Initialized(&flag);
        _exit(flag ? 0 : 9);
    }
    int status;
    waitpid(child, &status, 0);
    require(status == 0, "a child of fork");
    child = fork();
    if (child == 0)
        execl("/bin/true", "true", (char *)NULL);
    waitpid(child, &status, 0);
    require(status == 0, "a child that executes");
    child = fork();
    if (child == 0)
        exit(0);
    waitpid(child, &status, 0);
    require(status == 0, "a child that ends as a program does");
}

/* The ranks of a spawned world exchange messages, and the first one with its parent. */
static void be_spawned(MPI_Comm parent, int world)
{
    int value = 42, got = 0;
    expect_world = world;
    expect_begin(-1, NULL);
    for (int i = 0; i < world; i++)
        MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, 0, 0, parent);
    MPI_Comm_disconnect(&parent);
    expect_calls("MPI_Sendrecv", world);
    expect_peer((rank + 1) % size, world, world * sizeof value);
    if (rank == 0) {
        expect("sent_bytes", "MPI_Send", sizeof value);
        expect_elsewhere(1, sizeof value);
    }
    if (expect_file)
        fclose(expect_file);
    MPI_Finalize();
    exit(0);
}

/* A world of two ranks, then one of three. */
static void spawns(char *self)
{
    MPI_Comm children;
    char world[8], *arguments[] = { "spawned", world, NULL };
    int value = 0, codes[3];
    for (int i = 1; i <= 2; i++) {
        snprintf(world, sizeof world, "%d", i);
        MPI_Comm_spawn(self, arguments, i + 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, codes);
        MPI_Recv(&value, 1, MPI_INT, 0, 0, children, MPI_STATUS_IGNORE);
        require(value == 42, "the child spoke");
        MPI_Comm_disconnect(&children);
    }
    expect("received_bytes", "MPI_Recv", 2 * sizeof value);
    expect_calls("MPI_Comm_spawn", 2);
}

static int stranger(void)
{
    int flag = 1, version, minor;
    MPI_Initialized(&flag);
    MPI_Get_version(&version, &minor);
    puts(flag || version < 3 ? "wrong" : "all is well");
    return 0;
}

#if MPI_VERSION >= 4
/* Two of them, the second a while later. MPICH 4.0 ends with the first. */
static int session(void)
{
    MPI_Session first, session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first);
    usleep(200000);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Sendrecv(NULL, 0, MPI_INT, 0, 0, NULL, 0, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < 7; i++)
        MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&first);
    puts("all is well");
    return 0;
}
#endif

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "stranger") == 0)
        return stranger();
#if MPI_VERSION >= 4
    if (strcmp(how, "session") == 0)
        return session();
#endif
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        be_spawned(parent, atoi(argv[2]));
    expect_begin(-1, argv);
    if (strcmp(how, "spawns") == 0)
        spawns(argv[0]);
    if (strcmp(how, "forks") == 0)
        forks();
    count_something();
    if (strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(how, "killed") == 0)
        raise(SIGKILL);
    if (strcmp(how, "leaves") != 0)
        MPI_Finalize();
    return 0;
}
