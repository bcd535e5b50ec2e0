/* The labels of a series: {host="n1",job="4711",user="ada",device="eth0"}. */
#ifndef SONDE_MODEL_PROM_LABEL_H
#define SONDE_MODEL_PROM_LABEL_H

#include "base/buf.h"
#include "model/view.h"

/* name="value", escaped; what is not UTF-8 becomes U+FFFD. The first one begins the braces; the caller closes them. */
void prom_label_add(struct buf *out, bool is_first, const char *name, const char *value);

/* The label of an instance of set, which is not "": its name and its value ("cpu3" of the instances "cpu" is cpu="3"). */
const char *prom_label_instance(const struct set *set, const char *instance, const char **name);

/* All labels of an entry, with the braces. */
void prom_label_entry(struct buf *out, const struct view_entry *entry);

#endif
