/* Parses the components of cgroup paths, for the batch system parsers. */
#ifndef SONDE_JOBS_CGROUP_PATH_H
#define SONDE_JOBS_CGROUP_PATH_H

#include "base/buf.h"

/* The next component of "/a/b"; advances *at. False at the end, and if the path does not begin with '/' or has an empty
 * component. */
bool cgroup_path_next(const char **at, struct bytes *part);

bool cgroup_path_is(struct bytes part, const char *name);

/* Removes a prefix or suffix. False, and *part unchanged, if it is not there or nothing would be left. */
bool cgroup_path_cut_prefix(struct bytes *part, const char *front);
bool cgroup_path_cut_suffix(struct bytes *part, const char *back);

/* Splits at the last c: "a_b_12" gives "a_b" and "12". False if there is none, or one side would be empty. */
bool cgroup_path_split_last(struct bytes part, char c, struct bytes *before, struct bytes *after);

/* A decimal number and nothing else. */
bool cgroup_path_number(struct bytes part, uint64_t *value);

/* Copies a name. False if it does not fit or has control characters. */
bool cgroup_path_copy(struct bytes part, char *out, size_t size);

#endif
