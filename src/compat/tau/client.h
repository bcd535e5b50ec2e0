/* The client's side of tau's socket: queries metrics, or sends them. For sonde get, track and list-metrics with a
 * proxy of tau, and for tau_metric_proxy_run. Every call has a timeout. */
#ifndef SONDE_COMPAT_TAU_CLIENT_H
#define SONDE_COMPAT_TAU_CLIENT_H

#include "base/buf.h"
#include "compat/tau/protocol.h"

#define TAU_CLIENT_PATH_MAX 108
#define TAU_CLIENT_METRICS_MAX (1u << 22) /* more are refused */

struct tau_client {
    int fd; /* -1: not connected */
};

/* "/tmp/tau_metric_proxy.UID.unix" */
void tau_client_default_path(char path[TAU_CLIENT_PATH_MAX]);

/* The absolute path of a socket, without links; without resolving links if that would be too long for a socket. */
#define TAU_CLIENT_RESOLVED_MAX 8192
void tau_client_resolve_path(char resolved[TAU_CLIENT_RESOLVED_MAX], const char *path);

/* must_be_ours: the server must run as root or as this user, for sockets in directories where everybody can create
 * one. ABSENT: nobody listens; DENIED; AGAIN: it does not accept; USAGE: the path is too long. */
enum err tau_client_connect(struct tau_client *client, const char *path, bool must_be_ours);
void tau_client_close(struct tau_client *client);

/* Calls each for every metric. CORRUPT: not the protocol of tau; AGAIN: no reply within 10 s; GONE: it has closed. */
enum err tau_client_list(struct tau_client *client, void (*each)(void *context, const struct tau_descriptor *descriptor),
                         void *context);
enum err tau_client_values(struct tau_client *client, void (*each)(void *context, const struct tau_event *event), void *context);

/* ABSENT: there is none of this name, or the name is too long for tau. */
enum err tau_client_value(struct tau_client *client, const char *name, struct tau_event *event);

/* Sends the job of this program, a metric, the increment of a counter or the value of a gauge. */
enum err tau_client_job(struct tau_client *client, const struct tau_job *job);
enum err tau_client_describe(struct tau_client *client, enum tau_metric_type type, const char *name, const char *doc);
enum err tau_client_send_value(struct tau_client *client, const char *name, double value);

#endif
