#!/usr/bin/env bats
# The rules find what breaks them: a small tree that is right, then each thing that is wrong.

setup() {
    T=$(mktemp -d "${TMPDIR:-/tmp}/sonde-house-XXXXXX")
    mkdir -p "$T"/src/{base,model,journal,samplers,agent,collector,cli} "$T/tests/house"
    for directory in "$T"/src/*; do echo "# What lives here" >"$directory/README.md"; done
    put src/model/good.h '/* good */' '#include "base/other.h"'
    put src/model/good.c '/* good */' '#include "model/good.h"' '#include <stdio.h>' 'int f(void)' '{' '}'
}

teardown() {
    rm -rf "$T"
}

put() {
    local file=$T/$1
    shift
    printf '%s\n' "$@" >"$file"
}

# The rule that is now broken, by its number, and only this one.
expect_broken() {
    run python3 "$SOURCE/tests/house/rules.py" "$T"
    [ "$status" -eq 1 ]
    [ "$(grep -c '^not ok' <<<"$output")" -eq 1 ]
    grep -q "^not ok $1 -" <<<"$output"
}

@test "a good tree is good" {
    run python3 "$SOURCE/tests/house/rules.py" "$T"
    [ "$status" -eq 0 ]
}

@test "an include from a later directory is found" {
    put src/base/wrong.c '/* wrong */' '#include "model/good.h"'
    expect_broken 1
}

@test "an include from a sibling directory is found" {
    put src/agent/wrong.c '/* wrong */' '#include "collector/peers.h"'
    expect_broken 1
}

@test "an include without its directory is found" {
    put src/model/wrong.c '/* wrong */' '#include "good.h"'
    expect_broken 1
}

@test "an own header that does not come first is found" {
    put src/model/good.c '/* good */' '#include <stdio.h>' '#include "model/good.h"'
    expect_broken 2
}

@test "a banned call is found, but not in a comment or a string" {
    put src/model/other.c '/* strcpy(a, b) */' 'const char *t = "strcpy(a, b)";'
    run python3 "$SOURCE/tests/house/rules.py" "$T"
    [ "$status" -eq 0 ]
    put src/model/wrong.c '/* wrong */' 'void f(char *a) { strcpy(a, "b"); }'
    expect_broken 3
}

@test "a call of exit outside of cli is found" {
    put src/cli/right.c '/* right */' 'void f(void) { exit(1); }'
    run python3 "$SOURCE/tests/house/rules.py" "$T"
    [ "$status" -eq 0 ]
    put src/agent/wrong.c '/* wrong */' 'void f(void) { exit(1); }'
    expect_broken 3
}

@test "a long function is found" {
    { echo '/* wrong */'; echo 'int f(void)'; echo '{'; yes '    f();' | head -60; echo '}'; } >"$T/src/model/wrong.c"
    expect_broken 4
}

@test "a long file is found" {
    { echo '/* wrong */'; yes 'int f(void);' | head -800; } >"$T/src/model/wrong.c"
    expect_broken 4
}

@test "a wide line is found" {
    put src/model/wrong.c "/* $(printf '%0140d' 0) */"
    expect_broken 5
}

@test "a file without a header comment is found" {
    put src/model/wrong.c 'int x;'
    expect_broken 6
}

@test "a document that refers to a missing file is found" {
    put README.md 'See `src/model/good.c` and [this](src/model/good.h).'
    run python3 "$SOURCE/tests/house/rules.py" "$T"
    [ "$status" -eq 0 ]
    put README.md 'See `src/model/gone.c`.'
    expect_broken 7
    put README.md 'See [this](gone.md).'
    expect_broken 7
}

@test "a line of a scene whose failure would be ignored is found" {
    mkdir "$T/tests/scenes"
    put tests/scenes/right.bats 'is_right() {' '    [ a ] && [ b ]' '}' '    [ a ] && [ b ] && break' '    ! a || skip "no a"'
    run python3 "$SOURCE/tests/house/rules.py" "$T"
    [ "$status" -eq 0 ]
    put tests/scenes/wrong.bats '    ! a' '    b'
    expect_broken 8
    put tests/scenes/wrong.bats '    [ a ] && [[ b ]]' '    b'
    expect_broken 8
}

