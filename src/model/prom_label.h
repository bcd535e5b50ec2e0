/* The labels of a series: {host="n1",job="4711",user="ada",device="eth0"}. */
#ifndef SONDE_MODEL_PROM_LABEL_H
#define SONDE_MODEL_PROM_LABEL_H

#include "base/buf.h"
#include "model/view.h"

/* name="value", escaped; invalid UTF-8 becomes U+FFFD. The first label opens the braces; the caller closes them. */
void prom_label_add(struct buf *out, bool is_first, const char *name, const char *value);

/* Name and value of the label for an instance, which is not "": instance "cpu3" of a set with instances "cpu" is cpu="3". */
const char *prom_label_instance(const struct set *set, const char *instance, const char **name);

/* All labels of an entry, with the braces. */
void prom_label_entry(struct buf *out, const struct view_entry *entry);

#endif
