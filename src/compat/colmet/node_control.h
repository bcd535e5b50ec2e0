/* Accepts Colmet's configuration messages (configure_colmet.py, port 5557) and applies them like `sonde ctl`. Only
 * if enabled with colmet = tcp://127.0.0.1:5557, because the protocol has no authentication. */
#ifndef SONDE_COMPAT_COLMET_NODE_CONTROL_H
#define SONDE_COMPAT_COLMET_NODE_CONTROL_H

#include "compat/colmet/metric_names.h"
#include "base/err.h"

struct colmet;

/* Applies the changes: agent/control.h. */
struct colmet_control {
    enum err (*answer)(void *context, const char *json, size_t size, struct buf *answer);
    void *context;
};

/* Listens at address. On failure error says why. */
enum err colmet_open(struct colmet **colmet, const char *address, const struct colmet_control *control, struct buf *error);
int colmet_fd(const struct colmet *colmet); /* readable: call colmet_turn */
void colmet_turn(struct colmet *colmet);
void colmet_close(struct colmet **colmet);

/* Converts a message to a request for control; false: invalid, error says why. The caller always clears metrics. */
bool colmet_request(struct bytes message, struct buf *request, struct colmet_metrics *metrics, struct buf *error);

#endif
