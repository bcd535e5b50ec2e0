#!/usr/bin/env bats
# The binary without a command.
load scene

@test "without a command it prints the usage, exit status 2" {
    run "$SONDE"
    [ "$status" -eq 2 ]
}
