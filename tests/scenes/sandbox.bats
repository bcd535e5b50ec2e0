#!/usr/bin/env bats
# Programs that restrict their system calls, and whole jobs that live under such a restriction.
load scene

@test "in a container with a filter of its own, the probe still tells" {
    SONDE_TAGS=place:inside "$TOOLS/refuses" 9999 "$SONDE" run -- true
    "$SONDE" ps --json >ps.json
    grep -q '"tags": "place:inside"' ps.json
}

@test "a program that puts itself under a filter is told by its parent" {
    run "$SONDE" run -- sh -c "'$TOOLS/acts' seccomp; exit 3"
    [ "$status" -eq 3 ]
    [[ $output == *alive* ]]
    "$SONDE" ps --json >ps.json
    grep '"args": \[".*acts", "seccomp"\]' ps.json | grep -q '"exit_code": 0, "exit_signal": 0'
}
