/* Commands and nonces as in RFC 26 and as libzmq sends them. */
#include "transport/curve.h"

#include <string.h>

#define MAC crypto_box_MACBYTES
#define SHORT 8  /* bytes of a nonce that count messages and are sent */
#define LONG 16  /* or that are random */
#define HELLO_SIZE 200
#define VOUCH 96
#define HELLO_NAME "\5HELLO"
#define WELCOME_NAME "\7WELCOME"
#define INITIATE_NAME "\10INITIATE"
#define READY_NAME "\5READY"
#define MESSAGE_NAME "\7MESSAGE"
#define MESSAGE_FROM_CLIENT "CurveZMQMESSAGEC"
#define MESSAGE_FROM_SERVER "CurveZMQMESSAGES"
#define METADATA_MAX 128

struct nonce {
    uint8_t bytes[crypto_box_NONCEBYTES];
};

/* A prefix of 16 or 8 characters, and the rest. */
static struct nonce nonce_of(const char *text, const uint8_t *rest)
{
    struct nonce nonce;
    size_t size = strlen(text);
    memcpy(nonce.bytes, text, size);
    memcpy(nonce.bytes + size, rest, sizeof nonce.bytes - size);
    return nonce;
}

static uint64_t read_number(const uint8_t at[SHORT])
{
    uint64_t number = 0;
    for (int i = 0; i < SHORT; i++)
        number = number << 8 | at[i];
    return number;
}

static void write_number(uint8_t at[SHORT], uint64_t number)
{
    for (int i = SHORT; i-- > 0; number >>= 8)
        at[i] = (uint8_t)number;
}

static bool is_command(struct bytes body, const char *name, size_t least)
{
    return body.size >= least && memcmp(body.data, name, strlen(name)) == 0;
}

/* The numbers of boxes increase, so a replayed one is rejected. */
static bool is_next(struct curve *curve, const uint8_t at[SHORT])
{
    uint64_t number = read_number(at);
    if (number <= curve->received)
        return false;
    curve->received = number;
    return true;
}

static bool make_welcome(const struct curve_pair *server, struct curve_handshake *handshake, struct buf *out)
{
    uint8_t plain[CURVE_KEY + CURVE_COOKIE], random[LONG], box[sizeof plain + MAC];
    crypto_box_keypair(handshake->ours.public_key, handshake->ours.secret_key);
    randombytes_buf(handshake->cookie, sizeof handshake->cookie);
    randombytes_buf(random, sizeof random);
    memcpy(plain, handshake->ours.public_key, CURVE_KEY);
    memcpy(plain + CURVE_KEY, handshake->cookie, CURVE_COOKIE);
    struct nonce nonce = nonce_of("WELCOME-", random);
    if (crypto_box_easy(box, plain, sizeof plain, nonce.bytes, handshake->theirs, server->secret_key) != 0)
        return false;
    buf_add(out, WELCOME_NAME, sizeof WELCOME_NAME - 1);
    buf_add(out, random, sizeof random);
    buf_add(out, box, sizeof box);
    return true;
}

/* Name, version 1.0, 72 zeros, the client's transient key, number, a box of 64 zeros. */
enum err curve_read_hello(const struct curve_pair *server, struct curve *curve, struct curve_handshake *handshake,
                          struct bytes hello, struct buf *out)
{
    static const uint8_t zeros[64];
    const uint8_t *at = (const uint8_t *)hello.data, *client = at + 80, *number = client + CURVE_KEY;
    uint8_t plain[sizeof zeros];
    if (hello.size != HELLO_SIZE || !is_command(hello, HELLO_NAME, HELLO_SIZE) || at[6] != 1 || at[7] != 0)
        return CORRUPT;
    struct nonce nonce = nonce_of("CurveZMQHELLO---", number);
    if (!is_next(curve, number)
        || crypto_box_open_easy(plain, number + SHORT, sizeof plain + MAC, nonce.bytes, client, server->secret_key) != 0
        || memcmp(plain, zeros, sizeof plain) != 0)
        return CORRUPT;
    memcpy(handshake->theirs, client, CURVE_KEY);
    return make_welcome(server, handshake, out) ? OK : CORRUPT;
}

/* Did the holder of the client's long-term key vouch that the transient key is its own and that it is talking to us? */
static bool vouches(const struct curve_pair *server, const struct curve_handshake *handshake, const uint8_t client[CURVE_KEY],
                    const uint8_t vouch[VOUCH])
{
    uint8_t plain[2 * CURVE_KEY];
    struct nonce nonce = nonce_of("VOUCH---", vouch);
    return crypto_box_open_easy(plain, vouch + LONG, sizeof plain + MAC, nonce.bytes, client, handshake->ours.secret_key) == 0
        && sodium_memcmp(plain, handshake->theirs, CURVE_KEY) == 0
        && sodium_memcmp(plain + CURVE_KEY, server->public_key, CURVE_KEY) == 0;
}

