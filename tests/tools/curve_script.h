/* A conversation with a CURVE server that bytes direct: honest steps, altered ones, replayed ones. Used by the fuzzer, and by the
 * test that compares our server with libzmq's.
 *
 * The input is a list of steps, each OPERATION ARGUMENT SIZE BYTES. */
#ifndef SONDE_TESTS_TOOLS_CURVE_SCRIPT_H
#define SONDE_TESTS_TOOLS_CURVE_SCRIPT_H

#include "tools/curve_client.h"

#define SCRIPT_METADATA "\13Socket-Type\0\0\0\6DEALER\10Identity\0\0\0"

/* The server as the client sees it: sends what is in out and appends what comes back to in, until there is an answer to every
 * command. Returns false once the connection is closed. */
struct curve_server_side {
    bool (*exchange)(void *context, struct bytes out, struct buf *in);
    void *context;
};

enum script_operation {
    SCRIPT_NEXT,    /* the next honest step: HELLO, INITIATE, then messages */
    SCRIPT_CONTENT, /* the same with BYTES as metadata or as message, ARGUMENT as its flags */
    SCRIPT_FLIP,    /* the same with one bit flipped: BYTES name it */
    SCRIPT_RAW,     /* BYTES in a frame with ARGUMENT as its flags */
    SCRIPT_REPLAY,  /* the last frame again */
    SCRIPT_SKIP,    /* numbers of boxes leap ahead by ARGUMENT */
    SCRIPT_BACK,    /* or go back */
    SCRIPT_VOUCHER, /* INITIATE by somebody who holds another key */
    SCRIPT_OPERATIONS,
};

struct curve_script {
    struct curve_client client;
    struct curve_server_side server;
    struct buf out, in, last; /* last: the last frame, for REPLAY */
    struct buf sealed;        /* honest messages, each followed by a newline */
    struct buf log;           /* one letter per answer: W, R, E, P(ONG), '-' none, C closed */
    int stage;                /* 0 HELLO, 1 INITIATE, 2 messages */
};

static inline void script_add_frame(struct buf *out, unsigned flags, const uint8_t *body, size_t size)
{
    uint8_t head[9] = { (uint8_t)(flags | 2), [7] = (uint8_t)(size >> 8), [8] = (uint8_t)size };
    if (size < 256)
        head[0] = (uint8_t)(flags & ~2u), head[1] = (uint8_t)size;
    buf_add(out, head, size < 256 ? 2 : 9);
    buf_add(out, body, size);
}

/* The letter of the newest answer. */
static inline char script_answer(struct curve_script *script)
{
    const char *at = script->in.data, *end = at + script->in.size;
    char letter = '-';
    while (end - at >= 2) {
        size_t head = at[0] & 2 ? 9 : 2, size = at[0] & 2 ? (size_t)(uint8_t)at[7] << 8 | (uint8_t)at[8] : (uint8_t)at[1];
        const char *body = at + head;
        letter = size < 8 ? '?' : !memcmp(body, "\7WELCOME", 8) ? 'W' : !memcmp(body, "\5READY", 6) ? 'R'
            : !memcmp(body, "\5ERROR", 6) ? 'E' : !memcmp(body, "\7MESSAGE", 8) ? 'P' : '?';
        if (letter == 'W' && !curve_client_welcome(&script->client, (const uint8_t *)body))
            letter = '!';
        at = body + size;
    }
    return letter;
}

/* Sends what is prepared. false: the connection is closed. */
static inline bool script_send(struct curve_script *script)
{
    buf_reset(&script->in);
    bool is_open = script->server.exchange(script->server.context, (struct bytes){ script->out.data, script->out.size },
                                           &script->in);
    char letter = script_answer(script);
    buf_reset(&script->out);
    script->stage = letter == 'W' ? 1 : letter == 'R' ? 2 : script->stage;
    buf_add_char(&script->log, is_open ? letter : 'C');
    return is_open;
}

