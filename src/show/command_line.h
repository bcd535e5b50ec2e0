/* A command's words as one would type them into a shell. */
#ifndef SONDE_SHOW_COMMAND_LINE_H
#define SONDE_SHOW_COMMAND_LINE_H

#include "base/buf.h"

/* Adds the words, one blank between; those that a shell would not take as they are stand in single quotes. words: NUL
 * after each; a last one without counts. What they hold is not made safe for a terminal: page_field, utf8_add_fit do. */
void command_line_add(struct buf *out, struct bytes words);

#endif
