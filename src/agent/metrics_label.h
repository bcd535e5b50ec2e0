/* The labels of a series: {host="n1",job="4711",user="ada",device="eth0"}. */
#ifndef SONDE_AGENT_METRICS_LABEL_H
#define SONDE_AGENT_METRICS_LABEL_H

#include "agent/live.h"
#include "base/buf.h"
#include "model/job.h"

/* name="value", escaped; what is not UTF-8 becomes U+FFFD. The first one begins the braces; the caller closes them. */
void metrics_label_add(struct buf *out, bool is_first, const char *name, const char *value);

/* All labels of an entry, with the braces. job: NULL when no more than its id is known. */
void metrics_label_entry(struct buf *out, const char *host, const struct live_entry *entry, const struct job *job);

#endif
