#!/usr/bin/env bats
# Hardware sensors in a complete agent: captured nodes, a simulated BMC and fake GPUs.
load scene

setup() {
    scene_setup
    export SONDE_SOCKET_DIR=$T/run
    AGENT='' BMC=''
}

teardown() {
    [ -z "$AGENT" ] || kill -9 "$AGENT" 2>/dev/null || :
    [ -z "$BMC" ] || kill -9 "$BMC" 2>/dev/null || :
    scene_teardown
}

once() {
    "$SONDE" agent --once --listen none "$@"
}

# The value of job, set, instance and metric in $output; of several, the last one.
value() {
    awk -F, -v key="$1,$2,$3,$4" '
        $3 "," $4 "," $5 "," $6 == key { value = $8; sub("\r", "", value) }
        END { print value }' <<<"$output"
}

@test "energy, temperatures, fabric and file systems of a captured node" {
    run once --root "$SOURCE/tests/nodes/sensors" --sensors rapl,temperature,infiniband,lustre
    [ "$status" -eq 0 ]
    [ "$(value '' rapl package-0 package)" = 124872633459 ]
    [ "$(value '' rapl psys psys)" = 91448000123 ]
    [ "$(value '' temperature acpitz_2 temperature)" = 27.8 ]
    [ "$(value '' infiniband mlx5_0/1 transmit)" = 4000000000 ]
    [ "$(value '' lustre scratch write)" = 30994606834 ]
}

@test "a node with damaged files reports what is valid, without log messages" {
    run once --root "$SOURCE/tests/nodes/sick" --sensors rapl,temperature,infiniband,lustre
    [ "$status" -eq 0 ]
    [ "$(value '' rapl package-1 package)" = 1000 ]
    [ -z "$(value '' rapl package-0 package)" ]
    [ "$(value '' temperature thermal_zone5 temperature)" = 55 ]
    [ -z "$(grep -E ',-|e\+' <<<"$output")" ]
    [[ $output != *"sonde: "* ]]
}

@test "the energy of the node is attributed to its jobs" {
    cp -r "$SOURCE/tests/nodes/sensors" "$T/node"
    # 3>&-: bats waits for all processes that have it open
    "$SONDE" agent --listen none --root "$T/node" --sensors rapl -p 50ms --set rapl.share_period=50ms \
        --sink "csv:path=$T/out.csv" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for "grep -q ,11,energy, '$T/out.csv'"
    # 10 s of CPU time, of which job 11 has 4 and job 12 has 1; 60 mJ; all at once
    kill -STOP "$AGENT"
    echo 9000000000 >"$T/node/sys/fs/cgroup/cpu,cpuacct/slurm/uid_1000/job_11/cpuacct.usage"
    echo "usage_usec 8000000" >"$T/node/sys/fs/cgroup/unified/system.slice/slurmstepd.scope/job_12/cpu.stat"
    echo "cpu  $((4000 + 10 * $(getconf CLK_TCK))) 100 900 500000 300 40 60 0 0 0" >"$T/node/proc/stat"
    echo 124872693459 >"$T/node/sys/class/powercap/intel-rapl:0/energy_uj"
    kill -CONT "$AGENT"
    wait_for "grep -q '124872693459' '$T/out.csv' && grep -q ',12,energy,,package,uJ,[56]' '$T/out.csv'"
    kill "$AGENT"
    wait "$AGENT"
    AGENT=
    output=$(cat "$T/out.csv")
    [[ $(value 11 energy '' package) =~ ^(23999|24000)$ ]]
    [[ $(value 12 energy '' package) =~ ^(5999|6000)$ ]]
    [ -z "$(value 12 energy '' core)" ]
}

@test "the energy of jobs is shown between two rounds" {
    "$SONDE" agent --listen none --root "$SOURCE/tests/nodes/sensors" --sensors rapl -p 20ms --set rapl.share_period=1h \
        >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for "'$SONDE' ls -j 11 2>/dev/null | grep -q /energy"
    ticks=$("$SONDE" ctl --json | jq .ticks)
    wait_for "[ \"\$('$SONDE' ctl --json | jq .ticks)\" -ge $((ticks + 5)) ]"
    "$SONDE" ls | grep -q /11/energy
    "$SONDE" ls | grep -q /12/energy
}

@test "a counter that wraps between two readings is polled in between" {
    cp -r "$SOURCE/tests/nodes/amd" "$T/node"
    # 3 kJ: at 1,000 W it wraps every three seconds
    echo 3000000000 | tee "$T/node/sys/class/powercap/"*/max_energy_range_uj
    echo 2000000000 | tee "$T/node/sys/class/powercap/"*/energy_uj
    "$SONDE" agent --listen none --root "$T/node" --sensors rapl -p 5s --sink "csv:path=$T/out.csv" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for "[ \"\$(grep -c ',rapl,package-0,package,' '$T/out.csv')\" -ge 2 ]"
}

@test "GPUs are read if NVML is installed" {
    export LD_LIBRARY_PATH=$TOOLS FAKE_GPUS=2 FAKE_GPU_PID=$$
    run once --sensors gpu
    [ "$status" -eq 0 ]
    [ "$(value '' gpu gpu0 utilization)" = 50 ]
    [ "$(value '' gpu gpu1 utilization)" = 51 ]
    [ "$(value '' gpu gpu0 processes)" = 1 ]
    [ "$(value '' gpu gpu0 energy)" = 123456000 ]
    FAKE_GPUS=0 run once --sensors gpu
    [ "$status" -eq 0 ]
    [ -z "$(value '' gpu gpu0 utilization)" ]
    run env FAKE_GPUS=1 "$SONDE" doctor --no-trial
    [[ $output == *"NVIDIA GPUs"* ]]
}

