/* The client's side of tau's socket: asks for metrics, or tells some. For sonde get, track and list-metrics when they talk to a
 * proxy of tau's, and for tau_metric_proxy_run. Never waits for longer than its time. */
#ifndef SONDE_COMPAT_TAU_CLIENT_H
#define SONDE_COMPAT_TAU_CLIENT_H

#include "base/buf.h"
#include "compat/tau/protocol.h"

#define TAU_CLIENT_PATH_MAX 108
#define TAU_CLIENT_METRICS_MAX (1u << 22) /* more are not taken from anybody */

struct tau_client {
    int fd; /* -1: not connected */
};

/* "/tmp/tau_metric_proxy.UID.unix" */
void tau_client_default_path(char path[TAU_CLIENT_PATH_MAX]);

/* A socket's path as all know it by: resolved, and without links. As it was given where that would be too long for a socket. */
#define TAU_CLIENT_RESOLVED_MAX 8192
void tau_client_resolve_path(char resolved[TAU_CLIENT_RESOLVED_MAX], const char *path);

/* must_be_ours: the listener has to be of root or of this user, as in a dir where everybody may make a socket. ABSENT: nobody
 * listens; DENIED; AGAIN: it does not accept; USAGE: the path is too long. */
enum err tau_client_connect(struct tau_client *client, const char *path, bool must_be_ours);
void tau_client_close(struct tau_client *client);

/* Calls each for every metric. CORRUPT: it speaks something else; AGAIN: no answer within 10 s; GONE: it has closed. */
enum err tau_client_list(struct tau_client *client, void (*each)(void *context, const struct tau_descriptor *descriptor),
                         void *context);
enum err tau_client_values(struct tau_client *client, void (*each)(void *context, const struct tau_event *event), void *context);

/* ABSENT: there is none of this name, or it is longer than tau's can be. */
enum err tau_client_value(struct tau_client *client, const char *name, struct tau_event *event);

/* Tells: whose program this is, that there is a metric, by how much a counter has grown (or what a gauge is). */
enum err tau_client_job(struct tau_client *client, const struct tau_job *job);
enum err tau_client_describe(struct tau_client *client, enum tau_metric_type type, const char *name, const char *doc);
enum err tau_client_send_value(struct tau_client *client, const char *name, double value);

#endif
