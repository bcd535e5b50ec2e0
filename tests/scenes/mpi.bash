# MPI programs for scenes: compiled once per file for each installed family, then run under the probe.

# In a build with sanitizers: preloads the sanitized wrappers (tests/mpi/meson.build), and the sanitizer before them. Leaks and errors
# of MPI itself are ignored.
MPI_PROBE=$BUILD/src/probe/mpi/libsonde-mpi.so MPI_SANITIZER=
if [ -e "$BUILD/tests/mpi/libsonde-mpi.so" ]; then
    MPI_PROBE=$BUILD/tests/mpi/libsonde-mpi.so MPI_SANITIZER=$(gcc -print-file-name=libasan.so):
    export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0:suppressions=$SOURCE/tests/mpi/tools/suppressions
    # libpciaccess grows a table by one entry per known device, which a sanitizer copies each time: 1 s per rank.
    export HWLOC_COMPONENTS=-pci
fi
export MPI_PRELOAD=$MPI_SANITIZER$MPI_PROBE

# The families that Sonde was built for and that have compilers.
mpi_families() {
    local family
    for family in openmpi mpich; do
        if [ -e "$BUILD/src/probe/mpi/libsonde-mpi-$family.so" ] && command -v "mpicc.$family" >/dev/null; then echo "$family"; fi
    done
}

# Compiles the programs of tests/mpi into $BATS_FILE_TMPDIR/FAMILY/: ring from ring.c, ring-F08 from ring.F90, and so on.
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

# mpi_launcher FAMILY N: sets the array LAUNCH to the launcher command for N ranks; one rank needs none.
mpi_launcher() {
    case $1 in
    openmpi) LAUNCH=(mpirun.openmpi --allow-run-as-root --oversubscribe -n "$2") ;;
    mpich) LAUNCH=(mpiexec.mpich -n "$2") ;;
    esac
    [ "$2" -gt 1 ] || LAUNCH=()
}

# mpi_run FAMILY PROGRAM RANKS [ARGUMENT…]: runs it under the probe; its segments are in ./segments, its expected values in ./expected.
mpi_run() {
    local program=$BATS_FILE_TMPDIR/$1/$2
    mpi_launcher "$1" "$3"
    shift 3
    rm -rf segments expected && mkdir segments expected
    SONDE_BOARDS=$PWD/segments EXPECT=$PWD/expected LD_PRELOAD=$MPI_SANITIZER${MPI_BEFORE-}$MPI_PROBE${MPI_AFTER-} \
        run timeout 300 "${LAUNCH[@]}" "$program" "$@"
    echo "$output"
}

# Checks that every line that a rank expects is in its segment.
mpi_compare() {
    local line missing=0
    "$BUILD/tests/segment_dump" segments | sort >dumped
    [ -n "$(ls expected)" ]
    for line in expected/*; do cat "$line"; done | sort -u >wanted
    while read -r line; do
        grep -qxF -e "$line" dumped || { echo "not there: $line; but: $(grep -F -e "${line% *} " dumped)" && missing=1; }
    done <wanted
    [ "$missing" -eq 0 ]
}

# check_run PROGRAM RANKS [ARGUMENT…]: runs it with each family; it must succeed, and its segments must have the expected values.
check_run() {
    local family families
    families=$(mpi_families)
    [ -n "$families" ] || skip "no MPI"
    for family in $families; do
        echo "== $family"
        [ -e "$BATS_FILE_TMPDIR/$family/$1" ] || { echo "no $1"; continue; }
        mpi_run "$family" "$@"
        [ "$status" -eq "${STATUS:-0}" ]
        [[ $output == *"all is well"* ]]
        mpi_compare
    done
}
