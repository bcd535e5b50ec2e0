/* One table per set: its metrics and how each one is read. */
#include "collector/self_metrics.h"

#include "base/clock.h"
#include "collector/collector.h"

#define U(name, unit, kind, help) { name, unit, kind, U64, help }

static const struct metric collector_metrics[] = {
    U("hosts", "1", GAUGE, "known hosts"),
    U("hosts_silent", "1", GAUGE, "known hosts that are silent"),
    U("connections", "1", GAUGE, "connected agents and collectors"),
    U("messages", "1", COUNTER, "messages received"),
    U("message_bytes", "B", COUNTER, "bytes of them"),
    U("records", "1", COUNTER, "records received"),
    U("samples", "1", COUNTER, "samples in them"),
    U("values", "1", COUNTER, "values in them"),
    U("doubles", "1", COUNTER, "duplicate records"),
    U("bad", "1", COUNTER, "invalid messages"),
    U("refusals", "1", COUNTER, "connections refused"),
    U("unreadable", "1", COUNTER, "records that could not be decoded"),
    U("read_time", "ns", COUNTER, "time spent decoding records"),
    U("append_time", "ns", COUNTER, "time spent writing them to the journal"),
    U("sync_time", "ns", COUNTER, "time spent syncing the journal"),
    U("syncs", "1", COUNTER, "number of syncs"),
    U("journal", "B", GAUGE, "size of the journal"),
    U("journal_lost", "1", COUNTER, "records dropped from the journal before every sink had read them"),
};

static const struct metric host_metrics[] = {
    U("up", "1", GAUGE, "1: active; 0: silent"),
    U("lag", "ns", GAUGE, "age of its newest sample, by its own clock"),
    { "clock_ahead", "ns", GAUGE, I64, "how much its clock is ahead of the collector's" },
    U("records", "1", COUNTER, "records received"),
    U("samples", "1", COUNTER, "samples in them"),
    U("bytes", "B", COUNTER, "bytes of them"),
    U("doubles", "1", COUNTER, "duplicate records"),
    U("missing", "1", GAUGE, "skipped records that have not arrived since"),
    U("lost", "1", COUNTER, "records it reported as lost, or that could not be decoded"),
};

static const struct metric sink_metrics[] = {
    U("up", "1", GAUGE, "1: writing; 0: failing"),
    U("waiting", "B", GAUGE, "bytes of the journal waiting for it"),
    U("waiting_age", "ns", GAUGE, "age of the oldest of them"),
    U("batches", "1", COUNTER, "batches written"),
    U("samples", "1", COUNTER, "samples in them"),
    U("values", "1", COUNTER, "values in them"),
    U("gaps", "1", COUNTER, "records lost before it could read them"),
    U("refused", "1", COUNTER, "samples rejected by the destination"),
    U("failures", "1", COUNTER, "failed writes"),
    U("write_time", "ns", COUNTER, "time spent writing"),
    U("flush_time", "ns", COUNTER, "time spent flushing"),
    U("success", "ns", GAUGE, "time of the last successful flush, since the epoch"),
};

static const struct metric colmet_metrics[] = {
    U("messages", "1", COUNTER, "messages received from Colmet's nodes"),
    U("message_bytes", "B", COUNTER, "bytes of them"),
    U("samples", "1", COUNTER, "samples in them"),
    U("bad", "1", COUNTER, "records or whole messages that could not be decoded"),
    U("lost", "1", COUNTER, "messages that could not be stored; Colmet does not send again"),
};

#define SIZE(array) (sizeof array / sizeof *array)
static const struct set collector_set = { "collector", collector_metrics, SIZE(collector_metrics), NULL };
static const struct set host_set = { "collector_host", host_metrics, SIZE(host_metrics), "node" };
static const struct set sink_set = { "collector_sink", sink_metrics, SIZE(sink_metrics), "sink" };

static const struct set colmet_set = { "collector_colmet", colmet_metrics, SIZE(colmet_metrics), NULL };

static enum err add(struct batch *batch, const struct set *set, uint64_t now_ns, const char *instance,
                    const uint64_t *numbers)
{
    struct sample *sample = batch_add(batch, set, now_ns, instance);
    for (size_t i = 0; sample && i < set->size; i++)
        sample_set_u64(sample, i, numbers[i]);
    return sample ? OK : NOMEM;
}

