/* Ends and begins of all kinds: ends HOW. One rank is enough.
 *   abort      MPI_Abort             leaves      exits without MPI_Finalize      killed     kills itself
 *   forks      a child of fork ends, another executes a program                  spawns     starts another program with MPI
 *   stranger   never begins MPI, and asks it                                     session    begins a session (MPI-4) */
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
}

static void spawns(char *self)
{
    MPI_Comm children, parent;
    char *arguments[] = { "spawns", NULL };
    int value = 0, codes[1];
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        value = 42;
        MPI_Send(&value, 1, MPI_INT, 0, 0, parent);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        exit(0);
    }
    MPI_Comm_spawn(self, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, codes);
    MPI_Recv(&value, 1, MPI_INT, 0, 0, children, MPI_STATUS_IGNORE);
    require(value == 42, "the child spoke");
    MPI_Comm_disconnect(&children);
    expect("received_bytes", "MPI_Recv", sizeof value);
    expect_calls("MPI_Comm_spawn", 1);
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
static int session(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    for (int i = 0; i < 7; i++)
        MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
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
    if (parent == MPI_COMM_NULL)
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
