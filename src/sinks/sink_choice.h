/* A sink with its settings, as given by --sink or a configuration file: "csv:path=/var/log/sonde.csv". Parses it,
 * and opens and closes the sink. */
#ifndef SONDE_SINKS_SINK_CHOICE_H
#define SONDE_SINKS_SINK_CHOICE_H

#include "model/setting_list.h"
#include "sinks/sink.h"

struct sink_choice {
    const struct sink *sink;
    struct setting_list settings;
};

/* "NAME" or "NAME:KEY=VALUE,KEY=VALUE". Loads the module of the sink, if it has one. USAGE: error says in one
 * sentence which setting or combination is invalid. */
enum err sink_choice_parse(struct sink_choice *choice, const char *text, struct buf *error);

/* Could the sink be opened now, as far as that can be tested without writing or connecting? If not, error says why. */
enum err sink_choice_check(const struct sink_choice *choice, struct buf *error);
void sink_choice_clear(struct sink_choice *choice);
enum err sink_choice_copy(struct sink_choice *copy, const struct sink_choice *choice);
bool sink_choice_equal(const struct sink_choice *a, const struct sink_choice *b);

/* Adds NAME:KEY=VALUE,... with secrets masked, for logs. */
void sink_choice_write(const struct sink_choice *choice, struct buf *out);

/* The same as a line of a configuration file. */
void sink_choice_write_line(const struct sink_choice *choice, struct buf *out);

/* Allocates the state and opens the sink, with append=yes if it has that setting. The state borrows strings from
 * choice; free it with sink_choice_close. On failure error gets the reason. */
enum err sink_choice_open(const struct sink_choice *choice, void **state, struct buf *error);

/* Closes the sink and frees the state, which may be NULL. */
void sink_choice_close(const struct sink_choice *choice, void **state);

/* The sink's own error message, or the text of err if it has none. */
const char *sink_choice_message(const struct sink_choice *choice, const void *state, enum err err);

#endif
