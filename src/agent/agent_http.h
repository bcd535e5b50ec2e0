/* The agent's answers over HTTP: what it holds, for Prometheus, sonde ls and sonde top; what it is told, by sonde ctl and
 * sonde job. */
#ifndef SONDE_AGENT_AGENT_HTTP_H
#define SONDE_AGENT_AGENT_HTTP_H

#include "net/http_request.h"
#include "jobs/jobs.h"
#include "model/live.h"
#include "agent/program_metrics.h"

#include <stdint.h>

#define SERVE_SERIES_MAX 200000u /* of one scrape, unless told otherwise */

/* Borrowed until serve_close. */
struct serve_context {
    struct live *live;
    struct jobs *jobs;  /* NULL: no job is known */
    const char *host;   /* its name */
    enum err (*control)(void *context, const char *json, size_t size, struct buf *answer); /* POST /ctl; NULL: refused */
    void *control_context;
    enum err (*run)(void *context, const struct http_request *request, struct buf *answer); /* POST /run; NULL: refused */
    void *run_context;
    void (*told)(void *context); /* a POST /job was taken, and is to be answered; NULL: nobody wants to know */
    void *told_context;
    struct programs *programs; /* NULL: nobody listens to them */
    size_t series_max;  /* of one scrape; 0: SERVE_SERIES_MAX */
};

struct serve; /* listeners and connections */

enum err serve_open(struct serve **serve, const struct serve_context *context);

/* AGAIN: somebody listens there already; USAGE: no such address. Port 0: one that is free. */
enum err serve_listen_tcp(struct serve *serve, const char *address, uint16_t port);

/* The socket is removed by serve_close. */
enum err serve_listen_unix(struct serve *serve, const char *path);

/* Others to ask of programs; NULL: none. */
void serve_programs(struct serve *serve, struct programs *programs);

/* At most so many series in a scrape from now on; 0: SERVE_SERIES_MAX. */
void serve_limit(struct serve *serve, size_t series_max);

/* The path that it listens at; "": none. */
const char *serve_socket(const struct serve *serve);

uint16_t serve_port(const struct serve *serve); /* of the last TCP listener; 0: none */

int serve_fd(const struct serve *serve); /* an epoll of its own: readable → serve_turn */
void serve_turn(struct serve *serve);    /* never blocks */
void serve_close(struct serve **serve);

#endif
