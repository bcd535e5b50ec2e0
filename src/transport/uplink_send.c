/* The sending half of the uplink: entries of the journal become messages as long as the collector has not more than a window
 * of them to acknowledge; what is acknowledged moves the cursor. */
#include "transport/uplink_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUT_MAX (4u * MESSAGE_MAX)
#define SENT_MIN 64
#define TURN_MAX 256 /* entries at a time, so that acknowledgements are read in between */

void uplink_send_reset(struct uplink *uplink)
{
    uplink->number = uplink->unacked_bytes = uplink->position = 0;
    uplink->sent_first = uplink->sent_count = 0;
    uplink->out_at = 0;
    uplink->is_drained = false;
    uplink->window_bytes = UPLINK_WINDOW_BYTES;
    uplink->out.max = OUT_MAX;
    buf_reset(&uplink->out);
    uplink_streams_reset(uplink->streams);
}

static enum err note(struct uplink *uplink, const struct uplink_sent *sent)
{
    if (uplink->sent_count == uplink->sent_room) {
        size_t room = uplink->sent_room ? uplink->sent_room * 2 : SENT_MIN;
        struct uplink_sent *ring = calloc(room, sizeof *ring);
        if (!ring)
            return NOMEM;
        for (size_t i = 0; i < uplink->sent_count; i++)
            ring[i] = uplink->sent[(uplink->sent_first + i) % uplink->sent_room];
        free(uplink->sent);
        uplink->sent = ring;
        uplink->sent_room = room;
        uplink->sent_first = 0;
    }
    uplink->sent[(uplink->sent_first + uplink->sent_count++) % uplink->sent_room] = *sent;
    return OK;
}

static void lose(struct uplink *uplink, const char *why)
{
    uplink->end = UPLINK_LOST;
    snprintf(uplink->why, sizeof uplink->why, "%s", why);
}

void uplink_send(struct uplink *uplink, enum message_kind kind, struct bytes body)
{
    struct message message = { .version = MESSAGE_VERSION, .kind = kind, .number = ++uplink->number, .body = body };
    size_t before = uplink->out.size;
    uint32_t size = 0;
    buf_add(&uplink->out, &size, sizeof size);
    message_write(&uplink->out, &message, true);
    if (buf_err(&uplink->out)) {
        lose(uplink, "there is no memory for a message");
        return;
    }
    size = (uint32_t)(uplink->out.size - before - sizeof size);
    memcpy(uplink->out.data + before, &size, sizeof size);
    struct uplink_sent sent = { .number = message.number, .bytes = size };
    if (kind == MESSAGE_RECORD) {
        sent.position = uplink->position;
        sent.records = 1;
        uplink->now.records_sent++;
    }
    if (note(uplink, &sent))
        lose(uplink, "there is no memory for what is on its way");
    uplink->unacked_bytes += size;
}

void uplink_send_take(void *uplink, enum message_kind kind, struct bytes body)
{
    uplink_send(uplink, kind, body);
}

bool uplink_send_flush(struct uplink *uplink)
{
    bool is_moved = false;
    while (uplink->out_at < uplink->out.size && uplink->end == UPLINK_GOES_ON) {
        uint32_t size;
        memcpy(&size, uplink->out.data + uplink->out_at, sizeof size);
        struct bytes message = { uplink->out.data + uplink->out_at + sizeof size, size };
        enum err err = uplink->zmq->dealer_send(uplink->dealer, message);
        if (err == AGAIN)
            break;
        if (err)
            lose(uplink, err_text(err));
        uplink->out_at += sizeof size + size;
        uplink->now.bytes_sent += size;
        is_moved = true;
    }
    if (uplink->out_at == uplink->out.size) {
        buf_reset(&uplink->out);
        uplink->out_at = 0;
    }
    if (is_moved)
        uplink->said_ns = clock_monotonic_ns();
    return is_moved;
}

/* A damaged place is skipped: the journal tells it as a gap. */
static bool take_one(struct uplink *uplink)
{
    struct journal_entry entry;
    enum err err = journal_reader_next(uplink->reader, &entry);
    if (err == CORRUPT)
        return true;
    uplink->is_drained = err == AGAIN;
    if (err == AGAIN)
        return false;
    if (!err) {
        uplink->position = entry.position;
        err = uplink_streams_take(uplink->streams, &entry);
    }
    if (err) {
        snprintf(uplink->why, sizeof uplink->why, "what is in the spool cannot be sent: %s", err_text(err));
        uplink->end = UPLINK_LOST;
    }
    return !err;
}

bool uplink_send_more(struct uplink *uplink)
{
    bool is_moved = uplink_send_flush(uplink);
    for (int i = 0; i < TURN_MAX && uplink->end == UPLINK_GOES_ON; i++) {
        if (uplink->out.size || uplink->unacked_bytes >= uplink->window_bytes || !take_one(uplink))
            break;
        is_moved |= uplink_send_flush(uplink);
    }
    return is_moved;
}

void uplink_send_acked(struct uplink *uplink, uint64_t number)
{
    uint64_t position = 0, records = 0;
    while (uplink->sent_count && uplink->sent[uplink->sent_first].number <= number) {
        const struct uplink_sent *sent = &uplink->sent[uplink->sent_first];
        position = sent->position ? sent->position : position;
        records += sent->records;
        uplink->unacked_bytes -= sent->bytes;
        uplink->sent_first = (uplink->sent_first + 1) % uplink->sent_room;
        uplink->sent_count--;
    }
    uplink->has_acked = true;
    if (position)
        journal_reader_ack(uplink->reader, position);
    uplink->now.records_acked += records;
    if (records)
        uplink->now.acked_ns = clock_realtime_ns();
}
