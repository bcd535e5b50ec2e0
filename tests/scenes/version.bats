#!/usr/bin/env bats
# The binary itself, before anything is watched.
load scene

@test "without a command it says how it is used and exits with 2" {
    run "$SONDE"
    [ "$status" -eq 2 ]
}
