#!/usr/bin/env bats
# Hosts with a wrong clock beside one with a correct clock: their timestamps are stored as sent, nothing is lost on the way to the
# database, to files and to rollups, other hosts are unaffected, and the clock difference is reported.
load scene
load collecting

DAY=86400

# shift_clock HOST SECONDS: sets its clock ahead by SECONDS from now on. The preloaded clock reads a file of fixed length.
shift_clock() {
    printf '%-32s' "$2" | dd of="$T/$1.shift" conv=notrunc status=none
}

# An agent with that host name and clock that writes its samples to $T/HOST.json.
start_host() {
    start unshare --uts -- sh -c 'hostname "$0" && exec "$@"' "$1" env SHIFT_CLOCK="$T/$1.shift" LD_PRELOAD="$TOOLS/shift_clock.so" \
        "$SONDE" agent --listen none --jobs none --socket "$T/$1.sock" --plain --collector "tcp://127.0.0.1:$PORT" --spool "$T/$1.spool" -p 100ms \
        --sensors loadavg,meminfo --sink "json:path=$T/$1.json"
    HOSTS[$1]=$STARTED
}

# The upstream collector gets a rollup of each second, the lower one stores every sample.
start_collectors() {
    TOP_PORT=$(free_port)
    PORT=$TOP_PORT HTTP=127.0.0.1:$(free_port) NAME=top start_collector --sink "json:path=$T/rolled.json"
    start_collector --upstream "tcp://127.0.0.1:$TOP_PORT" --rollup 1s --sink "csv:path=$T/all.csv" --sink "store:path=$T/all.db,every=200ms"
}

# "time set" of each sample of a host: as written by its agent, as in the collector's file; the number of samples in the database.
read_by() {
    python3 -c 'import json, sys
for line in open(sys.argv[1]):
    row = json.loads(line)
    print(row["time_ns"], row["set"])' "$T/$1.json" | sort
}

in_csv() {
    python3 -c 'import csv, sys
for key in sorted({(row["time_ns"], row["set"]) for row in csv.DictReader(open(sys.argv[2])) if row["host"] == sys.argv[1]}):
    print(*key)' "$1" "$T/all.csv" | sort
}

in_store() {
    sqlite3 -readonly "$T/all.db" "SELECT sum(count) FROM series JOIN runs ON runs.id = run JOIN hosts ON hosts.id = runs.host WHERE hosts.name = '$1'"
}

# Seconds of a host's rollups of loadavg, in order of arrival.
summaries() {
    python3 -c 'import json, sys
for line in open(sys.argv[2]):
    row = json.loads(line)
    if row["host"] == sys.argv[1] and row["set"] == "loadavg_rollup":
        print(row["time_ns"] // 1000000000)' "$1" "$T/rolled.json"
}

all_arrived() {
    for host in "${!HOSTS[@]}"; do
        diff <(read_by "$host") <(in_csv "$host") >/dev/null && [ "$(in_store "$host")" -eq "$(wc -l <"$T/$host.json")" ] || return 1
    done
}

readings() {
    [ "$(grep -c loadavg "$T/$1.json")" -ge "$2" ]
}

# is_ahead HOST SECONDS: whether the collector reports this clock difference, to within half a minute.
is_ahead() {
    wait_for 'status_of ".hosts[] | select(.host == \"'"$1"'\") | .clock_ahead_ns / 1e9 - '"($2)"' | fabs < 30" | grep -qx true'
}

end_hosts() {
    kill "${HOSTS[@]}"
    wait "${HOSTS[@]}" || :
}

@test "a clock a day ahead, and one that jumps back an hour: every sample is stored, and the difference is reported" {
    need_root
    declare -A HOSTS
    shift_clock right 0
    shift_clock ahead $DAY
    shift_clock jumps 0
    start_collectors
    for host in right ahead jumps; do start_host $host; done
    wait_for 'readings right 50 && readings ahead 50 && readings jumps 50'
    shift_clock jumps -3600
    wait_for 'readings right 100 && readings ahead 100 && readings jumps 100'
    # the host is shown with its own timestamps while it sends, and the difference is reported
    # (which two clock readings give: on a busy machine some time passes between them)
    is_ahead ahead $DAY
    is_ahead jumps -3600
    wait_for '[ "$(status_of ".hosts[] | select(.state == \"up\") | .host" | sort | xargs)" = "ahead jumps right" ]'
    for host in right ahead jumps; do
        wait_for 'curl -s "http://$HTTP/metrics" | grep -q "^sonde_loadavg_load1{host=\"$host\"}"'
    done
    wait_for '"$SONDE" collect --status "$T/run/c.sock" | grep -E "^ahead .*clock"'
    wait_for 'grep -q "the clock of ahead is 1 d .* ahead" log'
    wait_for 'grep -q "the clock of jumps was set back by \\(1 h\\|59 min\\)" log'
    end_hosts
    for host in "${!HOSTS[@]}"; do # sends what they had no time to send
        start unshare --uts -- sh -c 'hostname "$0" && exec "$@"' "$host" env SHIFT_CLOCK="$T/$host.shift" \
            LD_PRELOAD="$TOOLS/shift_clock.so" "$SONDE" agent --sensors none --listen none --jobs none --socket none --plain \
            --collector "tcp://127.0.0.1:$PORT" --spool "$T/$host.spool"
    done
    wait_for all_arrived
    # no timestamp was changed on the way
    [ "$(read_by ahead | head -n 1 | cut -c1-10)" -gt $(($(date +%s) + DAY - 600)) ]
    for host in "${!HOSTS[@]}"; do
        diff <(read_by "$host") <(in_csv "$host")
        [ "$(in_store "$host")" -eq "$(wc -l <"$T/$host.json")" ]
    done
    # rollups: one window per second and host, except for the last one, which is still open; two sequences for the clock that jumps
    expected_windows() {
        read_by "$1" | grep loadavg | cut -c1-10 | sort -u | awk '{ print $1 + 1 }'
    }
    wait_for '[ "$(summaries right | wc -l)" -ge "$(($(expected_windows right | wc -l) - 1))" ]'
    wait_for '[ "$(summaries ahead | wc -l)" -ge "$(($(expected_windows ahead | wc -l) - 1))" ]'
    wait_for '[ "$(summaries jumps | wc -l)" -ge "$(($(expected_windows jumps | wc -l) - 1))" ]'
    for host in "${!HOSTS[@]}"; do
        [ -z "$(summaries "$host" | sort | uniq -d)" ]
        [ "$(diff <(expected_windows "$host") <(summaries "$host" | sort) | grep -c '^>')" -eq 0 ]
        [ "$(diff <(expected_windows "$host") <(summaries "$host" | sort) | grep -c '^<')" -le 1 ]
    done
    [ "$(status_of .rollup.late)" -eq 0 ]
}