@test "a card is attributed to the job that it is allocated to, used or not" {
    CUDA_VISIBLE_DEVICES=0,1 sleep 60 3>&- &
    sleeper=$!
    export LD_LIBRARY_PATH=$TOOLS FAKE_GPUS=3 FAKE_GPU_PID=$sleeper
    "$SONDE" agent --listen none --sensors gpu -p 50ms --sink "csv:path=$T/out.csv" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for "grep -q ,gpu, '$T/out.csv'"
    "$SONDE" job begin -p "$sleeper" hungry
    wait_for "grep -qE ',hungry,gpu_job,gpu1,idle,[^,]*,[0-9.]*[1-9]' '$T/out.csv'"
    kill "$sleeper"
    wait_for "[ -z \"\$('$SONDE' job --json | grep hungry)\" ]"
    kill "$AGENT"
    wait "$AGENT"
    AGENT=
    output=$(cat "$T/out.csv")
    [ "$(value hungry gpu_job gpu0 held)" = 1 ]
    [ "$(value hungry gpu_job gpu0 processes)" = 1 ]
    [ "$(value hungry gpu_job gpu0 memory)" = $((1 << 30)) ]
    [ "$(value hungry gpu_job gpu0 idle)" = 0 ]
    [ "$(value hungry gpu_job gpu1 held)" = 1 ]
    [ "$(value hungry gpu_job gpu1 processes)" = 0 ]
    [ "$(value hungry gpu_job gpu1 idle)" -gt 0 ]
    [ -z "$(value hungry gpu_job gpu2 held)" ]
}

@test "a job declared by a prolog before its cgroup exists has its cards" {
    group=$T/node/sys/fs/cgroup/devices/slurm/uid_7/job_4711
    mkdir -p "$(dirname "$group")" "$T/node/proc/self" "$T/node/proc/801"
    echo "26 24 0:24 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices" >"$T/node/proc/self/mountinfo"
    echo "4:devices:/slurm/uid_7/job_4711/step_0" >"$T/node/proc/801/cgroup"
    export FAKE_GPUS=2 FAKE_GPU_PID=801
    "$SONDE" agent --root "$T/node" --listen none --sensors gpu --set "gpu.library=$TOOLS/libnvidia-ml.so.1" -p 50ms \
        --sink "csv:path=$T/out.csv" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for "grep -q ,gpu, '$T/out.csv'"
    SLURM_JOB_ID=4711 SLURM_JOB_UID=7 "$SONDE" job begin --quiet
    wait_for "'$SONDE' job --json | grep -q 4711"
    mkdir "$group"
    echo "c 195:0 rwm" >"$T/devices.list"
    mv "$T/devices.list" "$group" # atomically: an empty list would be valid, too
    wait_for "grep -q ',4711,gpu_job,gpu0,held,[^,]*,1' '$T/out.csv'"
    wait_for "grep -q ',4711,gpu_job,gpu0,processes,[^,]*,1' '$T/out.csv'"
    output=$(cat "$T/out.csv")
    [ "$(value 4711 gpu_job gpu0 memory)" = $((1 << 30)) ]
    [ -z "$(value 4711 gpu_job gpu1 held)" ]
}

@test "a BMC is queried over the network, and a missing module is named" {
    command -v ipmi_sim >/dev/null || skip "no ipmi_sim"
    [ -e "$SONDE_MODULES/sample-ipmi.so" ] || skip "built without freeipmi"
    port=$(python3 -c 'import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    "$SOURCE/tests/tools/bmc" "$T" "$port" >"$T/bmc.log" 2>&1 3>&- &
    BMC=$!
    echo secret >"$T/password"
    answers() {
        output=$(once --sensors ipmi --set "ipmi.host=127.0.0.1:$port" --set ipmi.user=operator \
            --set "ipmi.password_file=$T/password") && [ -n "$(value '' ipmi PowerDraw power)" ]
    }
    until_true answers
    [ "$(value '' ipmi PowerDraw power)" = 384 ]
    [ "$(value '' ipmi Fan1 fan)" = 5200 ]
    run env SONDE_MODULES=/nonexistent "$SONDE" agent -v --once --listen none --sensors ipmi --set ipmi.host=127.0.0.1
    [[ $output == *"sample-ipmi.so is not installed"* ]]
}

# One field of a finding in $output, the JSON of sonde doctor.
finding() {
    python3 -c '
import json, sys
print(next(f for f in json.load(sys.stdin)["findings"] if f["name"] == sys.argv[1])[sys.argv[2]])' "$1" "$2" <<<"$output"
}

@test "doctor explains why a sensor is absent, and the fix" {
    run "$SONDE" doctor --no-trial --json --root "$T"
    for sensor in rapl temperature infiniband lustre gpu ipmi; do
        [ "$(finding "$sensor" there)" = False ]
        [ -n "$(finding "$sensor" reason)" ]
        [ -n "$(finding "$sensor" remedy)" ]
    done
    run "$SONDE" doctor --no-trial --json --root "$SOURCE/tests/nodes/sensors"
    [ "$(finding rapl there)" = True ]
    [ "$(finding lustre there)" = True ]
}
