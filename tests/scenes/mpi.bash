# MPI programs for scenes: compiled once a file for each family that is here, then played under the probe.

MPI_PROBE=${MPI_PROBE:-$BUILD/src/probe/mpi/libsonde-mpi.so}
MPI_FAMILIES="openmpi mpich"

# All programs of tests/mpi into $BATS_FILE_TMPDIR/FAMILY/.
mpi_compile() {
    local family source
    for family in $MPI_FAMILIES; do
        mkdir -p "$BATS_FILE_TMPDIR/$family"
        command -v "mpicc.$family" >/dev/null || continue
        for source in "$SOURCE"/tests/mpi/*.c; do
            "mpicc.$family" -w -O1 -o "$BATS_FILE_TMPDIR/$family/$(basename "$source" .c)" "$source" -lpthread ||
                rm -f "$BATS_FILE_TMPDIR/$family/$(basename "$source" .c)"
        done
    done
}

mpi_need() {
    [ -e "$MPI_PROBE" ] || skip "Sonde was built without an MPI"
    command -v "mpicc.$1" >/dev/null || skip "$1 is not here"
}

# The launcher of a family with N ranks, as words in the array LAUNCH.
mpi_launcher() {
    case $1 in
    openmpi) LAUNCH=(mpirun.openmpi --allow-run-as-root --oversubscribe -n "$2") ;;
    mpich) LAUNCH=(mpiexec.mpich -n "$2") ;;
    esac
    [ "$2" -gt 1 ] || LAUNCH=()
}

# play FAMILY PROGRAM RANKS: runs it under the probe and compares its boards with what it expects.
play() {
    mpi_need "$1"
    local program=$BATS_FILE_TMPDIR/$1/$2
    mpi_launcher "$1" "$3"
    rm -rf boards expected && mkdir boards expected
    SONDE_BOARDS=$PWD/boards EXPECT=$PWD/expected LD_PRELOAD=$MPI_PROBE run timeout 120 "${LAUNCH[@]}" "$program"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"all is well"* ]]
    mpi_compare
}

# Each line that a rank expects is on its board.
mpi_compare() {
    local line missing=0
    "$BUILD/tests/board_dump" boards | sort >dumped
    [ -n "$(ls expected)" ]
    for line in expected/*; do cat "$line"; done | sort -u >wanted
    while read -r line; do
        grep -qxF -e "$line" dumped || { echo "not there: $line; but: $(grep -F -e "${line% *} " dumped)" && missing=1; }
    done <wanted
    [ "$missing" -eq 0 ]
}
