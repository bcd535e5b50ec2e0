/* A note beside the journal says where every partition ended at a moment when nothing was under way, the position in the journal
 * at that moment, and one beyond which nothing goes before the next note. So whoever comes after us knows what may be in the
 * topics, and from where on to look for it. */
#include "sinks/kafka/lookback.h"

#include "base/clock.h"
#include "base/log.h"
#include "sinks/kafka/tail.h"
#include "journal/journal.h"
#include "journal/journal_blob.h"

#include <stdio.h>
#include <string.h>

#define ROUND_BYTES (700u << 10) /* with one batch more it is one request for each partition, so that the order stays */
#define ROUND_MESSAGES 8000u
#define AHEAD_BYTES (2u << 20)   /* of the journal, that may go before the next note */
#define NOTE_NS (10 * NS_PER_S)
#define SEEN_MAX (4u << 20)
#define PATIENCE_NS (60 * NS_PER_S) /* with looking back in vain, where we may do without */
#define STEP_MS 3000u
#define NAP_MS 50

bool kafka_lookback_is_used(const struct kafka_producer *p)
{
    return *p->name && p->exactly_once != KAFKA_NEVER && p->way == KAFKA_BY_LOOKING_BACK;
}

void kafka_lookback_init(struct kafka_producer *p)
{
    kafka_seen_init(&p->lookback.seen, SEEN_MAX);
}

static enum err save(struct kafka_producer *p)
{
    struct buf note;
    journal_blob_begin(&note);
    p->lookback.places.opening = p->opening;
    kafka_places_write(&p->lookback.places, &note);
    enum err err = journal_note_save(p->lookback.journal, p->lookback.reader, &note);
    if (err)
        snprintf(p->why, sizeof p->why, "cannot write its note in the journal's folder: %s", err_text(err));
    return err;
}

/* What ends in order leaves nothing to look for. */
void kafka_lookback_close(struct kafka_producer *p)
{
    struct kafka_lookback *l = &p->lookback;
    bool is_sure = l->noted_ns && !l->is_unsure && !p->flying && l->arrived >= l->unsure_until;
    kafka_tail_close(&l->tail);
    if (kafka_lookback_is_used(p) && is_sure) {
        l->places.position = l->places.until = l->arrived;
        (void)save(p); /* then there is a little to look for */
    }
    kafka_places_clear(&l->places);
    kafka_seen_clear(&l->seen);
}

/* Positions of an earlier opening of the journal may lie beyond what its disk has kept. */
static uint64_t clip(const struct kafka_producer *p, uint64_t position)
{
    return p->lookback.places.opening == p->opening || position < p->opened_at ? position : p->opened_at;
}

void kafka_lookback_begin(struct kafka_producer *p)
{
    struct kafka_lookback *l = &p->lookback;
    struct buf note;
    struct bytes content;
    enum err err = journal_note_load(l->journal, l->reader, &note, &content);
    if (!err) {
        err = kafka_places_read(&l->places, content);
        buf_clear(&note);
    }
    if (err && err != ABSENT)
        log_warn("the note of the sink kafka cannot be read (%s): what was under way may be in its topics twice", err_text(err));
    if (err)
        return;
    p->done_until = l->arrived = clip(p, l->places.position);
    l->unsure_until = clip(p, l->places.until);
    l->is_unsure = l->unsure_until > l->arrived;
    if (!l->is_unsure)
        kafka_places_clear(&l->places); /* where the topics end now is as good */
}

static int left_ms(uint64_t deadline_ns)
{
    uint64_t now_ns = clock_monotonic_ns(), left = deadline_ns > now_ns ? (deadline_ns - now_ns) / NS_PER_MS : 0;
    return (int)(left < STEP_MS ? left + 1 : STEP_MS);
}

static void nap(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = NAP_MS * (long)NS_PER_MS }, NULL);
}

/* Looking does not go: they do not let us, or something is wrong for long. */
static void note_blind(struct kafka_producer *p, enum err err)
{
    struct kafka_lookback *l = &p->lookback;
    kafka_tail_close(&l->tail);
    bool is_hopeless = err == DENIED || clock_monotonic_ns() - l->unsure_ns > PATIENCE_NS;
    if (p->exactly_once == KAFKA_ALWAYS || !is_hopeless) {
        kafka_producer_pause(p);
        return;
    }
    log_warn("Kafka: what was under way may be in the topics twice: %s", p->why);
    kafka_producer_end(p);
    kafka_box_rewind(p->box);
    p->way = KAFKA_PLAIN;
    p->next_try_ns = p->wait_ns = 0;
}

