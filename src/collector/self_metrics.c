/* One table per set: what each number is, and how it is read. */
#include "collector/self_metrics.h"

#include "base/clock.h"
#include "collector/collector.h"

#define U(name, unit, kind, help) { name, unit, kind, U64, help }

static const struct metric collector_metrics[] = {
    U("hosts", "1", GAUGE, "hosts that were ever heard"),
    U("hosts_silent", "1", GAUGE, "hosts that say nothing now"),
    U("connections", "1", GAUGE, "agents and collectors that are connected"),
    U("messages", "1", COUNTER, "messages that came in"),
    U("message_bytes", "B", COUNTER, "bytes of them"),
    U("records", "1", COUNTER, "records that were taken"),
    U("samples", "1", COUNTER, "samples in them"),
    U("values", "1", COUNTER, "values in them"),
    U("doubles", "1", COUNTER, "records that came again and were there already"),
    U("bad", "1", COUNTER, "messages that made no sense"),
    U("refusals", "1", COUNTER, "times that somebody was refused"),
    U("unreadable", "1", COUNTER, "records that could not be read"),
    U("read_time", "ns", COUNTER, "time spent with reading records"),
    U("append_time", "ns", COUNTER, "time spent with writing them to the journal"),
    U("sync_time", "ns", COUNTER, "time spent with waiting for the disk of the journal"),
    U("syncs", "1", COUNTER, "how often"),
    U("journal", "B", GAUGE, "size of the journal"),
    U("journal_lost", "1", COUNTER, "records that left the journal before every sink had them"),
};

static const struct metric host_metrics[] = {
    U("up", "1", GAUGE, "1: it was heard lately; 0: it is silent"),
    U("lag", "ns", GAUGE, "age of its newest sample, by its own clock"),
    { "clock_ahead", "ns", GAUGE, I64, "its clock is ahead of the collector's by so much" },
    U("records", "1", COUNTER, "records that were taken"),
    U("samples", "1", COUNTER, "samples in them"),
    U("bytes", "B", COUNTER, "bytes of them"),
    U("doubles", "1", COUNTER, "records that came again and were there already"),
    U("missing", "1", GAUGE, "records that were jumped over and have not come since"),
    U("lost", "1", COUNTER, "records that it says are gone, or that could not be read"),
};

static const struct metric sink_metrics[] = {
    U("up", "1", GAUGE, "1: it takes samples; 0: it does not"),
    U("waiting", "B", GAUGE, "bytes of the journal that wait for it"),
    U("waiting_age", "ns", GAUGE, "age of the oldest of them"),
    U("batches", "1", COUNTER, "batches that were written"),
    U("samples", "1", COUNTER, "samples in them"),
    U("values", "1", COUNTER, "values in them"),
    U("gaps", "1", COUNTER, "records that it will never get"),
    U("refused", "1", COUNTER, "samples that the other side does not take"),
    U("failures", "1", COUNTER, "of writing"),
    U("write_time", "ns", COUNTER, "time spent with writing"),
    U("flush_time", "ns", COUNTER, "time spent with making it durable"),
    U("success", "ns", GAUGE, "when something was made durable last, since 1970"),
};

static const struct metric colmet_metrics[] = {
    U("messages", "1", COUNTER, "messages that nodes of Colmet pushed"),
    U("message_bytes", "B", COUNTER, "bytes of them"),
    U("samples", "1", COUNTER, "samples in them"),
    U("bad", "1", COUNTER, "records, or whole messages, that could not be read"),
    U("lost", "1", COUNTER, "messages that could not be kept: such a node does not send again"),
};

#define SIZE(array) (sizeof array / sizeof *array)
static const struct set collector_set = { "collector", collector_metrics, SIZE(collector_metrics), NULL };
static const struct set host_set = { "collector_host", host_metrics, SIZE(host_metrics), "node" };
static const struct set sink_set = { "collector_sink", sink_metrics, SIZE(sink_metrics), "sink" };

static const struct set colmet_set = { "collector_colmet", colmet_metrics, SIZE(colmet_metrics), NULL };

static enum err add(struct batch *batch, const struct set *set, uint64_t now_ns, const char *instance, const uint64_t *numbers)
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
        collector->receiver.origins.count, silent, collector->receiver.peers.count, figures->messages, figures->bytes,
        figures->records, figures->samples, figures->values, figures->doubles, figures->bad, figures->refused,
        figures->unreadable, figures->read_ns, figures->append_ns, syncs.sync_ns, syncs.syncs, journal.bytes,
        journal.lost_records,
    };
    _Static_assert(SIZE(numbers) == SIZE(collector_metrics), "a number for each");
    return add(batch, &collector_set, now_ns, "", numbers);
}

static uint64_t lag_of(const struct origin *origin, uint64_t now_ns)
{
    uint64_t there_ns = now_ns + (uint64_t)(origin->ahead_known ? origin->ahead_ns : 0);
    return origin->sample_ns && there_ns > origin->sample_ns ? there_ns - origin->sample_ns : 0;
}

static enum err add_host(struct batch *batch, const struct origin *origin, uint64_t now_ns)
{
    const uint64_t numbers[] = {
        !origin_is_silent(origin, now_ns), lag_of(origin, now_ns), (uint64_t)origin->ahead_ns, origin->records,
        origin->samples, origin->bytes, origin->doubles, origin->missing, origin->lost,
    };
    _Static_assert(SIZE(numbers) == SIZE(host_metrics), "a number for each");
    enum err err = add(batch, &host_set, now_ns, origin->host, numbers);
    uint8_t *known = err ? NULL : (uint8_t *)batch->samples[batch->count - 1].known;
    if (known && !origin->sample_ns)
        known[1] = 0;
    if (known && !origin->ahead_known)
        known[2] = 0;
    return err;
}

static enum err add_sink(struct batch *batch, struct outlet *outlet, uint64_t now_ns)
{
    struct outlet_figures f;
    outlet_figures(outlet, &f);
    const uint64_t numbers[] = {
        f.state == OUTLET_WRITES, f.lag_bytes, f.lag_ns, f.batches, f.samples, f.values, f.gaps, f.refused, f.failures,
        f.write_ns, f.flush_ns, f.success_ns,
    };
    _Static_assert(SIZE(numbers) == SIZE(sink_metrics), "a number for each");
    return add(batch, &sink_set, now_ns, outlet_instance(outlet), numbers);
}

static enum err add_colmet(struct batch *batch, const struct colmet_port *port, uint64_t now_ns)
{
    struct colmet_port_figures f;
    colmet_port_figures(port, &f);
    const uint64_t numbers[] = { f.messages, f.bytes, f.samples, f.bad, f.refused };
    _Static_assert(SIZE(numbers) == SIZE(colmet_metrics), "a number for each");
    return add(batch, &colmet_set, now_ns, "", numbers);
}

enum err own_figures_add(struct batch *batch, struct collector *collector)
{
    struct origin_at at = { 0 };
    const struct origin *origin;
    uint64_t now_ns = clock_realtime_ns(), silent = 0;
    enum err err = OK;
    while (!err && (origin = origins_next(&collector->receiver.origins, &at))) {
        err = add_host(batch, origin, now_ns);
        silent += origin_is_silent(origin, now_ns);
    }
    for (size_t i = 0; i < collector->outlet_count && !err; i++)
        err = add_sink(batch, collector->outlets[i], now_ns);
    if (!err && collector->colmet)
        err = add_colmet(batch, collector->colmet, now_ns);
    return err ? err : add_collector(batch, collector, now_ns, silent);
}
