#!/usr/bin/env bats
# Job profiles of tau_metric_proxy, checked by an independent reader.
load scene
load live
load tau

# Fields of a profile, read by an independent reader.
profile() {
    /usr/bin/python3 - "$1" <<'PY'
import struct
import sys
data = open(sys.argv[1], "rb").read()
count = struct.unpack_from("<i", data)[0]
assert len(data) == 1120 + 632 * count + 4 and struct.unpack_from("<i", data, len(data) - 4)[0] == 0x77
job, command = data[8:72].split(b"\0")[0].decode(), data[72:584].split(b"\0")[0].decode()
size, start, end = struct.unpack_from("<i", data, 584)[0], *struct.unpack_from("<QQ", data, 8 + 1096)
assert start <= end
print("job", job, "size", size, "command", command)
for i in range(count):
    at = 1120 + 632 * i
    assert struct.unpack_from("<i", data, at + 624)[0] == 0x1337
    print(data[at + 304:at + 604].split(b"\0")[0].decode(), struct.unpack_from("<d", data, at + 608)[0])
PY
}

@test "job data that a launcher does not know is taken from its programs" {
    start_proxy
    /usr/bin/python3 "$SOURCE/tests/tools/tau_program.py" "$TAU" job=78 command=./launcher seconds=600 counter x_total 1 doc \
        >"$T/first" 3>&- &
    first=$!
    wait_for 'grep -q sent "$T/first"'
    program job=78 size=8 command=./second counter x_total 2 doc
    kill "$first"
    stop "$AGENT"
    run -0 profile "$T/profiles-of-tau/profiles/7/78.profile"
    [[ $output == "job 78 size 8 command ./launcher"* ]]
    [[ $output == *"x_total 3.0"* ]]
}

@test "a job's profile is written when its last program has exited, and nodes are merged" {
    start_proxy -i
    program job=77-0 size=4 "command=tau_metric_proxy_run -m -- ./real 1" counter x_total 5 doc gauge heat 10 hot
    wait_for 'ls "$T"/profiles-of-tau/77-0-*.taumetric'
    stop "$AGENT"
    [ ! -e "$T/profiles-of-tau/profiles" ]
    start_proxy
    program job=77-0 size=4 command=./real counter x_total 6 doc gauge heat 30 hot
    program job=../evil counter x_total 6 doc
    stop "$AGENT"
    run -0 profile "$T/profiles-of-tau/profiles/7/77-0.profile"
    [[ $output == "job 77-0 size 4 command ./real 1 : ./real"* || $output == "job 77-0 size 4 command ./real : ./real 1"* ]]
    [[ $output == *"x_total 11.0"* && $output == *"heat 20.0"* ]]
    [ -e "$T/profiles-of-tau/profiles/%/%2E.%2Fevil.profile" ]
    [ -z "$(find "$T/profiles-of-tau" -name '*.taumetric')" ]
    [ ! -e "$T/evil.profile" ]
}

@test "steps of a job that the agent knows are in one profile of the job" {
    start_agent --sensors loadavg --set "programs.tau=$TAU" --set "programs.profiles=$T/profiles-of-tau"
    "$SONDE" job begin 4711 --pid $$
    program job=4711-0 size=1 command=./one counter x_total 10 doc
    program job=4711-1 size=2 command=./one counter x_total 20 doc
    "$SONDE" job end 4711
    stop "$AGENT"
    run -0 profile "$T/profiles-of-tau/profiles/4/4711.profile"
    [[ $output == "job 4711 size 2 command ./one"* ]]
    [[ $output == *"x_total 30.0"* ]]
}