/* Name, cookie, number, and a box: the client's key, vouch, metadata. */
enum err curve_read_initiate(const struct curve_pair *server, struct curve *curve, const struct curve_handshake *handshake,
                             struct bytes initiate, struct buf *plain, uint8_t client[CURVE_KEY], struct bytes *metadata)
{
    const size_t head = sizeof INITIATE_NAME - 1 + CURVE_COOKIE + SHORT;
    const uint8_t *cookie = (const uint8_t *)initiate.data + sizeof INITIATE_NAME - 1, *number = cookie + CURVE_COOKIE;
    if (!is_command(initiate, INITIATE_NAME, head + MAC + CURVE_KEY + VOUCH)
        || sodium_memcmp(cookie, handshake->cookie, CURVE_COOKIE) != 0 || !is_next(curve, number))
        return CORRUPT;
    size_t size = initiate.size - head - MAC;
    buf_reset(plain);
    uint8_t *opened = (uint8_t *)buf_reserve(plain, size);
    if (!opened)
        return NOMEM;
    struct nonce nonce = nonce_of("CurveZMQINITIATE", number);
    if (crypto_box_beforenm(curve->key, handshake->theirs, handshake->ours.secret_key) != 0
        || crypto_box_open_easy_afternm(opened, number + SHORT, size + MAC, nonce.bytes, curve->key) != 0
        || !vouches(server, handshake, opened, opened + CURVE_KEY))
        return CORRUPT;
    memcpy(client, opened, CURVE_KEY);
    *metadata = (struct bytes){ (const char *)opened + CURVE_KEY + VOUCH, size - CURVE_KEY - VOUCH };
    return OK;
}

/* Name, our next number, and a box. The plain text is already in place, from the box's 17th byte on. */
static void seal(struct curve *curve, const char *name, const char *text, uint8_t *to, size_t size)
{
    size_t name_size = strlen(name);
    uint8_t *number = to + name_size, *box = number + SHORT;
    memcpy(to, name, name_size);
    write_number(number, ++curve->sent);
    struct nonce nonce = nonce_of(text, number);
    crypto_box_detached_afternm(box + MAC, box, box + MAC, size, nonce.bytes, curve->key);
}

void curve_add_ready(struct curve *curve, struct bytes metadata, struct buf *out)
{
    const size_t head = sizeof READY_NAME - 1 + SHORT + MAC;
    uint8_t *to = (uint8_t *)buf_reserve(out, head + metadata.size);
    if (!to)
        return;
    memcpy(to + head, metadata.data, metadata.size);
    seal(curve, READY_NAME, "CurveZMQREADY---", to, metadata.size);
    out->size += head + metadata.size;
}

void curve_add_message(struct curve *curve, unsigned flags, struct bytes message, struct buf *out)
{
    uint8_t *to = (uint8_t *)buf_reserve(out, CURVE_MESSAGE_EXTRA + message.size);
    if (!to)
        return;
    to[CURVE_MESSAGE_EXTRA - 1] = (uint8_t)flags;
    if (message.size)
        memcpy(to + CURVE_MESSAGE_EXTRA, message.data, message.size);
    seal(curve, MESSAGE_NAME, curve->is_client ? MESSAGE_FROM_CLIENT : MESSAGE_FROM_SERVER, to, message.size + 1);
    out->size += CURVE_MESSAGE_EXTRA + message.size;
}

/* Decrypts NAME, number, box into plain: *size bytes. */
static enum err unseal(struct curve *curve, const char *name, const char *text, struct bytes body, struct buf *plain,
                       size_t *size)
{
    size_t head = strlen(name) + SHORT;
    const uint8_t *number = (const uint8_t *)body.data + strlen(name);
    if (!is_command(body, name, head + MAC) || !is_next(curve, number))
        return CORRUPT;
    *size = body.size - head - MAC;
    buf_reset(plain);
    uint8_t *opened = (uint8_t *)buf_reserve(plain, *size + 1);
    if (!opened)
        return NOMEM;
    struct nonce nonce = nonce_of(text, number);
    bool is_genuine = crypto_box_open_easy_afternm(opened, number + SHORT, *size + MAC, nonce.bytes, curve->key) == 0;
    return is_genuine ? OK : CORRUPT;
}

