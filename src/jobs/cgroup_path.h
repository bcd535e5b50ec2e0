/* The parts of a cgroup's path, and what can be in their names: for the parsers of the batch systems. */
#ifndef SONDE_JOBS_CGROUP_PATH_H
#define SONDE_JOBS_CGROUP_PATH_H

#include "base/buf.h"

/* The next part of "/a/b", and *at behind it. False at the end, and for a path that does not begin with '/', or has an
 * empty part. */
bool cgroup_path_next(const char **at, struct bytes *part);

bool cgroup_path_is(struct bytes part, const char *name);

/* Cuts the beginning or the end off. False, and *part as it was, when it is not there, or when nothing would be left. */
bool cgroup_path_cut_prefix(struct bytes *part, const char *front);
bool cgroup_path_cut_suffix(struct bytes *part, const char *back);

/* Parts at the last c: "a_b_12" gives "a_b" and "12". False when there is none, or one side would be empty. */
bool cgroup_path_split_last(struct bytes part, char c, struct bytes *before, struct bytes *after);

/* A decimal number and nothing else. */
bool cgroup_path_number(struct bytes part, uint64_t *value);

/* Copies a name. False when it does not fit or has control characters. */
bool cgroup_path_copy(struct bytes part, char *out, size_t size);

#endif
