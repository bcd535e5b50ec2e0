/* Colmet's way of changing a running node: what configure_colmet.py pushes to port 5557 becomes what sonde ctl would say.
 * Only when it is switched on (colmet = tcp://127.0.0.1:5557): nobody is asked who he is there. */
#ifndef SONDE_COMPAT_COLMET_NODE_CONTROL_H
#define SONDE_COMPAT_COLMET_NODE_CONTROL_H

#include "compat/colmet/metric_names.h"
#include "base/err.h"

struct colmet;

/* Who takes the changes, in the words of agent/control.h. */
struct colmet_control {
    enum err (*answer)(void *context, const char *json, size_t size, struct buf *answer);
    void *context;
};

/* Listens at address. error gets a sentence when it cannot be. */
enum err colmet_open(struct colmet **colmet, const char *address, const struct colmet_control *control, struct buf *error);
int colmet_fd(const struct colmet *colmet); /* readable: call colmet_turn */
void colmet_turn(struct colmet *colmet);
void colmet_close(struct colmet **colmet);

/* A message as a request to control; false: it is none, and error says what it lacks. In any case the caller clears metrics, which
 * has what it names. */
bool colmet_request(struct bytes message, struct buf *request, struct colmet_metrics *metrics, struct buf *error);

#endif
