/* What is not known is left out. */
#include "collector/collector_status.h"

#include "base/clock.h"
#include "net/json.h"
#include "collector/collector.h"

#include <stdlib.h>
#include <string.h>

static void add_known(struct json *json, const char *key, uint64_t value)
{
    if (value)
        json_field_u64(json, key, value);
}

static void add_list(struct json *json, const char *key, const struct collector_list *list)
{
    json_key(json, key);
    json_begin_array(json);
    for (size_t i = 0; i < list->count; i++)
        json_text(json, list->texts[i]);
    json_end_array(json);
}

static void add_journal(struct json *json, const struct collector *collector)
{
    struct journal_figures figures;
    journal_figures(collector->journal, &figures);
    json_key(json, "journal");
    json_begin_object(json);
    json_field_text(json, "dir", collector->plan.journal);
    json_field_u64(json, "bytes", figures.bytes);
    json_field_u64(json, "bytes_max", collector->plan.journal_bytes ? collector->plan.journal_bytes : JOURNAL_BYTES);
    json_field_u64(json, "segments", figures.segments);
    json_field_u64(json, "entries", figures.entries);
    add_known(json, "oldest_ns", figures.oldest_ns);
    json_field_u64(json, "lost_records", figures.lost_records);
    json_field_u64(json, "damaged_bytes", figures.damaged_bytes);
    json_field_bool(json, "is_full", collector->receiver.is_full);
    json_end_object(json);
}

static void add_stage(struct json *json, const char *name, uint64_t count, uint64_t ns, uint64_t longest_ns)
{
    json_key(json, name);
    json_begin_object(json);
    json_field_u64(json, "count", count);
    json_field_u64(json, "ns", ns);
    add_known(json, "longest_ns", longest_ns);
    json_end_object(json);
}

static void add_stages(struct json *json, struct collector *collector)
{
    const struct receiver_figures *figures = &collector->receiver.figures;
    struct committer_figures syncs;
    committer_figures(collector->committer, &syncs);
    json_key(json, "stages");
    json_begin_object(json);
    add_stage(json, "read", figures->records + figures->doubles, figures->read_ns, 0);
    add_stage(json, "append", figures->records, figures->append_ns, 0);
    add_stage(json, "sync", syncs.syncs, syncs.sync_ns, syncs.longest_ns);
    add_stage(json, "loop", collector->turns, collector->busy_ns, collector->longest_ns);
    json_end_object(json);
}

static void add_totals(struct json *json, const struct receiver *receiver)
{
    const struct receiver_figures *figures = &receiver->figures;
    json_key(json, "totals");
    json_begin_object(json);
    json_field_u64(json, "connections", receiver->peers.count);
    json_field_u64(json, "messages", figures->messages);
    json_field_u64(json, "bytes", figures->bytes);
    json_field_u64(json, "records", figures->records);
    json_field_u64(json, "samples", figures->samples);
    json_field_u64(json, "values", figures->values);
    json_field_u64(json, "doubles", figures->doubles);
    json_field_u64(json, "bad", figures->bad);
    json_field_u64(json, "refused", figures->refused);
    json_field_u64(json, "unreadable", figures->unreadable);
    json_end_object(json);
}

static void add_gap(struct json *json, const struct origin *origin)
{
    if (!origin->gap_reason[0])
        return;
    json_key(json, "gap");
    json_begin_object(json);
    add_known(json, "from_ns", origin->gap_from_ns);
    add_known(json, "to_ns", origin->gap_to_ns);
    json_field_text(json, "reason", origin->gap_reason);
    json_end_object(json);
}

static void add_connection(struct json *json, const struct origin *origin)
{
    const struct peer *peer = origin->owners[0] ? origin->owners[0] : origin->owners[1];
    if (!peer)
        peer = origin->newest ? origin->newest->peer : NULL; /* through another collector */
    if (!peer)
        return;
    if (peer->origin != origin)
        json_field_text(json, "through", peer->host);
    json_field_text(json, "role", peer->origin != origin ? "agent" : peer->is_collector ? "collector" : "agent");
    json_field_text(json, "address", peer->address);
    json_field_text(json, "software", peer->software);
    json_field_u64(json, "since_ns", peer->since_ns);
    if (peer->origin == origin)
        json_field_u64(json, "wire_bytes", peer->bytes);
}

