/* Arguments and commands, which may contain any bytes, as one line of text quoted for bash. An argument is plain,
 * 'quoted', or $'with \n, \\, \', \xNN'; arguments are separated by one space. Always valid UTF-8. */
#ifndef SONDE_STORE_SHELL_QUOTE_H
#define SONDE_STORE_SHELL_QUOTE_H

#include "base/buf.h"

/* args: a NUL after each; optional after the last. Appends to text. */
void shell_quote_encode(struct buf *text, struct bytes args);

/* The reverse: appends the arguments, a NUL after each. Text that shell_quote_encode did not produce becomes a single
 * argument. */
void shell_quote_decode(struct buf *args, struct bytes text);

/* Any bytes as one argument $'…', and back. Text that shell_quote_escape did not produce is copied. */
void shell_quote_escape(struct buf *text, struct bytes bytes);
void shell_quote_unescape(struct buf *bytes, struct bytes text);

#endif
