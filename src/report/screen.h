/* A full-screen page on a terminal: the alternate screen, keys as they are pressed, sizes that change. */
#ifndef SONDE_REPORT_SCREEN_H
#define SONDE_REPORT_SCREEN_H

#include "base/buf.h"

#include <termios.h>

enum screen_key {
    SCREEN_NONE = 0, /* the time is over, or the size has changed: draw anew */
    SCREEN_UP = 256, /* smaller ones are characters */
    SCREEN_DOWN,
    SCREEN_PAGE_UP,
    SCREEN_PAGE_DOWN,
    SCREEN_HOME,
    SCREEN_END,
    SCREEN_CLOSED, /* a signal to end, or the terminal is gone */
};

struct screen {
    int in, out;
    int signal_fd;
    struct termios before;
    bool is_open;
    char typed[32]; /* keys that came together and are not taken yet */
    size_t typed_size;
};

/* Takes over the terminal of standard input and output. USAGE: there is none. */
enum err screen_open(struct screen *screen);
void screen_close(struct screen *screen);

size_t screen_lines(const struct screen *screen);

/* Shows page, line by line, and empties it. */
void screen_draw(struct screen *screen, struct buf *page);

/* Waits for a key until then (CLOCK_MONOTONIC). Ctrl-C and Ctrl-D are SCREEN_CLOSED; Ctrl-Z stops and comes back. */
int screen_key(struct screen *screen, uint64_t until_ns);

#endif
