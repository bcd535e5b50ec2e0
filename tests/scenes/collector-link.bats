#!/usr/bin/env bats
# The connection between agents and collectors: keys and authorization, encryption, other protocol versions, a list of collectors,
# interrupted and slow networks, a full disk under the journal. The agent's samples are compared with the collector's.
load scene
load link

setup() { link_setup; }
teardown() { link_teardown; }

@test "samples go encrypted from an agent to its collector, each once" {
    collector_with_keys one "$PORT"
    agent_with_keys --collector "tcp://127.0.0.1:$PORT"
    wait_for is_up
    wait_for '[ "$(count one)" -ge 10 ]'
    "$SONDE" ctl show | grep "sends to tcp://127.0.0.1:$PORT: up"
    end agent
    wait_for 'same one'
    [ "$(count one)" -ge 10 ]
    [ -z "$(grep -E 'lost|cannot' one.log agent.log)" ]
}

@test "an agent whose key is authorized later connects and sends everything it has read" {
    "$SONDE" keygen "$T/keys/other.key" >"$T/keys/line"
    collector_with_keys one "$PORT"
    KEY='' agent --key "$T/keys/other.key" --collector-key "$T/keys/collector.key.pub" --collector "tcp://127.0.0.1:$PORT"
    wait_for 'grep -q "does not authorize our key" agent.log'
    "$SONDE" ctl show | grep 'does not authorize our key'
    [ "$(count one)" -eq 0 ]
    cat "$T/keys/line" >>"$T/keys/allowed"
    wait_for is_up
    end agent
    wait_for 'same one'
    [ "$(grep -c 'does not authorize our key' agent.log)" -eq 1 ]
}

@test "an agent whose key is removed is disconnected, and sends everything when it is added again" {
    collector_with_keys one "$PORT"
    agent_with_keys --collector "tcp://127.0.0.1:$PORT"
    wait_for is_up
    gets_more one
    mv keys/allowed keys/kept
    touch keys/allowed
    wait_for '! is_up'
    wait_for 'grep -q "was removed from the collector.s list\|does not authorize our key" agent.log'
    wait_for '[ "$("$SONDE" collect --status --json "$T/run/one.sock" | jq "[.sinks[].waiting_bytes] | max")" -eq 0 ]'
    local before
    before=$(count one)
    sleep 1
    [ "$(count one)" -eq "$before" ]
    cp keys/kept keys/allowed
    wait_for is_up
    end agent
    wait_for 'same one'
}

@test "an invalid list of keys is logged, and the old one stays in effect" {
    collector_with_keys one "$PORT"
    agent_with_keys --collector "tcp://127.0.0.1:$PORT"
    wait_for is_up
    echo 'this is no key' >>keys/allowed
    wait_for 'grep -q "allowed:2: does not start with a key" one.log'
    gets_more one
    is_up
}

@test "an agent with a wrong collector key logs it, and uses the right one without a restart" {
    "$SONDE" keygen --collector "$T/keys/wrong.key" >/dev/null
    cp keys/wrong.key.pub keys/used.pub
    collector_with_keys one "$PORT"
    KEY=$T/keys/used.pub agent_with_keys --collector "tcp://127.0.0.1:$PORT"
    wait_for 'grep -q handshake agent.log'
    [ "$(count one)" -eq 0 ]
    cp keys/collector.key.pub keys/used.pub
    kill -HUP "$agent_pid"
    wait_for is_up
    end agent
    wait_for 'same one'
}

@test "a collector changes its key without a restart, and agents that know it reconnect" {
    collector_with_keys one "$PORT"
    cp keys/collector.key.pub keys/used.pub
    KEY=$T/keys/used.pub agent_with_keys --collector "tcp://127.0.0.1:$PORT"
    wait_for is_up
    gets_more one
    "$SONDE" keygen --collector --force "$T/keys/collector.key" >/dev/null
    kill -HUP "$one_pid"
    wait_for 'grep -q "public key has changed to" one.log'
    wait_for '! is_up'
    cp keys/collector.key.pub keys/used.pub # read at the next attempt, without a reload
    wait_for is_up
    gets_more one
    echo nonsense >keys/collector.key
    kill -HUP "$one_pid"
    wait_for 'grep -q "is not a key file" one.log'
    gets_more one
    end agent
    wait_for 'same one'
}

