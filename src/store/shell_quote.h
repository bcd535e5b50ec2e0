/* Words that may hold any bytes as one line of text, as one would type them in bash: args and commands in the store. A
 * word is bare, 'quoted', or $'with \n, \\, \', \xNN'; a blank between; always valid UTF-8. */
#ifndef SONDE_STORE_SHELL_QUOTE_H
#define SONDE_STORE_SHELL_QUOTE_H

#include "base/buf.h"

/* words: NUL after each; the last may lack it. Adds to text. */
void words_encode(struct buf *text, struct bytes words);

/* The opposite: adds the words, NUL after each. What words_encode did not make is taken as a single word. */
void words_decode(struct buf *words, struct bytes text);

/* Any bytes as one word $'…', whatever they are; and back. What words_escape did not make is taken as it is. */
void words_escape(struct buf *text, struct bytes bytes);
void words_unescape(struct buf *bytes, struct bytes text);

#endif
