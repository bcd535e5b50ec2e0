#!/usr/bin/env bats
# Nothing is lost on the way from an agent to a sink, and nothing comes twice: counted from both ends, with real processes
# that are killed, sent away, and run out of disk.
bats_require_minimum_version 1.5.0
load scene
load lossless

@test "an agent that is killed again and again leaves no hole and no double" {
    start_collector
    for ((life = 0; life < 12; life++)); do
        start_agent
        wait_for '[ -s "$T/agent.json" ]'
        doze 20 70
        kill_agent
    done
    start_agent # brings what the last one left
    wait_for caught_up
    stop_agent
    wait_for 'arrived "$T/rows.json"'
    stop_collector
    assert_lossless "$T/rows.json"
    [ "$(wc -l <"$T/agent.json")" -gt 300 ]
}

@test "a collector that is killed again and again leaves no hole and no double" {
    SINKS+=(--sink "csv:path=$T/rows.csv,append=yes")
    start_agent
    for ((life = 0; life < 12; life++)); do
        start_collector
        doze 50 180
        kill_collector
    done
    start_collector
    wait_for caught_up
    stop_agent
    wait_for 'arrived "$T/rows.json" "$T/rows.csv"'
    stop_collector
    assert_lossless "$T/rows.json" "$T/rows.csv"
    [ "$(wc -l <"$T/agent.json")" -gt 1000 ]
}

@test "both are killed, each when it likes" {
    start_collector
    start_agent
    for ((turn = 0; turn < 20; turn++)); do
        doze 20 90
        if ((RANDOM % 2)); then
            kill_agent
            start_agent
        else
            kill_collector
            start_collector
        fi
    done
    wait_for caught_up
    stop_agent
    wait_for 'arrived "$T/rows.json"'
    stop_collector
    assert_lossless "$T/rows.json"
}
