#!/usr/bin/env bats
# tools/affected-scenes finds what changed: on a branch, on main with and without a remote, committed or not.

setup() {
    T=$(mktemp -d "${TMPDIR:-/tmp}/sonde-house-XXXXXX")
    export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
    export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
    git init -q -b main "$T/first"
    cd "$T/first"
    mkdir -p src/merge src/report tests/scenes
    printf '# comment\nsrc/merge   run ps\nsrc/report  report\n' >tests/scenes/covers
    change src/merge/a.c
    change src/report/a.c
}

teardown() {
    rm -rf "$T"
}

change() {
    echo "int x$RANDOM;" >>"$1"
    git add -A
    git commit -qm "$1"
}

affected() {
    "$SOURCE/tools/affected-scenes" | paste -sd ' '
}

@test "on main without a remote: the last commit and what is not committed" {
    [ "$(affected)" = report ]
    echo >src/merge/new.c
    [ "$(affected)" = "ps report run" ]
}

@test "in a repository with one commit: what is not committed" {
    git init -q -b main "$T/single"
    cp -r tests "$T/single"
    cd "$T/single"
    change file
    [ -z "$(affected)" ]
    mkdir -p src/merge
    echo >src/merge/b.c
    [ "$(affected)" = "ps run" ]
}

@test "on main of a clone: commits that are not in origin" {
    git clone -q "$T/first" "$T/clone"
    cd "$T/clone"
    [ -z "$(affected)" ]
    change src/merge/a.c
    change src/other.c
    [ "$(affected)" = "ps run" ]
}

@test "on a branch: what differs from main, or from origin/main without a local main" {
    git clone -q "$T/first" "$T/clone"
    cd "$T/clone"
    git switch -qc topic
    change src/merge/a.c
    change tests/scenes/top.bats
    [ "$(affected)" = "ps run top" ]
    git branch -qD main
    [ "$(affected)" = "ps run top" ]
}
