# MPI programs for scenes: compiled once a file for each family that is here, then played under the probe.

# In a build with sanitizers those wrappers that have them (tests/mpi/meson.build), and before them the sanitizer itself. What MPI
# leaves lying, and does wrong itself, is not ours.
MPI_PROBE=$BUILD/src/probe/mpi/libsonde-mpi.so MPI_SANITIZER=
if [ -e "$BUILD/tests/mpi/libsonde-mpi.so" ]; then
    MPI_PROBE=$BUILD/tests/mpi/libsonde-mpi.so MPI_SANITIZER=$(gcc -print-file-name=libasan.so):
    export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0:suppressions=$SOURCE/tests/mpi/tools/suppressions
    # libpciaccess enlarges a table by one for each device that was ever made, which a sanitizer copies each time: 1 s for each rank.
    export HWLOC_COMPONENTS=-pci
fi
export MPI_PRELOAD=$MPI_SANITIZER$MPI_PROBE

# Those that Sonde was built for and that have compilers here.
mpi_families() {
    local family
    for family in openmpi mpich; do
        if [ -e "$BUILD/src/probe/mpi/libsonde-mpi-$family.so" ] && command -v "mpicc.$family" >/dev/null; then echo "$family"; fi
    done
}

# The programs of tests/mpi into $BATS_FILE_TMPDIR/FAMILY/: ring of ring.c, ring-F08 of ring.F90, and so on.
mpi_compile() {
    local family file module
    for family in $(mpi_families); do
        mkdir -p "$BATS_FILE_TMPDIR/$family"
        for file in "$SOURCE"/tests/mpi/*.c; do
            "mpicc.$family" -w -O1 -o "$BATS_FILE_TMPDIR/$family/$(basename "$file" .c)" "$file" -lpthread
        done
        for file in other_tool next_tool; do
            "mpicc.$family" -w -shared -fPIC -o "$BATS_FILE_TMPDIR/$family/$file.so" "$SOURCE/tests/mpi/tools/$file.c" -ldl
        done
        command -v "mpifort.$family" >/dev/null || continue
        for module in F08 MPI MPIF; do
            "mpifort.$family" -w "-DUSE_$module" -J "$BATS_FILE_TMPDIR" -o "$BATS_FILE_TMPDIR/$family/ring-$module" \
                "$SOURCE/tests/mpi/ring.F90"
        done
    done
}

# The launcher of a family with N ranks, as words in the array LAUNCH; one rank needs none.
mpi_launcher() {
    case $1 in
    openmpi) LAUNCH=(mpirun.openmpi --allow-run-as-root --oversubscribe -n "$2") ;;
    mpich) LAUNCH=(mpiexec.mpich -n "$2") ;;
    esac
    [ "$2" -gt 1 ] || LAUNCH=()
}

# Runs a program of a family with ranks under the probe: its boards are in ./boards, what it expects in ./expected.
mpi_run() {
    local program=$BATS_FILE_TMPDIR/$1/$2
    mpi_launcher "$1" "$3"
    shift 3
    rm -rf boards expected && mkdir boards expected
    SONDE_BOARDS=$PWD/boards EXPECT=$PWD/expected LD_PRELOAD=$MPI_SANITIZER${MPI_BEFORE-}$MPI_PROBE${MPI_BEHIND-} \
        run timeout 300 "${LAUNCH[@]}" "$program" "$@"
    echo "$output"
}

# Each line that a rank expects is on its board.
mpi_compare() {
    local line missing=0
    "$BUILD/tests/segment_dump" boards | sort >dumped
    [ -n "$(ls expected)" ]
    for line in expected/*; do cat "$line"; done | sort -u >wanted
    while read -r line; do
        grep -qxF -e "$line" dumped || { echo "not there: $line; but: $(grep -F -e "${line% *} " dumped)" && missing=1; }
    done <wanted
    [ "$missing" -eq 0 ]
}

# play PROGRAM RANKS [ARGUMENT…]: in each family; it must run as it would, and its boards must have what it expects.
play() {
    local family families
    families=$(mpi_families)
    [ -n "$families" ] || skip "no MPI is here"
    for family in $families; do
        echo "== $family"
        [ -e "$BATS_FILE_TMPDIR/$family/$1" ] || { echo "$1 is not there"; continue; }
        mpi_run "$family" "$@"
        [ "$status" -eq "${STATUS:-0}" ]
        [[ $output == *"all is well"* ]]
        mpi_compare
    done
}
