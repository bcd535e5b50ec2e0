/* Configuration files: "key = value" lines in sections; comments after '#' or ';'; values can be quoted, with "" for a
 * quote. */
#ifndef SONDE_BASE_CONFIG_FILE_H
#define SONDE_BASE_CONFIG_FILE_H

#include "base/buf.h"

#define CONFIG_FILE_MAX (1u << 20)

/* Receives what is read. Both functions return USAGE with a message in error for what is unknown or invalid. */
struct config_target {
    enum err (*section)(void *context, const char *section, struct buf *error); /* at its first line; it can be empty */
    enum err (*set)(void *context, const char *section, const char *key, const char *value, struct buf *error);
    void *context;
};

/* ABSENT, DENIED, IO: cannot be read; USAGE: error is "FILE:LINE: reason". */
enum err config_file_read(const struct config_target *target, const char *path, struct buf *error);

/* The same for a string, which is modified; name is used in messages. */
enum err config_file_parse(const struct config_target *target, const char *name, char *text, struct buf *error);

/* Writes values that are read back exactly. */
void config_file_add_duration(struct buf *out, uint64_t ns); /* "90s", "1500ms", "7ns" */
void config_file_add_value(struct buf *out, const char *value); /* quoted if needed */
void config_file_add_quoted(struct buf *out, const char *value);

#endif