@test "without a key nobody connects, and others are unaffected" {
    collector_with_keys one "$PORT"
    agent_with_keys --collector "tcp://127.0.0.1:$PORT"
    wait_for is_up
    printf 'hello stranger 1 1 7\nreceive 3\n' | "$BUILD/tests/wire_talk" "tcp://127.0.0.1:$PORT" >stranger.log
    cat stranger.log
    grep -E 'down|nothing' stranger.log
    gets_more one
    [ -z "$(grep stranger one.csv)" ]
    [ "$(uplink .connections)" -eq 1 ]
}

@test "a key is valid only for its own host" {
    sed -i 's/ .*/ somebody-else/' keys/allowed
    collector_with_keys one "$PORT"
    agent_with_keys --collector "tcp://127.0.0.1:$PORT"
    wait_for '[ "$(uplink .state)" = refused ]'
    grep 'its key belongs to somebody-else' agent.log
    [ "$(count one)" -eq 0 ]
}

@test "unencrypted connections stay on this node unless allowed twice" {
    run -2 "$SONDE" agent --check --plain --collector tcp://login1:5555
    [[ $output == *plain-network* ]]
    run -2 "$SONDE" agent --check --collector tcp://127.0.0.1:5555
    [[ $output == *--collector-key* ]]
    "$SONDE" agent --check --plain --plain-network --collector tcp://login1:5555
    run -1 "$SONDE" agent --check --collector login1 --collector-key "$T/none.pub" --key "$T/keys/host.key"
    [[ $output == *"cannot read key file $T/none.pub"*"copy it from the collector"* ]]
    run -1 "$SONDE" agent --check --collector login1 --collector-key "$T/keys/collector.key.pub" --key "$T/none"
    [[ $output == *"create one with 'sonde keygen $T/none'"* ]]
    run "$SONDE" collect --check --plain --listen 'tcp://*:5555'
    [ "$status" -ne 0 ]
    [[ $output == *plain-network* ]]
    "$SONDE" collect --check --plain --plain-network --listen 'tcp://*:5555'
    collector one "$PORT" --plain
    agent --plain --collector "tcp://127.0.0.1:$PORT"
    wait_for is_up
    end agent
    wait_for 'same one'
}

@test "a message that is sent twice is stored once" {
    collector one "$PORT" --plain
    local talk=$BUILD/tests/wire_talk
    printf '%s\n' 'hello byhand 1 1 7' 'receive 10' 'open 0 byhand 99' 'state 0' 'record 0 1' 'record 0 2' 'again' 'ping' 'until 10' |
        "$talk" "tcp://127.0.0.1:$PORT" >first.log
    cat first.log
    printf '%s\n' 'hello byhand 1 1 7' 'receive 10' 'open 0 byhand 99' 'state 0' 'record 0 1' 'record 0 2' 'record 0 3' 'until 10' |
        "$talk" "tcp://127.0.0.1:$PORT" >second.log
    cat second.log
    grep 'all acknowledged' second.log
    wait_for '[ "$(grep -c byhand one.csv)" -ge 3 ]'
    sleep 0.5
    [ "$(grep -c byhand one.csv)" -eq 3 ]
}

@test "old and new versions work together, or report what they cannot decode" {
    collector one "$PORT" --plain
    agent --plain --collector "tcp://127.0.0.1:$PORT"
    wait_for is_up
    local talk=$BUILD/tests/wire_talk
    printf '%s\n' 'hello newer 1 9 7' 'receive 10' 'send 77 2 something of a later version' 'receive 10' 'send 77 2 again' \
        'open 0 newer 5' 'state 0' 'record 0 1' 'until 10' | "$talk" "tcp://127.0.0.1:$PORT" >newer.log
    cat newer.log
    grep -x 'welcome 1' newer.log
    grep 'cannot 77 2' newer.log
    grep 'all acknowledged' newer.log
    printf '%s\n' 'hello much-newer 5 9 8' 'receive 10' | "$talk" "tcp://127.0.0.1:$PORT" >much.log
    cat much.log
    grep 'refuse it requires protocol version 5' much.log
    printf '%s\n' 'noise GET / HTTP/1.1' 'receive 3' 'hello late 1 1 9' 'receive 5' | "$talk" "tcp://127.0.0.1:$PORT" >noise.log
    cat noise.log
    printf '%s\n' 'record 0 1' 'receive 5' | "$talk" "tcp://127.0.0.1:$PORT" >early.log # without a HELLO
    cat early.log
    gets_more one
    end agent
    wait_for 'cmp -s <(samples agent.csv) <(samples one.csv | grep -v ,numbers,)'
    end one
}

