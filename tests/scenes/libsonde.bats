#!/usr/bin/env bats
# libsonde as its users have it: installed, found by pkg-config, in C, C++ and Fortran, dynamically and statically linked.
load scene

setup_file() {
    export ROOT=$BATS_FILE_TMPDIR/root
    DESTDIR=$ROOT meson install -C "$BUILD" --no-rebuild >"$BATS_FILE_TMPDIR/log" 2>&1 || { cat "$BATS_FILE_TMPDIR/log"; return 1; }
    PKG_CONFIG_PATH=$(dirname "$(find "$ROOT" -name sonde.pc)")
    LD_LIBRARY_PATH=$(dirname "$(find "$ROOT" -name libsonde.so)")
    export PKG_CONFIG_SYSROOT_DIR=$ROOT PKG_CONFIG_PATH LD_LIBRARY_PATH
}

setup() {
    scene_setup
    export SONDE_BOARDS=$T/boards
    mkdir "$SONDE_BOARDS"
    read -ra flags < <(pkg-config --cflags --libs sonde)
}

# What stands on the board for a metric.
value() {
    "$BUILD/tests/segment_show" "$SONDE_BOARDS" | awk -v name="$1" '$1 == name { print $2 }'
}

strict=(-O2 -Wall -Wextra -Wpedantic -Werror)

@test "the example in C, without a warning" {
    cc "${strict[@]}" "$SOURCE/examples/heat.c" "${flags[@]}" -lm -o heat
    ./heat 100
    [ "$(value 'heat_cells_total{method="jacobi",phase="solve"}')" = 99800 ]
    [ "$(value 'heat_step_seconds_bucket{le="+Inf"}')" = 100 ]
}

@test "the example in C, linked statically" {
    cc "${strict[@]}" -static "$SOURCE/examples/heat.c" "${flags[@]}" -lm -o heat
    ./heat 100
    [ "$(value 'heat_cells_total{method="jacobi",phase="solve"}')" = 99800 ]
}

@test "the example in C++, without a warning" {
    command -v g++ || skip "no g++"
    g++ "${strict[@]}" -pthread "$SOURCE/examples/heat.cpp" "${flags[@]}" -o heat
    ./heat
    [ "$(value 'heat_cells_total{language="C++",phase="solve"}')" = 400000 ]
}

@test "the example in Fortran, without a warning" {
    command -v gfortran || skip "no gfortran"
    gfortran "${strict[@]}" -std=f2008 "$(pkg-config --variable=includedir sonde)/sonde.f90" "$SOURCE/examples/heat.f90" \
        "${flags[@]}" -o heat
    ./heat
    [ "$(value 'heat_cells_total{language="Fortran",phase="solve"}')" = 998000 ]
    [ "$(value 'heat_changes_bucket{le="+Inf"}')" = 1000 ]
}

@test "the header in old C, old C++, and with clang" {
    echo '#include <sonde.h>' >use.c
    cp use.c use.cpp
    cc -std=c89 -pedantic-errors "${strict[@]}" -Wno-long-long -c use.c "${flags[@]}"
    cc -std=c11 "${strict[@]}" -fvisibility=hidden -c use.c "${flags[@]}"
    ! command -v g++ || g++ -std=c++98 "${strict[@]}" -Wno-long-long -c use.cpp "${flags[@]}"
    ! command -v clang || clang -std=c99 "${strict[@]}" -Wno-unused-command-line-argument -c use.c "${flags[@]}"
}

@test "what is no number is refused also in programs that are compiled as if there were no such" {
    for compiler in cc clang; do
        command -v "$compiler" || continue
        "$compiler" -O3 -ffast-math "$SOURCE/tests/tools/instrumented_numbers.c" "${flags[@]}" -o instrumented_numbers
        ./instrumented_numbers none
        [ "$(value 'speaks_seconds_total{part="a"}')" = 0.25 ]
        [ "$(value unknown)" = unset ]
        [ "$(value infinite)" = inf ]
        rm "$SONDE_BOARDS"/*
    done
}

@test "the library shows what sonde.h names and nothing else, needs the C library alone, and stays loaded" {
    library=$(find "$ROOT" -name libsonde.so.1)
    run readelf -dW "$library"
    [ "$(grep -c NEEDED <<<"$output")" -eq 1 ]
    [[ $output == *"soname: [libsonde.so.1]"* && $output == *NODELETE* ]]
    for name in $(nm -D --defined-only "$library" | awk '{ print $3 }'); do
        grep -q "\b$name\b" "$SOURCE/include/sonde.h" || { echo "$name"; false; }
    done
    run nm --defined-only --extern-only "$(find "$ROOT" -name libsonde.a)"
    [ -z "$(awk 'NF == 3 && $3 !~ /^sonde_/' <<<"$output")" ]
}

@test "the manual is installed, well-formed, and names every function" {
    page=$(find "$ROOT" -path '*/man3/sonde.3')
    command -v mandoc || skip "no mandoc"
    mandoc -T lint -W warning "$page"
    for name in $(grep -oE '\bsonde_[a-z_]+ ?\(' "$SOURCE/include/sonde.h" | tr -d ' (' | grep -v inside | sort -u); do
        grep -q "\b$name\b" "$page" || { echo "$name"; false; }
    done
}