@test "an exception with a reason is accepted" {
    put src/model/wrong.c 'int x;'
    put tests/house/allowed 'opening src/model/wrong.c generated'
    run python3 "$SOURCE/tests/house/rules.py" "$T"
    [ "$status" -eq 0 ]
}

@test "two structs with one tag are found" {
    put src/model/one.c '/* one */' 'struct pair {' '    int a;' '};'
    put src/agent/two.c '/* two */' 'struct pair {' '    int b;' '};'
    expect_broken 9
    grep -q "two.c:2: struct pair is defined in" <<<"$output" || grep -q "one.c:2: struct pair is defined in" <<<"$output"
}

@test "a banned word in an identifier is found, with its replacement, but not in a comment or a string" {
    put tests/house/identifiers 'folder      directory'
    put src/model/right.c '/* folder */' 'const char *t = "folder";' 'int is_foldered;'
    run python3 "$SOURCE/tests/house/rules.py" "$T"
    [ "$status" -eq 0 ]
    put src/model/wrong.c '/* wrong */' 'int open_folder(void);'
    expect_broken 10
    grep -q "open_folder: instead of folder write directory" <<<"$output"
}

@test "a banned phrase in a message is found, with its replacement, but not in a key or a comment" {
    put tests/house/phrases '\bfolders?\b      directory'
    put src/model/right.c '/* the folder */' '#define KEY "folder"'
    run python3 "$SOURCE/tests/house/rules.py" "$T"
    [ "$status" -eq 0 ]
    put src/model/wrong.c '/* wrong */' 'const char *t = "cannot open the folder";'
    expect_broken 11
    grep -q 'write directory' <<<"$output"
}

@test "a directory without a README, or with a long one, is found" {
    rm "$T/src/model/README.md"
    expect_broken 12
    yes line | head -16 >"$T/src/model/README.md"
    expect_broken 12
}

@test "a directory without scenes and a scene that does not exist are found" {
    mkdir -p "$T/tests/scenes"
    put tests/scenes/run.bats '# a scene'
    for directory in base model journal samplers agent collector cli; do echo "src/$directory run"; done >"$T/tests/scenes/covers"
    run python3 "$SOURCE/tests/house/rules.py" "$T"
    [ "$status" -eq 0 ]
    sed -i /agent/d "$T/tests/scenes/covers"
    expect_broken 13
    echo 'src/agent gone' >>"$T/tests/scenes/covers"
    expect_broken 13
}

@test "a sampler without a row in docs/sensors.md is found" {
    mkdir -p "$T/docs"
    put src/samplers/all.c '/* the list */' 'const struct sampler *const sampler_all[] = {' '    &sampler_good,' '    NULL,' '};'
    put src/samplers/good.c '/* good */' 'const struct sampler sampler_good = {' '    .name = "fine",' '};'
    put docs/sensors.md '| `fine` | /proc/fine |'
    run python3 "$SOURCE/tests/house/rules.py" "$T"
    [ "$status" -eq 0 ]
    put docs/sensors.md '| `good` | /proc/fine |'
    expect_broken 14
    grep -q 'fine has no row' <<<"$output"
}

@test "a sink without a row in docs/sinks.md is found" {
    mkdir -p "$T/docs" "$T/src/sinks"
    echo "# What lives here" >"$T/src/sinks/README.md"
    put src/sinks/sink.c '/* the list */' 'const struct sink *const sink_all[] = { &sink_good, NULL };'
    put src/sinks/good.c '/* good */' 'const struct sink sink_good = {' '    .name = "fine-one",' '};'
    put src/sinks/sink_module.c '/* modules */' 'const struct sink_in_module sink_modules[] = {' '    { "far", "sink-far.so", "x" },' '};'
    put docs/sinks.md '| `fine-one` | a file |' '| `far` | a server |'
    run python3 "$SOURCE/tests/house/rules.py" "$T"
    [ "$status" -eq 0 ]
    put docs/sinks.md '| `far` | a server |'
    expect_broken 15
    grep -q 'fine-one has no row' <<<"$output"
    put docs/sinks.md '| `fine-one` | a file |'
    expect_broken 15
    grep -q 'far has no row' <<<"$output"
}
