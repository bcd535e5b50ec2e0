# Loaded after lossless by scenes with real servers at $SERVER_PORT: starts, kills and queries them.
servers_teardown() {
    [ ! -d "$T/pg" ] || kill_postgres
    [ ! -e "$T/es/pid" ] || kill -9 "$(cat "$T/es/pid")" 2>/dev/null || :
}

# One line per set: its name and the number of samples that the agent read.
truth_counts() {
    grep -o '"set": "[a-z_]*"' "$T/agent.json" | cut -d'"' -f4 | sort | uniq -c | awk '{ print $2, $1 }'
}

start_postgres() {
    URL=$("$SOURCE/tests/tools/postgres-up" "$T/pg" "$SERVER_PORT")
}

# All processes at once, so that none can write anything.
kill_postgres() {
    local first
    first=$(head -n 1 "$T/pg/data/postmaster.pid" 2>/dev/null) || return 0
    kill -9 "$first" $(pgrep -P "$first") 2>/dev/null || :
}

postgres_counts() {
    psql -qAtF ' ' "$URL" -c "SELECT sets.name, sum(count) FROM series JOIN sets ON sets.id = set_id WHERE job = 0
        GROUP BY 1 ORDER BY 1"
}

start_elasticsearch() {
    local status=0
    timeout 300 "$SOURCE/tests/tools/elasticsearch-up" "$T/es" "$SERVER_PORT" || status=$?
    [ "$status" -ne 77 ] || skip "no Elasticsearch (tools/install-npm) or no java"
    [ "$status" -eq 0 ]
}

elasticsearch_counts() {
    local set
    curl -s -XPOST "http://127.0.0.1:$SERVER_PORT/sonde_*/_refresh" >/dev/null
    truth_counts | while read -r set _; do
        echo "$set $(curl -s "http://127.0.0.1:$SERVER_PORT/sonde_$set/_count" | jq .count)"
    done
}

# This old Elasticsearch does not recover shards that were not yet started when it was killed: waits until all are.
elasticsearch_shards_started() {
    local parts
    parts=$(curl -sf "http://127.0.0.1:$SERVER_PORT/_cat/shards") && [ "$(grep -c ' p STARTED' <<<"$parts")" = 4 ]
}
