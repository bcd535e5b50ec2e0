#!/usr/bin/env bats
# libsonde as users have it: installed, found by pkg-config, in C, C++ and Fortran, dynamically and statically linked.
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
    export SONDE_BOARDS=$T/segments
    mkdir "$SONDE_BOARDS"
    read -ra flags < <(pkg-config --cflags --libs sonde)
}

# The value of a metric in the segment.
value() {
    "$BUILD/tests/segment_show" "$SONDE_BOARDS" | awk -v name="$1" '$1 == name { print $2 }'
}

strict=(-O2 -Wall -Wextra -Wpedantic -Werror)

@test "the example in C compiles without warnings and works" {
    cc "${strict[@]}" "$SOURCE/examples/heat.c" "${flags[@]}" -lm -o heat
    ./heat 100
    [ "$(value 'heat_cells_total{method="jacobi",phase="solve"}')" = 99800 ]
    [ "$(value 'heat_step_seconds_bucket{le="+Inf"}')" = 100 ]
}

@test "the example in C works when linked statically" {
    cc "${strict[@]}" -static "$SOURCE/examples/heat.c" "${flags[@]}" -lm -o heat
    ./heat 100
    [ "$(value 'heat_cells_total{method="jacobi",phase="solve"}')" = 99800 ]
}

@test "the example in C++ compiles without warnings and works" {
    command -v g++ || skip "no g++"
    g++ "${strict[@]}" -pthread "$SOURCE/examples/heat.cpp" "${flags[@]}" -o heat
    ./heat
    [ "$(value 'heat_cells_total{language="C++",phase="solve"}')" = 400000 ]
}

@test "the example in Fortran compiles without warnings and works" {
    command -v gfortran || skip "no gfortran"
    gfortran "${strict[@]}" -std=f2008 "$(pkg-config --variable=includedir sonde)/sonde.f90" "$SOURCE/examples/heat.f90" \
        "${flags[@]}" -o heat
    ./heat
    [ "$(value 'heat_cells_total{language="Fortran",phase="solve"}')" = 998000 ]
    [ "$(value 'heat_changes_bucket{le="+Inf"}')" = 1000 ]
}

@test "the header compiles as old C, as old C++, and with clang" {
    echo '#include <sonde.h>' >use.c
    cp use.c use.cpp
    cc -std=c89 -pedantic-errors "${strict[@]}" -Wno-long-long -c use.c "${flags[@]}"
    cc -std=c11 "${strict[@]}" -fvisibility=hidden -c use.c "${flags[@]}"
    ! command -v g++ || g++ -std=c++98 "${strict[@]}" -Wno-long-long -c use.cpp "${flags[@]}"
    ! command -v clang || clang -std=c99 "${strict[@]}" -Wno-unused-command-line-argument -c use.c "${flags[@]}"
}

@test "NaN is rejected also in programs compiled with -ffast-math" {
    for compiler in cc clang; do
        command -v "$compiler" || continue
        "$compiler" -O3 -ffast-math "$SOURCE/tests/tools/instrumented_numbers.c" "${flags[@]}" -o instrumented_numbers
        ./instrumented_numbers none
        [ "$(value 'phase_seconds_total{part="a"}')" = 0.25 ]
        [ "$(value unknown)" = unset ]
        [ "$(value infinite)" = inf ]
        rm "$SONDE_BOARDS"/*
    done
}

@test "the library exports exactly the functions of sonde.h, needs only libc, and is never unloaded" {
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

@test "the man page is installed, valid, and has every function" {
    page=$(find "$ROOT" -path '*/man3/sonde.3')
    command -v mandoc || skip "no mandoc"
    mandoc -T lint -W warning "$page"
    for name in $(grep -oE '\bsonde_[a-z_]+ ?\(' "$SOURCE/include/sonde.h" | tr -d ' (' | grep -v inside | sort -u); do
        grep -q "\b$name\b" "$page" || { echo "$name"; false; }
    done
}
