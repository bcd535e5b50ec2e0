/* Blocking calls with a timeout on the socket. */
#include "compat/tau/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define TIMEOUT_S 10

void tau_client_default_path(char path[TAU_CLIENT_PATH_MAX])
{
    snprintf(path, TAU_CLIENT_PATH_MAX, "/tmp/tau_metric_proxy.%u.unix", (unsigned)getuid());
}

/* The socket need not exist yet. */
static char *resolve(const char *path)
{
    char dir[TAU_CLIENT_RESOLVED_MAX], *real = realpath(path, NULL), *resolved = NULL;
    const char *slash = strrchr(path, '/');
    int size = slash ? (int)(slash - path) : 1;
    if (real || (size_t)snprintf(dir, sizeof dir, "%.*s/", size, slash ? path : ".") >= sizeof dir)
        return real;
    real = realpath(dir, NULL);
    if (real && asprintf(&resolved, "%s/%s", strcmp(real, "/") == 0 ? "" : real, slash ? slash + 1 : path) < 0)
        resolved = NULL;
    free(real);
    return resolved;
}

void tau_client_resolve_path(char resolved[TAU_CLIENT_RESOLVED_MAX], const char *path)
{
    char *real = resolve(path), *dir = *path == '/' ? NULL : getcwd(NULL, 0);
    if (real && strlen(real) < TAU_CLIENT_PATH_MAX)
        snprintf(resolved, TAU_CLIENT_RESOLVED_MAX, "%s", real);
    else
        snprintf(resolved, TAU_CLIENT_RESOLVED_MAX, "%s%s%s", dir ? dir : "", dir ? "/" : "", path);
    free(real);
    free(dir);
}

static enum err fail(struct tau_client *client, int number)
{
    tau_client_close(client);
    return number == ECONNREFUSED                        ? ABSENT
           : number == EPIPE || number == ECONNRESET     ? GONE
           : number == EAGAIN || number == EINPROGRESS   ? AGAIN
                                                         : err_from_errno(number);
}

static bool is_ours(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == 0 || peer.uid == geteuid());
}

enum err tau_client_connect(struct tau_client *client, const char *path, bool must_be_ours)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval timeout = { .tv_sec = TIMEOUT_S };
    client->fd = -1;
    if (strlen(path) >= sizeof address.sun_path)
        return USAGE;
    memcpy(address.sun_path, path, strlen(path) + 1);
    client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->fd < 0)
        return fail(client, errno);
    setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (connect(client->fd, (const struct sockaddr *)&address, sizeof address))
        return fail(client, errno);
    return must_be_ours && !is_ours(client->fd) ? fail(client, EACCES) : OK;
}

void tau_client_close(struct tau_client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
}

static enum err send_all(struct tau_client *client, const void *data, size_t size)
{
    const char *at = data;
    while (size) {
        ssize_t part = send(client->fd, at, size, MSG_NOSIGNAL);
        if (part < 0 && errno != EINTR)
            return fail(client, errno);
        at += part > 0 ? part : 0;
        size -= part > 0 ? (size_t)part : 0;
    }
    return OK;
}

static enum err receive_all(struct tau_client *client, void *data, size_t size)
{
    char *at = data;
    while (size) {
        ssize_t part = recv(client->fd, at, size, 0);
        if (part == 0 || (part < 0 && errno != EINTR))
            return fail(client, part == 0 ? ECONNRESET : errno);
        at += part > 0 ? part : 0;
        size -= part > 0 ? (size_t)part : 0;
    }
    return OK;
}

static enum err ask_count(struct tau_client *client, enum tau_message_type type, int32_t *count)
{
    struct tau_message message = { .type = (int32_t)type, .canary = TAU_CANARY };
    enum err err = send_all(client, &message, sizeof message);
    if (!err)
        err = receive_all(client, count, sizeof *count);
    if (!err && (*count < 0 || (uint32_t)*count > TAU_CLIENT_METRICS_MAX)) {
        tau_client_close(client);
        err = CORRUPT;
    }
    return err;
}

enum err tau_client_list(struct tau_client *client, void (*each)(void *context, const struct tau_descriptor *descriptor),
                         void *context)
{
    struct tau_descriptor descriptor;
    int32_t count = 0;
    enum err err = ask_count(client, TAU_LIST_ALL, &count);
    for (int32_t i = 0; i < count && !err; i++) {
        err = receive_all(client, &descriptor, sizeof descriptor);
        descriptor.name[TAU_TEXT_MAX - 1] = descriptor.doc[TAU_TEXT_MAX - 1] = '\0';
        if (!err && descriptor.type != TAU_NULL) /* padding: a metric was removed meanwhile */
            each(context, &descriptor);
    }
    return err;
}

enum err tau_client_values(struct tau_client *client, void (*each)(void *context, const struct tau_event *event), void *context)
{
    struct tau_event event;
    int32_t count = 0;
    enum err err = ask_count(client, TAU_GET_ALL, &count);
    for (int32_t i = 0; i < count && !err; i++) {
        err = receive_all(client, &event, sizeof event);
        event.name[TAU_TEXT_MAX - 1] = '\0';
        if (!err && event.name[0])
            each(context, &event);
    }
    return err;
}

static bool put_text(char text[TAU_TEXT_MAX], const char *from)
{
    size_t size = strlen(from);
    if (size >= TAU_TEXT_MAX)
        return false;
    memcpy(text, from, size + 1);
    return true;
}

enum err tau_client_value(struct tau_client *client, const char *name, struct tau_event *event)
{
    struct tau_message message = { .type = TAU_GET_ONE, .canary = TAU_CANARY };
    if (!put_text(message.descriptor.name, name))
        return ABSENT;
    enum err err = send_all(client, &message, sizeof message);
    if (!err)
        err = receive_all(client, event, sizeof *event);
    event->name[TAU_TEXT_MAX - 1] = '\0';
    return err ? err : event->name[0] ? OK : ABSENT;
}

enum err tau_client_job(struct tau_client *client, const struct tau_job *job)
{
    struct tau_message message = { .type = TAU_JOB, .canary = TAU_CANARY };
    enum err err = send_all(client, &message, sizeof message);
    return err ? err : send_all(client, job, sizeof *job);
}

enum err tau_client_describe(struct tau_client *client, enum tau_metric_type type, const char *name, const char *doc)
{
    struct tau_message message = { .type = TAU_DESC, .canary = TAU_CANARY };
    message.descriptor.type = (int32_t)type;
    if (!put_text(message.descriptor.name, name) || !put_text(message.descriptor.doc, doc))
        return USAGE;
    return send_all(client, &message, sizeof message);
}

enum err tau_client_send_value(struct tau_client *client, const char *name, double value)
{
    struct tau_message message = { .type = TAU_VAL, .canary = TAU_CANARY };
    if (!put_text(message.event.name, name))
        return USAGE;
    message.event.value = value;
    return send_all(client, &message, sizeof message);
}