/* The body of the next honest command, with content if there is any. */
static inline size_t script_make(struct curve_script *script, unsigned flags, const struct bytes *content, uint8_t *body)
{
    static const char honest[] = SCRIPT_METADATA;
    struct curve_claim claim = { .metadata = content ? *content : (struct bytes){ honest, sizeof honest } };
    struct bytes text = content ? *content : bytes_of("text");
    if (script->stage == 0)
        return curve_client_hello(&script->client, body) ? CLIENT_HELLO : 0;
    if (script->stage == 1)
        return curve_client_initiate(&script->client, &claim, body) ? CLIENT_INITIATE(claim.metadata.size) : 0;
    return curve_client_message(&script->client, flags, text, body) ? CLIENT_MESSAGE(text.size) : 0;
}

/* An open connection answers PING with PONG: then everything before it has been read. */
static inline void script_add_ping(struct curve_script *script)
{
    uint8_t body[CLIENT_MESSAGE(7)];
    if (script->stage == 2 && curve_client_message(&script->client, 2, (struct bytes){ "\4PING\0\0", 7 }, body))
        script_add_frame(&script->out, 0, body, sizeof body);
}

static inline void script_add_last(struct curve_script *script, unsigned flags, const uint8_t *body, size_t size)
{
    buf_reset(&script->last);
    script_add_frame(&script->last, flags, body, size);
    buf_add(&script->out, script->last.data, script->last.size);
}

/* A step that sends something. */
static inline bool script_step(struct curve_script *script, enum script_operation operation, unsigned argument,
                               struct bytes bytes)
{
    uint8_t body[2048];
    struct curve_pair others, own = script->client.lasting;
    unsigned flags = operation == SCRIPT_CONTENT ? argument : 0;
    if (operation == SCRIPT_RAW) {
        script_add_last(script, argument, (const uint8_t *)bytes.data, bytes.size);
    } else if (operation == SCRIPT_REPLAY) {
        buf_add(&script->out, script->last.data, script->last.size);
    } else {
        if (operation == SCRIPT_VOUCHER) {
            crypto_box_keypair(others.public_key, others.secret_key);
            memcpy(script->client.lasting.secret_key, others.secret_key, sizeof others.secret_key);
        }
        bool is_message = script->stage == 2, is_flipped = operation == SCRIPT_FLIP && bytes.size >= 2;
        size_t size = script_make(script, flags, operation == SCRIPT_CONTENT ? &bytes : NULL, body);
        if (is_message && !is_flipped && !(flags & 2)) {
            struct bytes text = operation == SCRIPT_CONTENT ? bytes : bytes_of("text");
            buf_add(&script->sealed, text.data, text.size);
            if (!(flags & 1))
                buf_add_char(&script->sealed, '\n');
        }
        if (is_flipped && size)
            body[((size_t)(uint8_t)bytes.data[0] << 8 | (uint8_t)bytes.data[1]) % size] ^= (uint8_t)(1u << argument % 8);
        script_add_last(script, is_message ? 0 : 4, body, size);
        script->client.lasting = own;
    }
    script_add_ping(script);
    return script_send(script);
}

static inline void script_init(struct curve_script *script, const uint8_t server_key[CURVE_KEY], struct curve_server_side server)
{
    *script = (struct curve_script){ .server = server };
    curve_client_init(&script->client, server_key);
    struct buf *all[] = { &script->out, &script->in, &script->last, &script->sealed, &script->log };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_init(all[i], 1 << 20);
}

static inline void script_clear(struct curve_script *script)
{
    struct buf *all[] = { &script->out, &script->in, &script->last, &script->sealed, &script->log };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_clear(all[i]);
}

static inline void script_run(struct curve_script *script, struct bytes left)
{
    char greeting[64] = "\xff\0\0\0\0\0\0\0\1\x7f\3\1" "CURVE";
    bool is_open = true;
    buf_add(&script->out, greeting, sizeof greeting); /* goes with the first step */
    while (is_open && left.size >= 3) {
        enum script_operation operation = (uint8_t)left.data[0] % SCRIPT_OPERATIONS;
        unsigned argument = (uint8_t)left.data[1];
        size_t size = (uint8_t)left.data[2] < left.size - 3 ? (uint8_t)left.data[2] : left.size - 3;
        struct bytes bytes = { left.data + 3, size };
        left = (struct bytes){ bytes.data + size, left.size - 3 - size };
        if (operation == SCRIPT_SKIP)
            script->client.number += argument;
        else if (operation == SCRIPT_BACK)
            script->client.number -= argument < script->client.number ? argument : script->client.number;
        else
            is_open = script_step(script, operation, argument, bytes);
    }
}

#endif
