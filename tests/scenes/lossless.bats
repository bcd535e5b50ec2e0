#!/usr/bin/env bats
# No loss and no duplicates between an agent and a sink, counted at both ends, with processes that are killed, disconnected and run
# out of disk space.
load scene
load lossless

@test "an agent that is killed repeatedly leaves no gap and no duplicate" {
    start_collector
    for ((life = 0; life < 12; life++)); do
        before=$(readings "$T/agent.json")
        start_agent
        wait_for '[ "$(readings "$T/agent.json")" -gt $((before + 5)) ]'
        doze 20 70
        kill_agent
    done
    start_agent # sends what the last one left
    wait_for caught_up
    stop_agent
    send_rest
    wait_for 'arrived "$T/rows.json"'
    stop_collector
    assert_lossless "$T/rows.json"
    [ "$(wc -l <"$T/agent.json")" -gt 300 ]
}

@test "a collector that is killed repeatedly leaves no gap and no duplicate in any sink" {
    SINKS+=(--sink "csv:path=$T/rows.csv,append=yes" --sink "csv:dir=$T/tree,commit=300ms"
            --sink "store:path=$T/rows.db,every=300ms" --sink "influx:path=$T/rows.lp,append=yes")
    start_agent
    for ((life = 0; life < 12; life++)); do
        start_collector
        doze 50 180
        kill_collector
    done
    start_collector
    wait_for caught_up
    stop_agent
    send_rest
    wait_for 'arrived "$T/rows.json" "$T/rows.csv"'
    stop_collector
    assert_lossless "$T/rows.json" "$T/rows.csv" "$T/tree" "$T/rows.db" "$T/rows.lp"
    [ "$(wc -l <"$T/agent.json")" -gt 1000 ]
}

@test "both are killed at random times" {
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
    send_rest
    wait_for 'arrived "$T/rows.json"'
    stop_collector
    assert_lossless "$T/rows.json"
}

@test "all three of a tree are killed at random times" {
    start_top
    start_middle
    start_agent
    for ((turn = 0; turn < 24; turn++)); do
        doze 20 110
        case $((RANDOM % 3)) in
        0) kill_agent && start_agent ;;
        1) kill_collector && start_middle ;;
        2) kill_top && start_top ;;
        esac
    done
    wait_for caught_up
    stop_agent
    send_rest
    wait_for 'arrived "$T/rows.json"'
    kill_top
    stop_collector
    assert_lossless "$T/rows.json"
}

@test "a collector that is down for 3,600 readings gets all of them" {
    PERIOD=1ms
    start_agent
    wait_for '[ "$(readings "$T/agent.json")" -ge 3600 ]'
    start_collector
    wait_for caught_up
    stop_agent
    send_rest
    wait_for 'arrived "$T/rows.json"'
    [ "$(lost)" -eq 0 ]
    stop_collector
    assert_lossless "$T/rows.json"
}

# There are no duplicates, and the missing $1 samples were reported as lost.
assert_loss_reported() {
    [ "$1" -gt 100 ]
    [ "$(sort -u "$T/rows.json" | wc -l)" -eq "$(wc -l <"$T/rows.json")" ]
    assert_sum "$(readings "$T/rows.json")" "$1" "$(readings "$T/agent.json")"
}

@test "a full journal keeps the newest records and reports how many are missing" {
    start_agent --spool-age 2s
    wait_for '[ "$(readings "$T/agent.json")" -ge 700 ]'
    start_collector
    wait_for caught_up
    stop_agent
    send_rest
    wait_for 'arrived "$T/rows.json"'
    lost=$(lost)
    stop_collector
    assert_loss_reported "$lost"
}

@test "a journal on a full disk reports what it could not store" {
    make_small_disk 200k
    mkdir "$T/spool"
    "${INSIDE[@]}" mount --bind "$T/small" "$T/spool"
    start_agent
    wait_for 'grep -q "cannot write the journal" "$T/agent.log"'
    before=$(readings "$T/agent.json")
    wait_for '[ "$(readings "$T/agent.json")" -ge $((before + 200)) ]'
    enlarge_small_disk 10m
    wait_for 'grep -q "works again" "$T/agent.log"'
    start_collector
    wait_for caught_up
    stop_agent
    send_rest
    wait_for 'arrived "$T/rows.json"'
    lost=$(lost)
    stop_collector
    assert_loss_reported "$lost"
}

@test "a sink on a full disk gets the rest when there is space again" {
    make_small_disk 200k
    SINKS=(--sink "json:path=$T/small/rows.json,append=yes" --sink "csv:path=$T/rows.csv,append=yes")
    start_collector
    start_agent
    wait_for 'grep -q "sink json" "$T/collector.log"'
    doze 200 200
    wait_for caught_up # without waiting for the sink
    stop_agent
    send_rest
    wait_for 'arrived "$T/rows.csv"'
    enlarge_small_disk 100m
    wait_for '"${INSIDE[@]}" cp "$T/small/rows.json" "$T/rows.json" && arrived "$T/rows.json"'
    stop_collector
    assert_lossless "$T/rows.json" "$T/rows.csv"
}

@test "a collector whose disk is full accepts nothing and loses nothing" {
    make_small_disk 200k
    mkdir "$T/journal"
    "${INSIDE[@]}" mount --bind "$T/small" "$T/journal"
    SINKS=(--sink "json:path=$T/missing/rows.json,append=yes") # nothing is removed from the journal
    start_collector
    start_agent
    wait_for 'grep -q "cannot write the journal" "$T/collector.log"'
    doze 200 200
    enlarge_small_disk 100m
    mkdir "$T/missing"
    wait_for caught_up
    stop_agent
    send_rest
    wait_for 'arrived "$T/missing/rows.json"'
    stop_collector
    assert_lossless "$T/missing/rows.json"
}