static void add_host(struct json *json, const struct origin *origin, uint64_t now_ns)
{
    uint64_t there_ns = now_ns + (uint64_t)(origin->ahead_known ? origin->ahead_ns : 0);
    json_begin_object(json);
    json_field_text(json, "host", origin->host);
    json_field_text(json, "state", origin_is_silent(origin, now_ns) ? "silent" : "up");
    add_connection(json, origin);
    add_known(json, "first_ns", origin->first_ns);
    add_known(json, "heard_ns", origin->heard_ns);
    add_known(json, "sample_ns", origin->sample_ns);
    if (origin->sample_ns)
        json_field_u64(json, "lag_ns", there_ns > origin->sample_ns ? there_ns - origin->sample_ns : 0);
    add_known(json, "interval_ns", origin->interval_ns);
    if (origin->ahead_known) {
        json_key(json, "clock_ahead_ns");
        json_i64(json, origin->ahead_ns);
    }
    json_field_u64(json, "records", origin->records);
    json_field_u64(json, "samples", origin->samples);
    json_field_u64(json, "bytes", origin->bytes);
    json_field_u64(json, "doubles", origin->doubles);
    json_field_u64(json, "missing", origin->missing);
    json_field_u64(json, "lost", origin->lost);
    add_gap(json, origin);
    json_end_object(json);
}

static void add_hosts(struct json *json, const struct receiver *receiver)
{
    struct origin **origins = origins_sorted(&receiver->origins);
    uint64_t now_ns = clock_realtime_ns();
    json_key(json, "hosts");
    json_begin_array(json);
    for (size_t i = 0; origins && i < receiver->origins.count; i++)
        if (origins[i]->heard_ns) /* else it only tried */
            add_host(json, origins[i], now_ns);
    json_end_array(json);
    free(origins);
}

static void add_refused(struct json *json, const struct receiver *receiver)
{
    struct peer_at at = { 0 };
    const struct peer *peer;
    json_key(json, "refused");
    json_begin_array(json);
    while ((peer = peers_next(&receiver->peers, &at))) {
        if (peer->state != PEER_REFUSED || !peer->why[0])
            continue;
        json_begin_object(json);
        json_field_text(json, "host", peer->host);
        json_field_text(json, "address", peer->address);
        json_field_text(json, "why", peer->why);
        json_end_object(json);
    }
    json_end_array(json);
}

static void add_choice(struct json *json, const struct outlet *outlet)
{
    struct buf text;
    buf_init(&text, 65536);
    sink_choice_write(outlet_choice(outlet), &text);
    json_field_text(json, "sink", buf_text(&text));
    buf_clear(&text);
}

static void add_sink(struct json *json, struct outlet *outlet)
{
    static const char *const states[] = { "waits", "writes", "fails", "closed" };
    struct outlet_figures f;
    outlet_figures(outlet, &f);
    json_begin_object(json);
    json_field_text(json, "name", f.name);
    add_choice(json, outlet);
    json_field_text(json, "state", states[f.state]);
    if (f.why[0])
        json_field_text(json, "why", f.why);
    json_field_u64(json, "waiting_bytes", f.lag_bytes);
    json_field_u64(json, "waiting_ns", f.lag_ns);
    json_field_u64(json, "batches", f.batches);
    json_field_u64(json, "samples", f.samples);
    json_field_u64(json, "values", f.values);
    json_field_f64(json, "samples_per_s", f.rate);
    json_field_u64(json, "gaps", f.gaps);
    json_field_u64(json, "unreadable", f.unreadable);
    json_field_u64(json, "refused", f.refused);
    json_field_u64(json, "failures", f.failures);
    json_field_u64(json, "streams", f.streams);
    add_known(json, "success_ns", f.success_ns);
    json_field_u64(json, "read_ns", f.read_ns);
    json_field_u64(json, "write_ns", f.write_ns);
    json_field_u64(json, "flush_ns", f.flush_ns);
    json_field_u64(json, "flushes", f.flushes);
    json_end_object(json);
}

