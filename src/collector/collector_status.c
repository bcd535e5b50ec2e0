/* Unknown values are omitted. */
#include "collector/collector_status.h"

#include "api/schema.h"
#include "base/clock.h"
#include "base/mask.h"
#include "collector/collector.h"
#include "net/json.h"

#include <stdlib.h>
#include <string.h>

#define SETTINGS_MAX 65536u

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
        json_text(json, list->strings[i]);
    json_end_array(json);
}

static void add_journal(struct json *json, const struct collector *collector)
{
    struct journal_figures figures;
    journal_figures(collector->journal, &figures);
    json_key(json, API_JOURNAL);
    json_begin_object(json);
    json_field_text(json, API_DIR, collector->config.journal);
    json_field_u64(json, API_BYTES, figures.bytes);
    json_field_u64(json, API_BYTES_MAX, collector->config.journal_bytes ? collector->config.journal_bytes : JOURNAL_BYTES);
    json_field_u64(json, API_SEGMENTS, figures.segments);
    json_field_u64(json, API_ENTRIES, figures.entries);
    add_known(json, API_OLDEST_NS, figures.oldest_ns);
    json_field_u64(json, API_LOST_RECORDS, figures.lost_records);
    json_field_u64(json, API_DAMAGED_BYTES, figures.damaged_bytes);
    json_field_bool(json, API_IS_FULL, collector->receiver.is_full);
    json_end_object(json);
}

static void add_stage(struct json *json, const char *name, uint64_t count, uint64_t ns, uint64_t longest_ns)
{
    json_key(json, name);
    json_begin_object(json);
    json_field_u64(json, API_COUNT, count);
    json_field_u64(json, API_NS, ns);
    add_known(json, API_LONGEST_NS, longest_ns);
    json_end_object(json);
}

static void add_stages(struct json *json, struct collector *collector)
{
    const struct receiver_figures *figures = &collector->receiver.figures;
    struct committer_figures syncs;
    committer_figures(collector->committer, &syncs);
    json_key(json, API_STAGES);
    json_begin_object(json);
    add_stage(json, API_READ, figures->records + figures->duplicates, figures->read_ns, 0);
    add_stage(json, API_APPEND, figures->records, figures->append_ns, 0);
    add_stage(json, API_SYNC, syncs.syncs, syncs.sync_ns, syncs.longest_ns);
    add_stage(json, API_LOOP, collector->turns, collector->busy_ns, collector->longest_ns);
    json_end_object(json);
}

static void add_totals(struct json *json, const struct receiver *receiver)
{
    const struct receiver_figures *figures = &receiver->figures;
    json_key(json, API_TOTALS);
    json_begin_object(json);
    json_field_u64(json, API_CONNECTIONS, receiver->peers.map.count);
    json_field_u64(json, API_MESSAGES, figures->messages);
    json_field_u64(json, API_BYTES, figures->bytes);
    json_field_u64(json, API_RECORDS, figures->records);
    json_field_u64(json, API_SAMPLES, figures->samples);
    json_field_u64(json, API_VALUES, figures->values);
    json_field_u64(json, API_DOUBLES, figures->duplicates);
    json_field_u64(json, API_BAD, figures->bad);
    json_field_u64(json, API_REFUSED, figures->refused);
    json_field_u64(json, API_UNREADABLE, figures->unreadable);
    json_end_object(json);
}

static void add_gap(struct json *json, const struct known_host *known_host)
{
    if (!known_host->gap_reason[0])
        return;
    json_key(json, API_GAP);
    json_begin_object(json);
    add_known(json, API_FROM_NS, known_host->gap_from_ns);
    add_known(json, API_TO_NS, known_host->gap_to_ns);
    json_field_text(json, API_REASON, known_host->gap_reason);
    json_end_object(json);
}

static void add_connection(struct json *json, const struct known_host *known_host)
{
    const struct peer *peer = known_host->connections[0] ? known_host->connections[0] : known_host->connections[1];
    if (!peer)
        peer = known_host->newest ? known_host->newest->peer : NULL; /* through another collector */
    if (!peer)
        return;
    if (peer->known_host != known_host)
        json_field_text(json, API_THROUGH, peer->host);
    json_field_text(json, API_ROLE, peer->known_host != known_host ? "agent" : peer->is_collector ? "collector" : "agent");
    json_field_text(json, API_ADDRESS, peer->address);
    json_field_text(json, API_SOFTWARE, peer->software);
    json_field_u64(json, API_SINCE_NS, peer->since_ns);
    if (peer->known_host == known_host)
        json_field_u64(json, API_WIRE_BYTES, peer->bytes);
}

