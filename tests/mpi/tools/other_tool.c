/* Another MPI tool, to be preloaded: counts MPI_Barrier and prints the count at the end. The probe must not replace
 * it. */
#include <mpi.h>
#include <stdio.h>

static int barriers;

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

int MPI_Finalize(void)
{
    printf("the other tool has seen %d barriers\n", barriers);
    return PMPI_Finalize();
}