static enum err add_collector(struct batch *batch, struct collector *collector, uint64_t now_ns, uint64_t silent)
{
    const struct receiver_figures *figures = &collector->receiver.figures;
    struct committer_figures syncs;
    struct journal_figures journal;
    committer_figures(collector->committer, &syncs);
    journal_figures(collector->journal, &journal);
    const uint64_t numbers[] = {
        collector->receiver.known_hosts.map.count, silent, collector->receiver.peers.map.count, figures->messages, figures->bytes,
        figures->records, figures->samples, figures->values, figures->duplicates, figures->bad, figures->refused,
        figures->unreadable, figures->read_ns, figures->append_ns, syncs.sync_ns, syncs.syncs, journal.bytes,
        journal.lost_records,
    };
    _Static_assert(SIZE(numbers) == SIZE(collector_metrics), "one number per metric");
    return add(batch, &collector_set, now_ns, "", numbers);
}

static uint64_t lag_of(const struct known_host *known_host, uint64_t now_ns)
{
    uint64_t there_ns = now_ns + (uint64_t)(known_host->has_clock_ahead ? known_host->clock_ahead_ns : 0);
    return known_host->sample_ns && there_ns > known_host->sample_ns ? there_ns - known_host->sample_ns : 0;
}

static enum err add_host(struct batch *batch, const struct known_host *known_host, uint64_t now_ns)
{
    const uint64_t numbers[] = {
        !known_host_is_silent(known_host, now_ns), lag_of(known_host, now_ns), (uint64_t)known_host->clock_ahead_ns,
        known_host->records, known_host->samples, known_host->bytes, known_host->duplicates,
        known_host->missing, known_host->lost,
    };
    _Static_assert(SIZE(numbers) == SIZE(host_metrics), "one number per metric");
    enum err err = add(batch, &host_set, now_ns, known_host->host, numbers);
    uint8_t *known = err ? NULL : (uint8_t *)batch->samples[batch->count - 1].known;
    if (known && !known_host->sample_ns)
        known[1] = 0;
    if (known && !known_host->has_clock_ahead)
        known[2] = 0;
    return err;
}

static enum err add_sink(struct batch *batch, struct sink_worker *worker, uint64_t now_ns)
{
    struct sink_worker_figures f;
    sink_worker_figures(worker, &f);
    const uint64_t numbers[] = {
        f.state == SINK_WORKER_WRITING, f.lag_bytes, f.lag_ns, f.batches, f.samples, f.values, f.gaps, f.refused, f.failures,
        f.write_ns, f.flush_ns, f.success_ns,
    };
    _Static_assert(SIZE(numbers) == SIZE(sink_metrics), "one number per metric");
    return add(batch, &sink_set, now_ns, sink_worker_cursor_name(worker), numbers);
}

static enum err add_colmet(struct batch *batch, const struct colmet_port *port, uint64_t now_ns)
{
    struct colmet_port_figures f;
    colmet_port_figures(port, &f);
    const uint64_t numbers[] = { f.messages, f.bytes, f.samples, f.bad, f.refused };
    _Static_assert(SIZE(numbers) == SIZE(colmet_metrics), "one number per metric");
    return add(batch, &colmet_set, now_ns, "", numbers);
}

enum err self_metrics_add(struct batch *batch, struct collector *collector)
{
    struct map_iterator at = { 0 };
    const struct known_host *known_host;
    uint64_t now_ns = clock_realtime_ns(), silent = 0;
    enum err err = OK;
    while (!err && (known_host = known_hosts_next(&collector->receiver.known_hosts, &at))) {
        err = add_host(batch, known_host, now_ns);
        silent += known_host_is_silent(known_host, now_ns);
    }
    for (size_t i = 0; i < collector->sink_worker_count && !err; i++)
        err = add_sink(batch, collector->sink_workers[i], now_ns);
    if (!err && collector->colmet)
        err = add_colmet(batch, collector->colmet, now_ns);
    return err ? err : add_collector(batch, collector, now_ns, silent);
}
