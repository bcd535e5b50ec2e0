/* Where a sample's row goes: a path made of a template and of what the sample is. */
#ifndef SONDE_SINKS_CSV_PATH_H
#define SONDE_SINKS_CSV_PATH_H

#include "base/buf.h"

struct csv_path {
    const char *user, *job, *host, *set, *instance, *container;
};

/* OK, or USAGE with a sentence in error: a word in %{…} that there is not, or a path that leaves the folder. */
enum err csv_path_check(const char *template, struct buf *error);

/* Adds the path. What a part is made of is written with letters, digits and ._-+@=,: alone, others as '_'; a part that is
 * empty as "-"; none begins with a dot. */
void csv_path_add(struct buf *path, const char *template, const struct csv_path *place);

#endif