enum err curve_open_message(struct curve *curve, struct bytes body, struct buf *plain, unsigned *flags, struct bytes *message)
{
    size_t size = 0;
    enum err err = unseal(curve, MESSAGE_NAME, curve->is_client ? MESSAGE_FROM_SERVER : MESSAGE_FROM_CLIENT, body, plain, &size);
    if (err || !size)
        return err ? err : CORRUPT;
    *flags = (uint8_t)plain->data[0];
    *message = (struct bytes){ plain->data + 1, size - 1 };
    return OK;
}

/* --- the client's side of the handshake --- */

bool curve_add_hello(const uint8_t server_key[CURVE_KEY], struct curve *curve, struct curve_handshake *handshake,
                     struct buf *out)
{
    static const uint8_t zeros[64];
    uint8_t hello[HELLO_SIZE] = HELLO_NAME "\1", *client = hello + 80, *number = client + CURVE_KEY;
    crypto_box_keypair(handshake->ours.public_key, handshake->ours.secret_key);
    memcpy(client, handshake->ours.public_key, CURVE_KEY);
    write_number(number, ++curve->sent);
    struct nonce nonce = nonce_of("CurveZMQHELLO---", number);
    if (crypto_box_easy(number + SHORT, zeros, sizeof zeros, nonce.bytes, server_key, handshake->ours.secret_key) != 0)
        return false;
    buf_add(out, hello, sizeof hello);
    return true;
}

enum err curve_read_welcome(const uint8_t server_key[CURVE_KEY], struct curve_handshake *handshake, struct bytes welcome)
{
    uint8_t plain[CURVE_KEY + CURVE_COOKIE];
    const size_t head = sizeof WELCOME_NAME - 1 + LONG;
    const uint8_t *random = (const uint8_t *)welcome.data + sizeof WELCOME_NAME - 1;
    if (welcome.size != head + MAC + sizeof plain || !is_command(welcome, WELCOME_NAME, head))
        return CORRUPT;
    struct nonce nonce = nonce_of("WELCOME-", random);
    if (crypto_box_open_easy(plain, random + LONG, MAC + sizeof plain, nonce.bytes, server_key, handshake->ours.secret_key) != 0)
        return CORRUPT;
    memcpy(handshake->theirs, plain, CURVE_KEY);
    memcpy(handshake->cookie, plain + CURVE_KEY, CURVE_COOKIE);
    return OK;
}

/* A box by the client's long-term key: the transient key is its own, and it is talking to this server. */
static bool make_vouch(const struct curve_pair *client, const uint8_t server_key[CURVE_KEY],
                       const struct curve_handshake *handshake, uint8_t vouch[VOUCH])
{
    uint8_t plain[2 * CURVE_KEY];
    randombytes_buf(vouch, LONG);
    memcpy(plain, handshake->ours.public_key, CURVE_KEY);
    memcpy(plain + CURVE_KEY, server_key, CURVE_KEY);
    struct nonce nonce = nonce_of("VOUCH---", vouch);
    return crypto_box_easy(vouch + LONG, plain, sizeof plain, nonce.bytes, handshake->theirs, client->secret_key) == 0;
}

size_t curve_initiate_size(struct bytes metadata)
{
    return sizeof INITIATE_NAME - 1 + CURVE_COOKIE + SHORT + MAC + CURVE_KEY + VOUCH + metadata.size;
}

bool curve_add_initiate(const struct curve_pair *client, const uint8_t server_key[CURVE_KEY], struct curve *curve,
                        const struct curve_handshake *handshake, struct bytes metadata, struct buf *out)
{
    uint8_t plain[CURVE_KEY + VOUCH + METADATA_MAX], box[sizeof plain + MAC], number[SHORT];
    size_t size = CURVE_KEY + VOUCH + metadata.size;
    if (metadata.size > METADATA_MAX || !make_vouch(client, server_key, handshake, plain + CURVE_KEY)
        || crypto_box_beforenm(curve->key, handshake->theirs, handshake->ours.secret_key) != 0)
        return false;
    memcpy(plain, client->public_key, CURVE_KEY);
    memcpy(plain + CURVE_KEY + VOUCH, metadata.data, metadata.size);
    write_number(number, ++curve->sent);
    struct nonce nonce = nonce_of("CurveZMQINITIATE", number);
    crypto_box_easy_afternm(box, plain, size, nonce.bytes, curve->key);
    buf_add(out, INITIATE_NAME, sizeof INITIATE_NAME - 1);
    buf_add(out, handshake->cookie, CURVE_COOKIE);
    buf_add(out, number, sizeof number);
    buf_add(out, box, MAC + size);
    return true;
}

enum err curve_read_ready(struct curve *curve, struct bytes ready, struct buf *plain)
{
    size_t size;
    return unseal(curve, READY_NAME, "CurveZMQREADY---", ready, plain, &size);
}