static void add_host(struct json *json, const struct known_host *known_host, uint64_t now_ns)
{
    uint64_t there_ns = now_ns + (uint64_t)(known_host->has_clock_ahead ? known_host->clock_ahead_ns : 0);
    json_begin_object(json);
    json_field_text(json, API_HOST, known_host->host);
    json_field_text(json, API_STATE, known_host_is_silent(known_host, now_ns) ? "silent" : "up");
    add_connection(json, known_host);
    add_known(json, API_FIRST_NS, known_host->first_ns);
    add_known(json, API_RECEIVED_NS, known_host->last_received_ns);
    add_known(json, API_SAMPLE_NS, known_host->sample_ns);
    if (known_host->sample_ns)
        json_field_u64(json, API_LAG_NS, there_ns > known_host->sample_ns ? there_ns - known_host->sample_ns : 0);
    add_known(json, API_INTERVAL_NS, known_host->interval_ns);
    if (known_host->has_clock_ahead) {
        json_key(json, API_CLOCK_AHEAD_NS);
        json_i64(json, known_host->clock_ahead_ns);
    }
    json_field_u64(json, API_RECORDS, known_host->records);
    json_field_u64(json, API_SAMPLES, known_host->samples);
    json_field_u64(json, API_BYTES, known_host->bytes);
    json_field_u64(json, API_DOUBLES, known_host->duplicates);
    json_field_u64(json, API_MISSING, known_host->missing);
    json_field_u64(json, API_LOST, known_host->lost);
    add_gap(json, known_host);
    json_end_object(json);
}

static void add_hosts(struct json *json, const struct receiver *receiver)
{
    struct known_host **known_hosts = known_hosts_sorted(&receiver->known_hosts);
    uint64_t now_ns = clock_realtime_ns();
    json_key(json, API_HOSTS);
    json_begin_array(json);
    for (size_t i = 0; known_hosts && i < receiver->known_hosts.map.count; i++)
        if (known_hosts[i]->last_received_ns) /* otherwise it only tried to connect */
            add_host(json, known_hosts[i], now_ns);
    json_end_array(json);
    free(known_hosts);
}

static void add_refused(struct json *json, const struct receiver *receiver)
{
    struct map_iterator at = { 0 };
    const struct peer *peer;
    json_key(json, API_REFUSED);
    json_begin_array(json);
    while ((peer = peers_next(&receiver->peers, &at))) {
        if (peer->state != PEER_REFUSED || !peer->error[0])
            continue;
        json_begin_object(json);
        json_field_text(json, API_HOST, peer->host);
        json_field_text(json, API_ADDRESS, peer->address);
        json_field_text(json, API_ERROR_REASON, peer->error);
        json_end_object(json);
    }
    json_end_array(json);
}

static void add_choice(struct json *json, const struct sink_worker *worker, bool with_settings)
{
    const struct sink_choice *choice = sink_worker_choice(worker);
    struct buf text;
    buf_init(&text, SETTINGS_MAX);
    if (with_settings)
        sink_choice_write(choice, &text);
    else
        buf_add_text(&text, choice->sink->name);
    json_field_text(json, API_SINK, buf_text(&text));
    buf_clear(&text);
}

static void add_sink(struct json *json, struct sink_worker *worker, bool with_settings)
{
    static const char *const states[] = { API_STATE_WAITS, API_STATE_WRITES, API_STATE_FAILS, "closed" };
    struct sink_worker_figures f;
    sink_worker_figures(worker, &f);
    json_begin_object(json);
    json_field_text(json, API_NAME, f.name);
    add_choice(json, worker, with_settings);
    json_field_text(json, API_STATE, states[f.state]);
    if (f.error[0])
        json_field_text(json, API_ERROR_REASON, f.error);
    json_field_u64(json, API_WAITING_BYTES, f.lag_bytes);
    json_field_u64(json, API_WAITING_NS, f.lag_ns);
    json_field_u64(json, API_BATCHES, f.batches);
    json_field_u64(json, API_SAMPLES, f.samples);
    json_field_u64(json, API_VALUES, f.values);
    json_field_f64(json, API_SAMPLES_PER_S, f.rate);
    json_field_u64(json, API_GAPS, f.gaps);
    json_field_u64(json, API_UNREADABLE, f.unreadable);
    json_field_u64(json, API_REFUSED, f.refused);
    json_field_u64(json, API_FAILURES, f.failures);
    json_field_u64(json, API_STREAMS, f.streams);
    add_known(json, API_SUCCESS_NS, f.success_ns);
    json_field_u64(json, API_READ_NS, f.read_ns);
    json_field_u64(json, API_WRITE_NS, f.write_ns);
    json_field_u64(json, API_FLUSH_NS, f.flush_ns);
    json_field_u64(json, API_FLUSHES, f.flushes);
    json_end_object(json);
}