static void look_back(struct kafka_producer *p, uint64_t deadline_ns)
{
    struct kafka_lookback *l = &p->lookback;
    struct kafka_tail_settings settings = { &p->conf, &l->places, &l->seen, l->is_records };
    enum err err = OK;
    if (!l->unsure_ns)
        l->unsure_ns = clock_monotonic_ns();
    if (!l->tail)
        err = kafka_tail_open(&l->tail, &settings, left_ms(deadline_ns), p->why, sizeof p->why);
    if (!err)
        err = kafka_tail_read(l->tail, deadline_ns, p->why, sizeof p->why);
    if (err == AGAIN)
        return;
    if (err) {
        note_blind(p, err);
        return;
    }
    log_info("Kafka: looked through %llu messages for what was under way", (unsigned long long)kafka_tail_count(l->tail));
    kafka_tail_close(&l->tail);
    l->is_unsure = false;
    l->unsure_ns = l->found = 0;
}

/* How many partitions it has; where there is no such topic the brokers make it, if they may. */
static rd_kafka_resp_err_t learn_topic(struct kafka_producer *p, const char *name, int timeout_ms)
{
    const struct rd_kafka_metadata *answer = NULL;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(p->kafka, name, NULL);
    if (!topic)
        return rd_kafka_last_error();
    rd_kafka_resp_err_t code = rd_kafka_metadata(p->kafka, 0, topic, &answer, timeout_ms);
    if (!code)
        code = answer->topic_cnt == 1 ? answer->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    if (!code && kafka_places_add(&p->lookback.places, name, (size_t)answer->topics[0].partition_cnt, KAFKA_PLACE_UNKNOWN))
        code = RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE;
    if (answer)
        rd_kafka_metadata_destroy(answer);
    rd_kafka_topic_destroy(topic);
    return code;
}

/* Partitions of which the end is to be asked for: all, or those of new topics. */
static rd_kafka_topic_partition_list_t *list_parts(const struct kafka_places *places, bool all)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)kafka_places_partitions(places) + 1);
    for (size_t i = 0; i < places->count; i++)
        for (size_t n = 0; n < places->topics[i].count; n++)
            if (all || places->topics[i].offsets[n] == KAFKA_PLACE_UNKNOWN)
                rd_kafka_topic_partition_list_add(list, places->topics[i].name, (int32_t)n)->offset = RD_KAFKA_OFFSET_END;
    return list;
}

