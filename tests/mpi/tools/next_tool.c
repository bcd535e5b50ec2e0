/* Another MPI tool, which calls the next library instead of the first PMPI_ function: past the probe, if that comes
 * before it. Counts MPI_Barrier and prints the count at the end. One function is passed on the other way, and must
 * not count twice. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

static int barriers;

int MPI_Init(int *argc, char ***argv)
{
    return NEXT(PMPI_Init)(argc, argv);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    return PMPI_Comm_rank(comm, rank);
}

int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int to, int out_tag, void *in, int in_count,
                 MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status *status)
{
    return NEXT(MPI_Sendrecv)(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm, status);
}

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return NEXT(PMPI_Barrier)(comm);
}

/* How tools are controlled: with arguments that only they know. */
int MPI_Pcontrol(const int level, ...)
{
    __builtin_va_list list;
    __builtin_va_start(list, level);
    if (level == 2)
        barriers = __builtin_va_arg(list, int);
    __builtin_va_end(list);
    return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
    printf("the other tool has seen %d barriers\n", barriers);
    return NEXT(PMPI_Finalize)();
}
