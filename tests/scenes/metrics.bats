#!/usr/bin/env bats
# /metrics and the HTTP server: valid, with content negotiation, and robust against bad clients.
load scene
load live

get() {
    curl -s "$@"
}

@test "promtool reports no problems" {
    command -v promtool || skip "no promtool"
    start_agent
    "$SONDE" job begin 4711 --pid $$ --user nobody --cores 2 --memory 1G
    wait_for 'get 127.0.0.1:$PORT/metrics | grep -q "job=\"4711\",user=\"nobody\""'
    get "127.0.0.1:$PORT/metrics" >text
    promtool check metrics <text
    grep -q '^sonde_job_memory_limit_bytes{host="[^"]*",job="4711",user="nobody"} 1073741824$' text
    grep -qE '^sonde_stat_cpu_user_seconds_total\{host="[^"]+",cpu="0"\} [0-9.]+$' text
}

@test "OpenMetrics on request" {
    start_agent --sensors meminfo,stat
    get -H 'Accept: application/openmetrics-text' -D head "127.0.0.1:$PORT/metrics" >open
    grep -qi '^content-type: application/openmetrics-text; version=1.0.0; charset=utf-8' head
    [ "$(tail -n 1 open)" = '# EOF' ]
    grep -q '^# UNIT sonde_stat_user_seconds seconds$' open
    grep -q '^# TYPE sonde_stat_user_seconds counter$' open
    grep -q '^sonde_stat_user_seconds_total{' open
    get -D head "127.0.0.1:$PORT/metrics" >text
    grep -qi '^content-type: text/plain; version=0.0.4; charset=utf-8' head
}

@test "unknown paths and methods that are not allowed" {
    start_agent --sensors meminfo
    code() { curl -s -o /dev/null -w '%{http_code}' "$@"; }
    [ "$(code "127.0.0.1:$PORT/")" -eq 200 ]
    [ "$(code "127.0.0.1:$PORT/nothing")" -eq 404 ]
    [ "$(code -X DELETE "127.0.0.1:$PORT/metrics")" -eq 405 ]
    [ "$(code -d x "127.0.0.1:$PORT/metrics")" -eq 405 ]
    [ "$(code -d '{}' "127.0.0.1:$PORT/ctl")" -eq 403 ]
    [ "$(code -d '{}' "127.0.0.1:$PORT/job")" -eq 403 ]
    [ "$(code -I "127.0.0.1:$PORT/metrics")" -eq 200 ]
    [ "$(code -H "X: $(head -c 9000 /dev/zero | tr '\0' x)" "127.0.0.1:$PORT/metrics")" -eq 431 ]
    head -c 100000 /dev/zero >big
    [ "$(code --data-binary @big --unix-socket "$T/run/agent.sock" http://x/ctl)" -eq 413 ]
    [ "$(code --data-binary 'no json' --unix-socket "$T/run/agent.sock" http://x/ctl)" -eq 400 ]
}

@test "300 idle connections, garbage and slow readers: ticks go on, scrapes succeed, memory stays" {
    start_agent --sensors meminfo,stat,vmstat -p 100ms
    get "127.0.0.1:$PORT/metrics" >/dev/null
    before=$(awk '/VmRSS/ { print $2 }' "/proc/$AGENT/status")
    python3 - "$PORT" <<'PY'
import random, socket, sys, time, urllib.request
port = int(sys.argv[1])
def connect():
    return socket.create_connection(("127.0.0.1", port), timeout=60)
def scrape():
    began = time.monotonic()
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60).read().decode()
    assert "sonde_meminfo_mem_total_bytes" in text
    return time.monotonic() - began
idle = [connect() for _ in range(300)]
print("with idle ones:", scrape())
slow = []
for _ in range(40):  # sends requests repeatedly and reads no response
    s = connect()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    s.setblocking(False)
    try:
        for _ in range(200):
            s.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    except OSError:
        pass
    slow.append(s)
print("with slow ones:", scrape())
random.seed(1)
for i in range(200):
    s = connect()
    try:
        s.sendall(random.randbytes(random.randrange(1, 3000)) + b"\r\n\r\n")
        s.setblocking(False)
        s.recv(100)
    except OSError:
        pass
    s.close()
print("after garbage:", scrape())
PY
    after=$(awk '/VmRSS/ { print $2 }' "/proc/$AGENT/status")
    echo "resident: $before kB, then $after kB"
    grep -q __asan_init "$SONDE" || [ $((after - before)) -lt 8192 ] # sanitizers need additional memory
    wait_for '[ "$(find "/proc/$AGENT/fd" -type l | wc -l)" -lt 250 ]'
    first=$("$SONDE" ls --json | jq '[.sets[].updates] | max')
    wait_for '[ "$("$SONDE" ls --json | jq "[.sets[].updates] | max")" -ge $((first + 5)) ]'
}

@test "an address in use is reported at startup" {
    start_agent --sensors meminfo
    run -1 env SONDE_SOCKET_DIR="$T/other" "$SONDE" agent --listen "127.0.0.1:$PORT" --sensors meminfo
    [ -n "$output" ]
    run ! "$SONDE" agent --listen none --sensors meminfo # its socket is in use
    kill -0 "$AGENT"
    "$SONDE" ls >/dev/null
}

@test "the number of series is limited, also after a change at run time" {
    start_agent --sensors meminfo,stat --series 20
    left_out() { get "127.0.0.1:$PORT/metrics" | awk '/^sonde_series_left_out/ { print $2 }'; }
    [ "$(left_out)" -gt 20 ]
    [ "$(get "127.0.0.1:$PORT/metrics" | awk '/^sonde_series\{/ { print $2 }')" -le 20 ]
    "$SONDE" ctl set series=1000
    [ "$(left_out)" -eq 0 ]
    run -1 "$SONDE" ctl set series=many
    [[ "$output" == *"invalid series 'many'"* ]]
}

@test "promtool reports no problems on captured nodes: all hardware, all batch systems" {
    command -v promtool || skip "no promtool"
    for node in server sensors old slurm-v2 oar-v1; do
        JOBS=all start_agent --root "$SOURCE/tests/nodes/$node" --set temperature.period=1s
        get "127.0.0.1:$PORT/metrics" >"$node.text"
        kill "$AGENT"
        wait "$AGENT"
        AGENT=
        promtool check metrics <"$node.text"
        run ! grep instance_name "$node.text" # every label has a specific name
    done
    grep -q '^sonde_rapl_package_joules_total{host="[^"]*",package="' ./*.text
    grep -q '^sonde_temperature_.*_celsius{host="[^"]*",zone=' ./*.text
    grep -qE '^sonde_cgroup_memory_bytes\{host="[^"]*",job="[0-9]+"' slurm-v2.text
}
