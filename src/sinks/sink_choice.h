/* A sink as somebody chose it: "csv:path=/var/log/sonde.csv". From an option or a configuration file to an open sink. */
#ifndef SONDE_SINKS_SINK_CHOICE_H
#define SONDE_SINKS_SINK_CHOICE_H

#include "model/setting_list.h"
#include "sinks/sink.h"

struct sink_choice {
    const struct sink *sink;
    struct setting_list settings;
};

/* "NAME" or "NAME:KEY=VALUE,KEY=VALUE". Loads the sink's module where it has one. USAGE: nothing is chosen, and error says in
 * one sentence what is wrong: with one setting, or with all of them together. */
enum err sink_choice_parse(struct sink_choice *choice, const char *text, struct buf *error);

/* Whether it could be opened now, as far as can be seen without writing anything or connecting to anybody. Else error says error. */
enum err sink_choice_check(const struct sink_choice *choice, struct buf *error);
void sink_choice_clear(struct sink_choice *choice);
enum err sink_choice_copy(struct sink_choice *copy, const struct sink_choice *choice);
bool sink_choice_equal(const struct sink_choice *a, const struct sink_choice *b);

/* The value of this setting is shown to nobody. */
bool sink_choice_is_secret(const char *key);

/* Adds it as it was written, without what is secret: what is shown here stands in logs. */
void sink_choice_write(const struct sink_choice *choice, struct buf *out);

/* The same as a line of a configuration. */
void sink_choice_write_line(const struct sink_choice *choice, struct buf *out);

/* Makes a state and opens it; a sink that has the setting "append" is told to. The state borrows the texts of choice; it is
 * ended with sink_choice_close. On an error error gets the reason alone. */
enum err sink_choice_open(const struct sink_choice *choice, void **state, struct buf *error);

/* Calls the sink's close and frees the state. Takes NULL. */
void sink_choice_close(const struct sink_choice *choice, void **state);

/* What the sink itself says of its last failure, or the text of err. */
const char *sink_choice_message(const struct sink_choice *choice, const void *state, enum err err);

#endif
