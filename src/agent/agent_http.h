/* The agent's HTTP interface: current values for Prometheus, sonde ls and sonde top; requests of sonde ctl, sonde job
 * and sonde run. Paths and keys: api/schema.h. */
#ifndef SONDE_AGENT_AGENT_HTTP_H
#define SONDE_AGENT_AGENT_HTTP_H

#include "agent/program_metrics.h"
#include "jobs/jobs.h"
#include "model/latest.h"
#include "net/http_request.h"

#include <stdint.h>

#define AGENT_HTTP_SERIES_MAX 200000u /* default limit of one scrape */

/* Borrowed until agent_http_close. */
struct agent_http_context {
    struct latest *live;
    struct jobs *jobs;  /* NULL: no jobs */
    const char *host;   /* its name */
    enum err (*control)(void *context, const char *json, size_t size, struct buf *answer); /* POST /ctl; NULL: refused */
    void *control_context;
    enum err (*run)(void *context, const struct http_request *request, struct buf *answer); /* POST /run; NULL: refused */
    void *run_context;
    void (*job_posted)(void *context); /* called after a POST /job, before its response is sent; may be NULL */
    void *job_posted_context;
    struct program_metrics *programs; /* NULL: program metrics are disabled */
    size_t series_max;         /* limit of one scrape; 0: AGENT_HTTP_SERIES_MAX */
    bool needs_munge;          /* other nodes must authenticate with munge, except for /metrics */
    const char *producer;      /* template of LDMS's producer names, for /sets; NULL: none */
};

struct agent_http; /* listeners and connections */

enum err agent_http_open(struct agent_http **server, const struct agent_http_context *context);

/* AGAIN: the address is in use; USAGE: no such address. Port 0: any free one. */
enum err agent_http_listen_tcp(struct agent_http *server, const char *address, uint16_t port);

/* The socket is removed by agent_http_close. */
enum err agent_http_listen_unix(struct agent_http *server, const char *path);

/* Replaces the program metrics; NULL: none. */
void agent_http_set_programs(struct agent_http *server, struct program_metrics *programs);

/* Limits the series of one scrape; 0: AGENT_HTTP_SERIES_MAX. */
void agent_http_set_series_max(struct agent_http *server, size_t series_max);

/* Whether other nodes must authenticate with munge. */
void agent_http_set_munge(struct agent_http *server, bool is_needed);

/* Replaces the template of LDMS's producer names, borrowed; NULL: none. */
void agent_http_set_producer(struct agent_http *server, const char *producer);

/* Path of the socket; "": none. */
const char *agent_http_socket(const struct agent_http *server);

uint16_t agent_http_port(const struct agent_http *server); /* of the last TCP listener; 0: none */

int agent_http_fd(const struct agent_http *server); /* an epoll descriptor; readable: call agent_http_poll */
void agent_http_poll(struct agent_http *server);    /* never blocks */
void agent_http_close(struct agent_http **server);

#endif
