/* Access control: which jobs the sender of a request (net/http_request.h) may see, as the uid for a view. */
#ifndef SONDE_API_VIEWER_H
#define SONDE_API_VIEWER_H

#include "net/http_request.h"
#include "model/view.h"

/* Local users see their own jobs, over TCP and over the socket; root and the user of this process see all. The user
 * of a remote request is unknown: an agent that listens on a public address shows everything, as exporters do. */
uint32_t viewer_of(const struct http_peer *peer);

/* The same for /metrics, which is complete for everybody who can reach the port: Prometheus runs as its own user. */
uint32_t viewer_of_metrics(const struct http_peer *peer);

/* root and the user of this process, on this node. Only they see settings. */
bool viewer_is_operator(const struct http_peer *peer);

/* With http-munge: a request from another node needs a munge credential ("Authorization: Munge ..."), whose user then counts
 * as the peer's. False: refuse it with 401 and error. */
bool viewer_authenticate(struct http_request *request, struct buf *error);

#endif
