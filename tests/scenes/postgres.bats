# The job database in a real PostgreSQL, started by this scene. Every command shows the same as with SQLite.

load scene

setup() {
    scene_setup
    command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || skip "PostgreSQL is not installed"
    URL=$("$SOURCE"/tests/tools/postgres-up "$T/pg")
}

teardown() {
    "$SOURCE"/tests/tools/postgres-down "$T/pg"
    scene_teardown
}

pg() {
    psql -qAt "$URL" -c "$1"
}

# A job that cannot be saved, so that its spool is kept.
leave_spool() {
    "$SONDE" run -q --db /proc/none/db -o "$T/spool" "$@" 2>"$T/log" || :
}

# Saves one job in both databases, from one spool.
save_in_both() {
    leave_spool "$@"
    cp -r "$T/spool" "$T/spool2"
    "$SONDE" submit "$T/spool"
    "$SONDE" --db "$URL" submit "$T/spool2"
}

both_show() {
    "$SONDE" "$@" >"$T/sqlite.out"
    "$SONDE" --db "$URL" "$@" >"$T/postgres.out"
    [ -s "$T/sqlite.out" ]
    diff "$T/sqlite.out" "$T/postgres.out"
}

@test "a job in PostgreSQL is identical to the job in SQLite" {
    mkdir dir
    save_in_both -j 4711 -n both -t exp=a -e task-clock,page-faults -p 10ms -- bash -c \
        'cd dir; for i in 1 2 3; do /bin/true $'\''a\nb\xff'\'' "two words" "$i"; done; "$TOOLS"/crowd threads 3 2>/dev/null || :; sleep 0.1; (exit 3); kill -9 $$'
    both_show list --json
    both_show report --json
    both_show ps --json
    both_show export --what processes
    both_show export --what threads
    both_show export --what series
    both_show report
}

@test "invalid UTF-8 is preserved by PostgreSQL" {
    mkdir "$T/d"$'\xff'"x"
    cp /bin/true "$T/d"$'\xff'"x/\$'t'"
    cd "$T/d"$'\xff'"x"
    save_in_both -j bytes -- "./\$'t'" $'\xfe\xff' "\$'x'" $'a\001b'
    cd "$T"
    both_show ps --json
    both_show export --what processes --format json
    [ "$(pg "SELECT path FROM executables")" = "\$'$T/d\\xffx/\$\\'t\\''" ]
}

@test "filters, sort orders and ids give the same jobs" {
    local n
    for n in 1 2 3 4; do
        "$SONDE" run -q -j "id$n" -n "name$((n % 2))" -t k=$n -- sh -c "exit $n" || :
        "$SONDE" --db "$URL" run -q -j "id$n" -n "name$((n % 2))" -t k=$n -- sh -c "exit $n" || :
    done
    jobs_of() { "$SONDE" --db "$1" list --json "${@:2}" | jq -r '.[].job' 2>/dev/null || "$SONDE" --db "$1" list --json "${@:2}"; }
    local options
    for options in "" "--name name1" "--name n*[0]" "--name n?me1" "--name x^y" "--tag k:3" "--tag k" "--sort name" "--limit 2"; do
        # shellcheck disable=SC2086
        [ "$(jobs_of "$SONDE_DB" $options)" = "$(jobs_of "$URL" $options)" ] || { echo "differs: $options"; return 1; }
    done
    "$SONDE" --db "$URL" report id3 | grep -q 'exit status 3'
    run "$SONDE" --db "$URL" report id
    [ "$status" -ne 0 ]
    [[ $output == *"job id id is ambiguous"* ]]
}

@test "concurrent writers to PostgreSQL: each job is stored once" {
    local n
    for n in $(seq 12); do
        "$SONDE" --db "$URL" run -q -j "crowd$n" -- sh -c '/bin/true; /bin/true' &
    done
    wait
    [ "$(pg "SELECT count(*), count(DISTINCT job_id), sum(processes) FROM jobs")" = "12|12|36" ]
    [ "$(pg "SELECT count(*) FROM executables")" = "$(pg "SELECT count(DISTINCT (path, name)) FROM executables")" ]
    [ "$(pg "SELECT count(*) FROM hosts")" = 1 ]
}

