/* The keeper of a router's gate. libzmq asks inproc://zeromq.zap.01 whether a peer may come in (ZAP, RFC 27): a message of
 * version, request, domain, address, identity, mechanism and, of CURVE, the peer's public key. What the gate says goes
 * back, and with it the user "KEY NAME", which libzmq then hangs on each message of the peer. */
#include "wire/zmq_module.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define PART_MAX 256
#define USER_MAX (ZMQ_KEY_MAX + 256)

enum part { VERSION, REQUEST, DOMAIN, ADDRESS, IDENTITY, MECHANISM, CREDENTIAL, PARTS };

struct zmq_keeper {
    void *socket;
    struct zmq_gate gate;
    pthread_t thread;
};

struct question {
    char part[PARTS][PART_MAX];
    size_t size[PARTS], count;
};

/* False: the context has ended. */
static bool ask(void *socket, struct question *question)
{
    int more = 1;
    size_t more_size = sizeof more;
    memset(question, 0, sizeof *question);
    for (size_t i = 0; more; i++) {
        char *to = question->part[i < PARTS ? i : PARTS - 1];
        int size;
        do
            size = zmq_recv(socket, i < PARTS ? to : NULL, i < PARTS ? PART_MAX - 1 : 0, 0);
        while (size < 0 && zmq_errno() == EINTR);
        if (size < 0)
            return false;
        if (i < PARTS) {
            question->size[i] = (size_t)size < PART_MAX ? (size_t)size : PART_MAX - 1;
            question->count = i + 1;
        }
        if (zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &more_size) != 0)
            return false;
    }
    return true;
}

static bool allows(const struct zmq_keeper *keeper, const struct question *question, char user[USER_MAX])
{
    char key[ZMQ_KEY_MAX] = "", name[256] = "";
    const char *address = question->part[ADDRESS];
    bool is_curve = !strcmp(question->part[MECHANISM], "CURVE");
    if (question->count <= MECHANISM || (is_curve && question->size[CREDENTIAL] != 32))
        return false;
    if (is_curve && !zmq_z85_encode(key, (const uint8_t *)question->part[CREDENTIAL], 32))
        return false;
    if (!strncmp(address, "::ffff:", 7))
        address += 7;
    if (!keeper->gate.allows(keeper->gate.context, is_curve ? key : NULL, address, name))
        return false;
    snprintf(user, USER_MAX, "%s %s", key, name);
    return true;
}

static void answer(void *socket, const struct question *question, bool is_allowed, const char *user)
{
    const char *status = is_allowed ? "200" : "400", *text = is_allowed ? "" : "not allowed";
    zmq_send(socket, "1.0", 3, ZMQ_SNDMORE);
    zmq_send(socket, question->part[REQUEST], question->size[REQUEST], ZMQ_SNDMORE);
    zmq_send(socket, status, 3, ZMQ_SNDMORE);
    zmq_send(socket, text, strlen(text), ZMQ_SNDMORE);
    zmq_send(socket, user, strlen(user), ZMQ_SNDMORE);
    zmq_send(socket, "", 0, 0);
}

static void *keep(void *argument)
{
    struct zmq_keeper *keeper = argument;
    struct question question;
    while (ask(keeper->socket, &question)) {
        char user[USER_MAX] = "";
        bool is_allowed = allows(keeper, &question, user);
        answer(keeper->socket, &question, is_allowed, user);
    }
    zmq_close(keeper->socket);
    return NULL;
}

/* Signals are for other threads. */
static bool start(struct zmq_keeper *keeper)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(&keeper->thread, NULL, keep, keeper) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

enum err keeper_open(struct zmq_keeper **keeper, void *context, const struct zmq_gate *gate)
{
    struct zmq_keeper *k = calloc(1, sizeof *k);
    if (!k)
        return NOMEM;
    k->gate = *gate;
    k->socket = zmq_socket(context, ZMQ_REP);
    if (k->socket)
        zmq_module_set(k->socket, ZMQ_LINGER, 0);
    if (!k->socket || zmq_bind(k->socket, "inproc://zeromq.zap.01") != 0
        || !start(k)) {
        if (k->socket)
            zmq_close(k->socket);
        free(k);
        return IO;
    }
    *keeper = k;
    return OK;
}

void keeper_close(struct zmq_keeper **keeper)
{
    if (!*keeper)
        return;
    pthread_join((*keeper)->thread, NULL);
    free(*keeper);
    *keeper = NULL;
}
