/* Configuration files: "key = value" lines, in sections; comments behind '#' or ';', values in quotes where they need it,
 * in which "" is one quote. */
#ifndef SONDE_BASE_CONFIG_FILE_H
#define SONDE_BASE_CONFIG_FILE_H

#include "base/buf.h"

#define CONFIG_FILE_MAX (1u << 20)

/* Who knows what the lines mean. Both return USAGE, with a sentence in why, for what they do not know. */
struct config_target {
    enum err (*section)(void *context, const char *section, struct buf *why); /* it begins; it may stay empty */
    enum err (*set)(void *context, const char *section, const char *key, const char *value, struct buf *why);
    void *context;
};

/* ABSENT, DENIED, IO: it cannot be read; USAGE: why holds "FILE:LINE: reason". */
enum err config_file_read(const struct config_target *target, const char *path, struct buf *why);

/* The same for a text, which is changed; name stands for it in messages. */
enum err config_file_parse(const struct config_target *target, const char *name, char *text, struct buf *why);

/* Values as they are read back exactly. */
void config_file_add_duration(struct buf *out, uint64_t ns); /* "90s", "1500ms", "7ns" */
void config_file_add_value(struct buf *out, const char *value); /* in quotes where it would not survive without */
void config_file_add_quoted(struct buf *out, const char *value);

#endif