static void add_upstream(struct json *json, struct collector *collector)
{
    static const char *const states[] = { "idle", "connecting", "up", "refused", "waiting" };
    struct uplink_figures f;
    if (!collector->uplink)
        return;
    uplink_figures(collector->uplink, &f);
    json_key(json, "upstream");
    json_begin_object(json);
    json_field_text(json, "collector", f.collector);
    json_field_text(json, "state", states[f.state]);
    if (f.why[0])
        json_field_text(json, "why", f.why);
    json_field_u64(json, "waiting_bytes", f.lag_bytes);
    json_field_u64(json, "waiting_ns", f.lag_ns);
    json_field_u64(json, "records_sent", f.records_sent);
    json_field_u64(json, "records_acked", f.records_acked);
    json_field_u64(json, "bytes_sent", f.bytes_sent);
    add_known(json, "acked_ns", f.acked_ns);
    json_end_object(json);
}

static void add_rollup(struct json *json, struct collector *collector)
{
    struct rollup_figures f;
    if (!collector->rollup)
        return;
    rollup_figures(collector->rollup, &f);
    json_key(json, "rollup");
    json_begin_object(json);
    json_field_u64(json, "window_ns", collector->plan.rollup_ns);
    json_field_u64(json, "records", f.records);
    json_field_u64(json, "samples", f.samples);
    json_field_u64(json, "windows", f.windows);
    json_field_u64(json, "late", f.late);
    json_field_u64(json, "hosts", f.hosts);
    json_field_u64(json, "waiting_bytes", f.lag_bytes);
    json_end_object(json);
}

static void add_kafka(struct json *json, const struct collector *collector)
{
    struct kafka_port_figures f;
    if (!collector->kafka)
        return;
    kafka_port_figures(collector->kafka, &f);
    json_key(json, "kafka");
    json_begin_object(json);
    json_field_text(json, "from", collector->plan.kafka);
    if (f.consumer.why[0])
        json_field_text(json, "why", f.consumer.why);
    json_field_u64(json, "partitions", f.consumer.partitions);
    json_field_u64(json, "messages", f.consumer.messages);
    json_field_u64(json, "bytes", f.consumer.bytes);
    json_field_u64(json, "commits", f.consumer.commits);
    json_field_u64(json, "rewinds", f.consumer.rewinds);
    json_field_u64(json, "bad", f.bad);
    json_field_u64(json, "streams", f.feeds);
    json_end_object(json);
}

void collector_status(struct buf *out, struct collector *collector)
{
    struct json json;
    json_init(&json, out);
    json_begin_object(&json);
    json_field_text(&json, "host", collector->host.name);
    json_field_u64(&json, "time_ns", clock_realtime_ns());
    json_field_text(&json, "version", SONDE_VERSION);
    json_field_u64(&json, "since_ns", collector->since_ns);
    add_list(&json, "listen", &collector->plan.listen);
    json_field_bool(&json, "listens", collector->plan.listen.count > 0);
    json_field_bool(&json, "encrypted", !collector->plan.plain);
    add_totals(&json, &collector->receiver);
    add_journal(&json, collector);
    add_stages(&json, collector);
    add_upstream(&json, collector);
    add_kafka(&json, collector);
    add_rollup(&json, collector);
    json_key(&json, "sinks");
    json_begin_array(&json);
    for (size_t i = 0; i < collector->outlet_count; i++)
        add_sink(&json, collector->outlets[i]);
    json_end_array(&json);
    add_refused(&json, &collector->receiver);
    add_hosts(&json, &collector->receiver);
    json_end_object(&json);
    json_end(&json);
}