static rd_kafka_resp_err_t take_ends(struct kafka_places *places, const rd_kafka_topic_partition_list_t *list)
{
    for (int i = 0; i < list->cnt; i++)
        if (list->elems[i].err || list->elems[i].offset < 0)
            return list->elems[i].err ? list->elems[i].err : RD_KAFKA_RESP_ERR__NO_OFFSET;
    for (int i = 0; i < list->cnt; i++) {
        struct kafka_places_topic *topic = kafka_places_find(places, list->elems[i].topic);
        topic->offsets[list->elems[i].partition] = list->elems[i].offset;
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* One request to each broker. */
static rd_kafka_resp_err_t ask_ends(struct kafka_producer *p, bool all, int timeout_ms)
{
    rd_kafka_topic_partition_list_t *list = list_parts(&p->lookback.places, all);
    rd_kafka_resp_err_t code = list->cnt ? rd_kafka_offsets_for_times(p->kafka, list, timeout_ms) : RD_KAFKA_RESP_ERR_NO_ERROR;
    if (!code)
        code = take_ends(&p->lookback.places, list);
    rd_kafka_topic_partition_list_destroy(list);
    return code;
}

static bool complain(struct kafka_producer *p, const char *topic, rd_kafka_resp_err_t code)
{
    snprintf(p->why, sizeof p->why, "where %s%.120s ends: %s", topic ? "topic " : "a topic", topic ? topic : "",
             rd_kafka_err2str(code));
    rd_kafka_poll(p->kafka, NAP_MS);
    return false;
}

/* Nothing goes to a topic of which the note does not say where it ended. */
static bool know_topics(struct kafka_producer *p, uint64_t deadline_ns, bool *has_new)
{
    const char *last = NULL;
    *has_new = false;
    for (const struct kafka_piece *piece = p->box->head; piece && piece->name.position <= p->lookback.mark; piece = piece->next) {
        bool is_known = piece->topic == last || kafka_places_find(&p->lookback.places, piece->topic);
        last = piece->topic;
        if (is_known)
            continue;
        rd_kafka_resp_err_t code = learn_topic(p, piece->topic, left_ms(deadline_ns));
        if (code)
            return complain(p, piece->topic, code);
        *has_new = true;
    }
    return true;
}

/* Before a round goes. While it is open what of the last one is there, the old note counts, with new topics alone. */
static bool take_note(struct kafka_producer *p, uint64_t deadline_ns)
{
    struct kafka_lookback *l = &p->lookback;
    bool has_new, is_open = l->arrived < l->unsure_until, is_due = clock_monotonic_ns() - l->noted_ns >= NOTE_NS;
    if (!know_topics(p, deadline_ns, &has_new))
        return false;
    bool is_moved = !is_open && (is_due || l->mark > l->places.until);
    if (!has_new && !is_moved)
        return true;
    rd_kafka_resp_err_t code = ask_ends(p, is_moved, left_ms(deadline_ns));
    if (code)
        return complain(p, NULL, code);
    if (is_moved) {
        l->places.position = l->arrived;
        l->places.until = l->mark + AHEAD_BYTES;
    }
    if (save(p)) {
        nap();
        return false;
    }
    l->noted_ns = clock_monotonic_ns();
    return true;
}

/* Whole batches, the oldest first. */
static uint64_t end_of_round(const struct kafka_producer *p)
{
    size_t bytes = 0, count = 0;
    uint64_t mark = p->box->head->name.position;
    for (const struct kafka_piece *piece = p->box->head; piece; piece = piece->next) {
        if (piece->name.position != mark && (bytes >= ROUND_BYTES || count >= ROUND_MESSAGES))
            break;
        mark = piece->name.position;
        bytes += piece->body.size;
        count++;
    }
    return mark;
}

static bool is_there(const struct kafka_lookback *l, const struct kafka_piece *piece)
{
    return l->seen.count && piece->name.position <= l->unsure_until
        && kafka_seen_has(&l->seen, kafka_identity_of(l->is_records, piece->name.key, piece->body));
}

bool kafka_lookback_has(const struct kafka_producer *p, struct bytes host, uint64_t stream, uint64_t sequence,
                        uint64_t position)
{
    const struct kafka_lookback *l = &p->lookback;
    return l->seen.count && position <= l->unsure_until && l->is_records
        && kafka_seen_has(&l->seen, kafka_identity_of_record(host, stream, sequence));
}

/* All reports of the round have come. */
static void end_round(struct kafka_producer *p)
{
    struct kafka_lookback *l = &p->lookback;
    kafka_box_remove_done(p->box);
    if (p->has_failed) {
        p->has_failed = false;
        l->is_unsure = true;
        l->unsure_until = l->mark > l->unsure_until ? l->mark : l->unsure_until;
        kafka_producer_pause(p);
        return;
    }
    l->arrived = l->mark;
    p->wait_ns = 0;
    if (l->arrived < l->unsure_until || !l->seen.slots)
        return;
    log_info("Kafka: %llu messages were there already, and were not sent again", (unsigned long long)l->found);
    kafka_seen_clear(&l->seen);
}

static void begin_round(struct kafka_producer *p, uint64_t deadline_ns)
{
    struct kafka_lookback *l = &p->lookback;
    l->mark = end_of_round(p);
    if (!take_note(p, deadline_ns))
        return;
    for (struct kafka_piece *piece = p->box->head; piece && piece->name.position <= l->mark; piece = piece->next) {
        if (piece->state != KAFKA_WAITS)
            continue;
        if (is_there(l, piece)) {
            kafka_box_set(p->box, piece, KAFKA_DONE);
            l->found++;
        } else
            kafka_producer_send(p, piece);
    }
    if (!p->flying)
        end_round(p);
}

static void wait_for_reports(struct kafka_producer *p, uint64_t deadline_ns)
{
    rd_kafka_flush(p->kafka, left_ms(deadline_ns)); /* which does not wait for more, as poll would */
    if (!p->flying)
        end_round(p);
}

static void step(struct kafka_producer *p, uint64_t deadline_ns)
{
    if (p->flying)
        wait_for_reports(p, deadline_ns);
    else if (clock_monotonic_ns() < p->next_try_ns)
        nap();
    else if (!p->kafka && kafka_producer_make(p))
        kafka_producer_pause(p);
    else if (p->lookback.is_unsure)
        look_back(p, deadline_ns);
    else
        begin_round(p, deadline_ns);
}

enum err kafka_lookback_learn(struct kafka_producer *p, uint64_t deadline_ns)
{
    while (kafka_lookback_is_used(p) && p->lookback.is_unsure && !p->box->count) {
        if (clock_monotonic_ns() >= deadline_ns)
            return AGAIN;
        step(p, deadline_ns);
    }
    return OK;
}

enum err kafka_lookback_flush(struct kafka_producer *p, uint64_t deadline_ns)
{
    while (kafka_lookback_is_used(p)) {
        if (!p->box->count)
            return OK;
        if (clock_monotonic_ns() >= deadline_ns)
            return AGAIN;
        step(p, deadline_ns);
    }
    return AGAIN;
}