@test "with tau_metric_proxy each step has a profile, also of a job that the node knows" {
    job=$(basename "$(find "$SOURCE/tests/nodes/slurm-v2" -name 'job_[0-9]*' | head -1)")
    job=${job#job_}
    start_proxy -- --root "$SOURCE/tests/nodes/slurm-v2"
    program "job=$job-0" size=1 command=./one counter x_total 10 doc
    program "job=$job-1" size=2 command=./one counter x_total 20 doc
    stop "$AGENT"
    for step in 0 1; do
        run -0 profile "$T/profiles-of-tau/profiles/${job:0:1}/$job-$step.profile"
        [[ $output == "job $job-$step size $((step + 1)) command ./one"*"x_total $((10 * step + 10)).0"* ]]
    done
}

# The counts of a job continue in the next proxy; what is already in the profile is not added again, neither when that proxy exits
# nor after it was killed.
@test "a proxy that is restarted while a job runs adds only new counts to its profile" {
    need_root # for a private /dev/shm, which also has the saved state
    use_private_shm
    start_proxy
    program job=93 counter x_total 5 doc counter 'mpi_calls_total{function="MPI_Send"}' 2 doc
    stop "$AGENT"
    run -0 profile "$T/profiles-of-tau/profiles/9/93.profile"
    [[ $output == *"x_total 5.0"* && $output == *'tau_hits_total{function="mpi_send"} 2.0'* ]]
    start_proxy
    program job=93 counter x_total 6 doc counter 'mpi_calls_total{function="MPI_Send"}' 1 doc
    value() { ./tau_metric_client -u "$TAU" -g "$1" -f json | jq '.[0].value'; }
    [ "$(value x_total)" = 11 ]
    wait_for 'inside sh -c "cat /dev/shm/sonde-agent.0.*.kept" | /usr/bin/python3 -c "import struct, sys; sys.exit(struct.pack(\"<d\", 11) not in sys.stdin.buffer.read())"'
    kill -9 "$AGENT"
    wait "$AGENT" || :
    start_proxy
    program job=93 counter x_total 7 doc
    [ "$(value x_total)" = 18 ]
    stop "$AGENT"
    for again in once twice; do # a proxy that finds the job and gets no new counts adds nothing
        run -0 profile "$T/profiles-of-tau/profiles/9/93.profile"
        [[ $output == *"x_total 18.0"* && $output == *'tau_hits_total{function="mpi_send"} 3.0'* ]]
        cp "$T/profiles-of-tau/profiles/9/93.profile" "$T/$again"
        start_proxy
        wait_for '! inside sh -c "test -e /dev/shm/sonde-agent.0.*.kept"' # it has removed the job
        stop "$AGENT"
    done
    cmp "$T/once" "$T/profiles-of-tau/profiles/9/93.profile"
}

# The end time of a job in its profile.
end_of() {
    /usr/bin/python3 -c 'import struct, sys; print(struct.unpack_from("<Q", open(sys.argv[1], "rb").read(), 8 + 1104)[0])' "$1"
}

@test "two concurrent jobs have their own end times" {
    start_proxy
    for job in 81 92; do
        /usr/bin/python3 "$SOURCE/tests/tools/tau_program.py" "$TAU" "job=$job" seconds=600 counter x_total 1 doc >"$T/$job.sent" 3>&- &
        declare "job_$job=$!"
        wait_for 'grep -q sent "$T/$job.sent"'
    done
    first=$T/profiles-of-tau/profiles/8/81.profile second=$T/profiles-of-tau/profiles/9/92.profile
    kill "$job_81"
    wait_for '[ -e "$first" ]'
    between=$(date +%s)
    [ ! -e "$second" ]
    wait_for '[ "$(date +%s)" -gt $((between + 1)) ]'
    kill "$job_92"
    wait_for '[ -e "$second" ]'
    stop "$AGENT"
    [ "$(end_of "$first")" -le "$between" ]
    [ "$(end_of "$second")" -gt "$between" ]
    [ "$(end_of "$second")" -le "$(date +%s)" ]
}

@test "profiles of several sizes become lines for Extra-P, and a crashed job is left out with a message" {
    start_proxy
    for size in 2 4 8; do
        program job="$size" size="$size" counter 'strace_hits_total{scall="read"}' "$((size * 10))" doc \
            counter "only_$size" 1 doc
    done
    SLURM_JOBID=666 SLURM_NTASKS=3 ./tau_metric_proxy_run -u "$TAU" -- false || :
    stop "$AGENT"
    run -0 --separate-stderr "$SONDE" export -f extrap "$T/profiles-of-tau"
    [[ $stderr == *"666.profile skipped: a command in it failed"* ]]
    [ "$(jq -c 'select(.metric == "strace_hits_total{scall=\"read\"}") | [.params.ranks, .value]' <<<"$output" | xargs)" = "[2,20] [4,40] [8,80]" ]
    [ "$(jq -c 'select(.metric == "only_4") | .value' <<<"$output" | xargs)" = "0 1 0" ]
    "$SONDE" export -f extrap -c "$T/profiles-of-tau" | grep -qF '{"params":{"Processes":8},"callpath":"strace_hits_total->scall->\"read\"","metric":"Hits","value":80.0}'
    run -1 "$SONDE" export -f extrap "$T/nothing-here/x"
}

@test "under mpirun, -m and -s count calls under tau's names, and the job's profile has them" {
    command -v mpicc >/dev/null && command -v mpirun >/dev/null || skip "no MPI"
    [ -e "$BUILD/src/probe/mpi/libsonde-mpi.so" ] || skip "built without the MPI probe"
    need_root
    cat >ring.c <<'C'
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 100; i++)
        if (rank == 0)
            MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
C
    mpicc -o ring ring.c
    use_private_shm
    start_proxy
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 inside \
        mpirun --oversubscribe -n 2 ./tau_metric_proxy_run -u "$TAU" -m -s -- ./ring
    wait_for '[ "$(./tau_metric_client -u "$TAU" -g "tau_hits_total{function=mpi_send}" -f json | jq ".[0].value")" = 100 ]'
    [ "$(./tau_metric_client -u "$TAU" -g 'tau_size_out_total{function=mpi_send}' -f json | jq '.[0].value')" = 400 ]
    jq -e '.[0].value > 0' <<<"$(./tau_metric_client -u "$TAU" -g 'strace_hits_total{scall=read}' -f json)"
    curl -s "http://127.0.0.1:$PORT/metrics" | grep -q '^tau_hits_total{function="mpi_recv".*} 100'
    stop "$AGENT"
    run -0 profile "$(find "$T/profiles-of-tau/profiles" -name '*.profile')" # its name is the PMIx id
    [[ $output == "job "*" size 2 command ./ring"* ]]
    [[ $output == *'tau_hits_total{function="mpi_send"} 100.0'* && $output == *'tau_hits_total{function="mpi_recv"} 100.0'* ]]
    [[ $output != *mpi_calls_total* ]]
}