@test "a munge credential is required, and one of another site is refused" {
    command -v munged >/dev/null && [ "$(id -u)" -eq 0 ] || skip "needs root and the package munge"
    for site in here elsewhere; do
        mkdir -m 755 "$T/$site"
        head -c 1024 /dev/urandom >"$T/$site/key"
        chmod 400 "$T/$site/key"
        start "munged_$site" munged -F --key-file="$T/$site/key" --socket="$T/$site/sock" --pid-file="$T/$site/pid" \
            --log-file="$T/$site/log" --seed-file="$T/$site/seed" --force
        wait_for "[ -S '$T/$site/sock' ]"
    done
    SONDE_MUNGE_SOCKET=$T/here/sock collector_with_keys one "$PORT" --munge
    SONDE_MUNGE_SOCKET=$T/here/sock agent_with_keys --collector "tcp://127.0.0.1:$PORT"
    wait_for '[ "$(uplink .state)" = refused ]'
    grep -i munge agent.log
    end agent
    SONDE_MUNGE_SOCKET=$T/elsewhere/sock agent_with_keys --collector "tcp://127.0.0.1:$PORT" --munge
    wait_for '[ "$(uplink .state)" = refused ]'
    grep 'munge credential was rejected' agent.log
    [ "$(count one)" -eq 0 ]
    end agent
    SONDE_MUNGE_SOCKET=$T/here/sock agent_with_keys --collector "tcp://127.0.0.1:$PORT" --munge
    wait_for is_up
    end agent
    wait_for 'same one'
}

@test "the next collector of the list takes over, and everything is in one of the two" {
    collector_with_keys one "$PORT"
    collector_with_keys two $((PORT + 1))
    agent_with_keys --collector "tcp://127.0.0.1:$PORT" --collector "tcp://127.0.0.1:$((PORT + 1))"
    wait_for is_up
    gets_more one
    end one -KILL
    gets_more two
    [ "$(uplink .collector)" = "tcp://127.0.0.1:$((PORT + 1))" ]
    rm run/one.sock
    collector_with_keys one "$PORT"
    end two -KILL
    gets_more one
    end agent
    rm run/two.sock
    collector_with_keys two $((PORT + 1))
    wait_for 'cmp -s <(samples agent.csv) <(samples one.csv | cat - <(samples two.csv) | sort -u)'
    # what was in flight when one was killed may be in both, as often as it was sent: one collector cannot know the sequence numbers of
    # the other. Two kills: two runs of consecutive samples
    cat <(samples one.csv) <(samples two.csv) | grep ',load1,' | sort | uniq -d | cut -d, -f1 >twice
    samples agent.csv | grep ',load1,' | cut -d, -f1 | awk 'NR == FNR { twice[$1]; next }
        { now = $1 in twice; rows += now && !before; before = now } END { print rows + 0 " rows"; exit rows > 2 }' twice -
}

