"""The ring from Python: mpi4py loads its MPI late and for itself alone."""
from mpi4py import MPI

world = MPI.COMM_WORLD
right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
assert world.sendrecv({"rank": world.rank}, dest=right, source=left) == {"rank": left}
mine = bytearray(100)
world.Sendrecv(bytes(40), dest=right, recvbuf=mine, source=left)
assert world.allreduce(1) == world.size
print("all is well")
