/* Pages in which processes hold records back (wire/held_page.h), read from outside. */
#ifndef SONDE_WATCH_HELD_PAGES_H
#define SONDE_WATCH_HELD_PAGES_H

#include "watch/writer.h"

/* Adds the records of all pages in the folder: of processes that were killed, and of those that are still there, which will write
 * them themselves later; a thread that is told of twice is one. Pages stay as they are. */
void held_pages_take(const char *folder, struct writer *writer);

#endif
