/* The path of the file for a sample, from a template. */
#ifndef SONDE_SINKS_CSV_PATH_H
#define SONDE_SINKS_CSV_PATH_H

#include "base/buf.h"

struct csv_path {
    const char *user, *job, *host, *set, *instance, *container;
};

/* USAGE: an unknown placeholder, or a path outside of the directory; error says which. */
enum err csv_path_check(const char *template, struct buf *error);

/* Adds the path. Characters other than letters, digits and ._-+@=,: become '_', an empty value becomes "-", and no
 * value starts with a dot. */
void csv_path_add(struct buf *path, const char *template, const struct csv_path *place);

/* The length of the directory with the user's name in a path that csv_path_add has added for template; 0: there is none. */
size_t csv_path_user_prefix(const char *template, const struct csv_path *place);

#endif