@test "a run that is submitted twice is stored once" {
    leave_spool -j again -- sh -c '/bin/true; /bin/true'
    cp -r "$T/spool" "$T/copy"
    "$SONDE" --db "$URL" submit "$T/spool"
    "$SONDE" --db "$URL" submit "$T/copy"
    [ "$(pg "SELECT count(*), sum(processes) FROM jobs")" = "1|3" ]
    [ "$(pg "SELECT count(*) FROM processes")" = "$(pg "SELECT sum(images) FROM jobs")" ]
}

@test "if the server is down the spool is kept, and the message does not contain the password" {
    "$SOURCE"/tests/tools/postgres-down "$T/pg"
    local secret=${URL/sonde@/sonde:hush@}
    run "$SONDE" --db "$secret" run -o "$T/spool" -j later -- /bin/true
    [ "$status" -eq 0 ]
    [[ $output == *"submit"* ]]
    [[ $output != *hush* ]]
    run "$SONDE" --db "$secret" list
    [ "$status" -ne 0 ]
    [[ $output == *"127.0.0.1"*"Connection refused Is the server running"* ]]
    [[ $output != *hush* ]]
    run -1 "$SONDE" --db "$URL?password=hush" list
    [[ $output == *"127.0.0.1"* ]]
    [[ $output != *hush* ]]
    URL=$("$SOURCE"/tests/tools/postgres-up "$T/pg")
    "$SONDE" --db "$URL" submit "$T/spool"
    [ "$(pg "SELECT job_id FROM jobs")" = later ]
}

@test "a server killed while a job is saved has all of it or nothing" {
    leave_spool -j torn -- sh -c 'i=0; while [ $i -lt 3000 ]; do /bin/true; i=$((i + 1)); done'
    "$SONDE" --db "$URL" run -q -j before -- /bin/true
    local n
    for n in 1 2 3; do
        rm -rf "$T/copy" && cp -r "$T/spool" "$T/copy"
        "$SONDE" --db "$URL" submit "$T/copy" >"$T/log" 2>&1 &
        local submit=$!
        sleep "0.0$((n * 2))"
        "$SOURCE"/tests/tools/postgres-down "$T/pg"
        wait $submit || :
        URL=$("$SOURCE"/tests/tools/postgres-up "$T/pg")
        local found
        found=$(pg "SELECT count(*) FROM processes WHERE job = (SELECT id FROM jobs WHERE job_id = 'torn')")
        [ "$found" = 0 ] || [ "$found" -ge 3001 ]
    done
    rm -rf "$T/copy" && cp -r "$T/spool" "$T/copy"
    "$SONDE" --db "$URL" submit "$T/copy"
    [ "$(pg "SELECT processes FROM jobs WHERE job_id = 'torn'")" = 3001 ]
}

@test "a database of a newer Sonde is rejected" {
    "$SONDE" --db "$URL" run -q -- /bin/true
    pg "UPDATE meta SET value = '99' WHERE key = 'schema'"
    run "$SONDE" --db "$URL" list
    [ "$status" -ne 0 ]
    [[ $output == *"newer version of Sonde"* ]]
}

@test "a missing PostgreSQL module is named" {
    mkdir "$T/none"
    SONDE_MODULES=$T/none run "$SONDE" --db "$URL" list
    [ "$status" -ne 0 ]
    [[ $output == *store-postgres.so* ]]
}

@test "doctor checks a database in PostgreSQL" {
    "$SONDE" --db "$URL" doctor --json >"$T/doctor.json" || :
    "$SONDE" --db "$URL" doctor | grep -q "store.*postgresql://sonde@127"
}