@test "after kill -9 of agent and collector nothing is missing or duplicate" {
    collector_with_keys one "$PORT"
    agent_with_keys --collector "tcp://127.0.0.1:$PORT"
    for victim in agent one agent one agent; do
        wait_for is_up
        gets_more one
        end "$victim" -KILL
        rm -f "run/$victim.sock"
        case $victim in
        agent) agent_with_keys --collector "tcp://127.0.0.1:$PORT" ;;
        one) collector_with_keys one "$PORT" ;;
        esac
    done
    wait_for is_up
    end agent
    end one
    # a new sink gets the collector's whole journal: every sample of the agent, once
    start fresh "$SONDE" collect --listen "tcp://127.0.0.1:$PORT" --key keys/collector.key --allow keys/allowed --http none \
        --journal one.journal --socket "$T/run/fresh.sock" --sink "csv:path=$T/fresh.csv"
    wait_for 'same fresh'
    [ "$(count fresh)" -ge 20 ]
    samples fresh.csv | uniq -d >twice
    [ ! -s twice ] || { wc -l twice && head -n 3 twice && grep -cFf <(head -n 1 twice) agent.csv fresh.csv && tail -n 20 ./*.log && false; }
}

@test "a network that is interrupted and restored" {
    [ "$(id -u)" -eq 0 ] && ip link add lkp$$ type veth peer name lkq$$ 2>/dev/null || skip "needs root and network namespaces"
    local net="sonde-$$"
    ip netns add "$net"
    ip link set lkq$$ netns "$net"
    ip addr add 10.213.77.1/30 dev lkp$$
    ip link set lkp$$ up
    ip -n "$net" addr add 10.213.77.2/30 dev lkq$$
    ip -n "$net" link set lkq$$ up
    ip -n "$net" link set lo up
    interrupt_and_restore "$net" "lkp$$" || { ip netns del "$net"; ip link del "lkp$$"; return 1; }
    ip netns del "$net"
    ip link del "lkp$$" 2>/dev/null || :
}

interrupt_and_restore() {
    LISTEN=10.213.77.1 collector_with_keys one "$PORT" || return
    PREFIX=(ip netns exec "$1")
    agent_with_keys --collector "tcp://10.213.77.1:$PORT" || return
    wait_for is_up && gets_more one || return
    ip link set "$2" down # packets are dropped without an error
    wait_for '! is_up' && wait_for '[ "$(uplink .lag_bytes)" -gt 20000 ]' || return
    local before after
    before=$(count one)
    ip link set "$2" up
    wait_for is_up && gets_more one || return
    after=$(count one)
    [ "$after" -gt "$before" ] && end agent && wait_for 'same one' || return
    end one
}

@test "a link with 3 kB/s and 200 ms latency, and one that stalls for a while" {
    collector_with_keys one "$PORT"
    start line "$SOURCE/tests/tools/slow-line" $((PORT + 1)) 127.0.0.1 "$PORT" 3000 200
    wait_for 'grep -q ready line.log'
    PERIOD=500ms agent_with_keys --collector "tcp://127.0.0.1:$((PORT + 1))"
    wait_for is_up
    gets_more one
    kill -USR1 "$line_pid"
    wait_for '! is_up' # the stalled connection is detected
    kill -USR2 "$line_pid"
    wait_for is_up
    wait_for '[ "$(uplink .lag_bytes)" -lt 2000 ]'
    end agent
    PERIOD=500ms agent_with_keys --collector "tcp://127.0.0.1:$PORT" # what the slow link had no time for
    wait_for is_up
    end agent
    wait_for 'same one'
}

@test "a journal on a full disk loses what it must, and reports how much" {
    [ "$(id -u)" -eq 0 ] && mkdir spool && mount -t tmpfs -o size=64k none "$T/spool" 2>/dev/null || skip "needs root and tmpfs"
    fill_and_free || { umount -l "$T/spool"; return 1; }
    umount -l "$T/spool"
}

fill_and_free() {
    PERIOD=10ms SENSORS=meminfo,vmstat,loadavg agent_with_keys --collector "tcp://127.0.0.1:$PORT" || return
    wait_for 'grep -q "cannot write the journal" agent.log' || return
    local lost
    lost=$(uplink .spool.unspooled)
    [ "$lost" -gt 0 ] && "$SONDE" ctl show | grep 'lost because the journal was full' || return
    collector_with_keys one "$PORT" || return
    wait_for is_up && wait_for 'grep -q "works again" agent.log' && gets_more one || return
    wait_for '"$SONDE" collect --status --json "$T/run/one.sock" | grep -q "disk of the journal full"' || return
    end agent
    lost=$(sed -n 's/.* \([0-9]*\) readings were lost/\1/p' agent.log | awk '{ sum += $1 } END { print sum }')
    # the number of missing samples equals the reported loss
    wait_for '[ $(($(samples agent.csv | grep -c ,load1,) - $(count one))) -eq '"$lost"' ]'
    [ -z "$(samples one.csv | uniq -d)" ]
}