static void add_upstream(struct json *json, struct collector *collector)
{
    static const char *const states[] = { "idle", "connecting", "up", "refused", "waiting" };
    struct uplink_figures f;
    if (!collector->uplink)
        return;
    uplink_figures(collector->uplink, &f);
    json_key(json, API_UPSTREAM);
    json_begin_object(json);
    json_field_text(json, API_COLLECTOR, f.collector);
    json_field_text(json, API_STATE, states[f.state]);
    if (f.error[0])
        json_field_text(json, API_ERROR_REASON, f.error);
    json_field_u64(json, API_WAITING_BYTES, f.lag_bytes);
    json_field_u64(json, API_WAITING_NS, f.lag_ns);
    json_field_u64(json, API_RECORDS_SENT, f.records_sent);
    json_field_u64(json, API_RECORDS_ACKED, f.records_acked);
    json_field_u64(json, API_BYTES_SENT, f.bytes_sent);
    add_known(json, API_ACKED_NS, f.acked_ns);
    json_end_object(json);
}

static void add_rollup(struct json *json, struct collector *collector)
{
    struct rollup_figures f;
    if (!collector->rollup)
        return;
    rollup_figures(collector->rollup, &f);
    json_key(json, API_ROLLUP);
    json_begin_object(json);
    json_field_u64(json, API_WINDOW_NS, collector->config.rollup_ns);
    json_field_u64(json, API_RECORDS, f.records);
    json_field_u64(json, API_SAMPLES, f.samples);
    json_field_u64(json, API_WINDOWS, f.windows);
    json_field_u64(json, API_LATE, f.late);
    json_field_u64(json, API_HOSTS, f.hosts);
    json_field_u64(json, API_WAITING_BYTES, f.lag_bytes);
    json_end_object(json);
}

/* Brokers and topic; settings follow after a ','. */
static void add_kafka_source(struct json *json, const char *source, bool with_settings)
{
    struct buf text;
    buf_init(&text, SETTINGS_MAX);
    if (with_settings)
        mask_add_settings(&text, source);
    else
        buf_add(&text, source, strcspn(source, ","));
    json_field_text(json, API_FROM, buf_text(&text));
    buf_clear(&text);
}

static void add_kafka(struct json *json, const struct collector *collector, bool with_settings)
{
    struct kafka_port_figures f;
    if (!collector->kafka)
        return;
    kafka_port_figures(collector->kafka, &f);
    json_key(json, API_KAFKA);
    json_begin_object(json);
    add_kafka_source(json, collector->config.kafka, with_settings);
    if (f.consumer.error[0])
        json_field_text(json, API_ERROR_REASON, f.consumer.error);
    json_field_u64(json, API_PARTITIONS, f.consumer.partitions);
    json_field_u64(json, API_MESSAGES, f.consumer.messages);
    json_field_u64(json, API_BYTES, f.consumer.bytes);
    json_field_u64(json, API_COMMITS, f.consumer.commits);
    json_field_u64(json, API_REWINDS, f.consumer.rewinds);
    json_field_u64(json, API_BAD, f.bad);
    json_field_u64(json, API_STREAMS, f.feeds);
    json_end_object(json);
}

void collector_status(struct buf *out, struct collector *collector, bool with_settings)
{
    struct json json;
    json_init(&json, out);
    json_begin_object(&json);
    json_field_text(&json, API_HOST, collector->host.name);
    json_field_u64(&json, API_TIME_NS, clock_realtime_ns());
    json_field_text(&json, API_VERSION, SONDE_VERSION);
    json_field_u64(&json, API_SINCE_NS, collector->since_ns);
    add_list(&json, API_LISTEN, &collector->config.listen);
    json_field_bool(&json, API_LISTENS, collector->config.listen.count > 0);
    json_field_bool(&json, API_ENCRYPTED, !collector->config.plain);
    add_totals(&json, &collector->receiver);
    add_journal(&json, collector);
    add_stages(&json, collector);
    add_upstream(&json, collector);
    add_kafka(&json, collector, with_settings);
    add_rollup(&json, collector);
    json_key(&json, API_SINKS);
    json_begin_array(&json);
    for (size_t i = 0; i < collector->sink_worker_count; i++)
        add_sink(&json, collector->sink_workers[i], with_settings);
    json_end_array(&json);
    add_refused(&json, &collector->receiver);
    add_hosts(&json, &collector->receiver);
    json_end_object(&json);
    json_end(&json);
}
