/* Who may see what of that which an agent or a collector shows: from who asks (net/http_request.h) to the uid of a view. */
#ifndef SONDE_API_VIEWER_H
#define SONDE_API_VIEWER_H

#include "net/http_request.h"
#include "model/view.h"

/* On this machine each sees the own, on TCP as on the socket; root and the user that this process runs as see all. Of who
 * asks from another machine nobody knows who it is: who listens there on purpose shows all of it, as exporters do. */
uint32_t viewer_of(const struct http_peer *peer);

/* The same for /metrics, which is whole for whoever may reach the port: Prometheus runs as a user of its own. */
uint32_t viewer_of_metrics(const struct http_peer *peer);

#endif
