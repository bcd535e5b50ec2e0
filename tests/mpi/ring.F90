! The ring from Fortran, with -DUSE_F08, -DUSE_MPI or -DUSE_MPIF. Writes what the probe must have counted of it as expect.h does.
program ring
#ifdef USE_F08
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  implicit none
#ifdef USE_MPIF
  include 'mpif.h'
#endif
#ifdef USE_F08
  type(MPI_Status) :: status
  type(MPI_Request) :: requests(2)
  type(MPI_Datatype) :: pair
#else
  integer :: status(MPI_STATUS_SIZE), requests(2), pair
#endif
  integer :: rank, size, error, right, left, total, i
  double precision :: out(10), in(20), all(40)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  out = rank
  do i = 1, 5
    call MPI_Sendrecv(out, 10, MPI_DOUBLE_PRECISION, right, 3, in, 20, MPI_DOUBLE_PRECISION, left, 3, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE, error)
  end do
  call check(in(10) == left)
  call MPI_Irecv(in, 20, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, requests(1), error)
  call MPI_Isend(out, 3, MPI_DOUBLE_PRECISION, right, 4, MPI_COMM_WORLD, requests(2), error)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  call MPI_Type_contiguous(2, MPI_DOUBLE_PRECISION, pair, error)
  call MPI_Type_commit(pair, error)
  call MPI_Send(out, 1, pair, MPI_PROC_NULL, 5, MPI_COMM_WORLD, error)
  call MPI_Bcast(in, 4, pair, 0, MPI_COMM_WORLD, error)
  call MPI_Type_free(pair, error)
  total = 1
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call check(total == size)
  all = rank
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
  call check(all(size) == size - 1)
  call tell()
  if (rank == 0) print '(a)', 'all is well'
  call MPI_Finalize(error)
contains
  subroutine check(good)
    logical, intent(in) :: good
    if (.not. good) call MPI_Abort(MPI_COMM_WORLD, 3, error)
  end subroutine

  subroutine expect(metric, function, value)
    character(*), intent(in) :: metric, function
    integer, intent(in) :: value
    write (9, '(i0, a, i0)') rank, ' mpi_' // metric // '_total{function="' // function // '"} ', value
  end subroutine

  subroutine tell()
    character(1000) :: folder
    character(20) :: number
    call get_environment_variable('EXPECT', folder)
    write (number, '(i0)') rank
    open (9, file=trim(folder) // '/' // trim(number))
    call expect('calls', 'MPI_Sendrecv', 5)
    call expect('sent_bytes', 'MPI_Sendrecv', 400)
    call expect('received_bytes', 'MPI_Sendrecv', 400)
    call expect('small_messages', 'MPI_Sendrecv', 5)
    call expect('received_bytes', 'MPI_Irecv', 24)
    call expect('sent_bytes', 'MPI_Isend', 24)
    call expect('calls', 'MPI_Waitall', 1)
    call expect('sent_bytes', 'MPI_Send', 0)
    call expect('sent_bytes', 'MPI_Bcast', merge(64, 0, rank == 0))
    call expect('received_bytes', 'MPI_Bcast', merge(0, 64, rank == 0))
    call expect('sent_bytes', 'MPI_Allreduce', 4)
    call expect('sent_bytes', 'MPI_Allgather', 8)
    call expect('received_bytes', 'MPI_Allgather', 8 * size)
    call expect('calls', 'MPI_Comm_rank', 1)
    call expect('calls', 'MPI_Init', 1)
    close (9)
  end subroutine
end program
