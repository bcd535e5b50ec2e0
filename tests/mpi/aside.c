/* One-sided communication and files. Two ranks. */
#include "expect.h"

#include <string.h>
#include <unistd.h>

enum { ITEM = sizeof(int), ITEMS = 16 };

static int other;

static void one_sided(void)
{
    int *memory, out[ITEMS] = { 0 }, in[ITEMS], one = 1, old;
    MPI_Win win;
    MPI_Request request;
    MPI_Win_allocate(ITEMS * ITEM, ITEM, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, ITEMS * ITEM);
    MPI_Win_fence(0, win);
    MPI_Put(out, 5, MPI_INT, other, 0, 5, MPI_INT, win);
    MPI_Put(out, 5, MPI_INT, MPI_PROC_NULL, 0, 5, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Get(in, 3, MPI_INT, other, 0, 3, MPI_INT, win);
    MPI_Accumulate(out, 2, MPI_INT, other, 8, 2, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win);
    MPI_Fetch_and_op(&one, &old, MPI_INT, other, 12, MPI_SUM, win);
    MPI_Fetch_and_op(NULL, &old, MPI_INT, other, 12, MPI_NO_OP, win);
    MPI_Compare_and_swap(&one, &one, &old, MPI_INT, other, 13, win);
    MPI_Get_accumulate(NULL, 0, MPI_INT, in, 2, MPI_INT, other, 0, 2, MPI_INT, MPI_NO_OP, win);
    MPI_Rput(out, 1, MPI_INT, other, 15, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(other, win);
    expect("sent_bytes", "MPI_Put", 5 * ITEM);
    expect("received_bytes", "MPI_Get", 3 * ITEM);
    expect("sent_bytes", "MPI_Accumulate", 2 * ITEM);
    expect_bytes("MPI_Fetch_and_op", ITEM, 2 * ITEM);
    expect_bytes("MPI_Compare_and_swap", ITEM, ITEM);
    expect_bytes("MPI_Get_accumulate", 0, 2 * ITEM);
    expect("sent_bytes", "MPI_Rput", ITEM);
    expect_peer(other, 5, (5 + 2 + 1 + 1 + 1) * ITEM);
    MPI_Win_free(&win);
}

/* 10 ints of each rank; the second one reads more than there is. */
static void files(void)
{
    int out[10] = { 0 }, in[100], handled;
    MPI_File file;
    MPI_Request request;
    MPI_Status status;
    MPI_Offset mine = rank * (MPI_Offset)sizeof out;
    MPI_File_open(MPI_COMM_WORLD, "together.bin", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, mine, out, 10, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(file, mine, in, 100, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &handled);
    require(handled == 20 - 10 * rank, "what was there");
    MPI_File_iread_at(file, mine, in, 4, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_iwrite_at(file, mine, out, 3, MPI_INT, &request);
    MPI_Wait(&request, &status);
    MPI_File_write_at(file, mine, out, 2, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    expect("sent_bytes", "MPI_File_write_at_all", 10 * ITEM);
    expect("received_bytes", "MPI_File_read_at", (20 - 10 * rank) * ITEM);
    expect("received_bytes", "MPI_File_iread_at", 4 * ITEM);
    expect("sent_bytes", "MPI_File_iwrite_at", 3 * ITEM);
    expect("sent_bytes", "MPI_File_write_at", 2 * ITEM);
    expect_calls("MPI_File_open", 1);
}

int main(int argc, char **argv)
{
    expect_begin(argc, argv);
    require(size == 2, "two ranks");
    other = 1 - rank;
    one_sided();
    files();
    return expect_end();
}
