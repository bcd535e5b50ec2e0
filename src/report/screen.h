/* A full-screen page on a terminal: the alternate screen, key presses, changes of size. */
#ifndef SONDE_REPORT_SCREEN_H
#define SONDE_REPORT_SCREEN_H

#include "base/buf.h"

#include <termios.h>

enum screen_key {
    SCREEN_NONE = 0, /* timeout, or the size has changed: redraw */
    SCREEN_UP = 256, /* smaller ones are characters */
    SCREEN_DOWN,
    SCREEN_PAGE_UP,
    SCREEN_PAGE_DOWN,
    SCREEN_HOME,
    SCREEN_END,
    SCREEN_CLOSED, /* a termination signal, or the terminal was closed */
};

struct screen {
    int in, out;
    int signal_fd;
    struct termios before;
    bool is_open;
    char typed[32]; /* input that has not been processed yet */
    size_t typed_size;
};

/* Takes over the terminal of standard input and output. USAGE: there is none. */
enum err screen_open(struct screen *screen);
void screen_close(struct screen *screen);

size_t screen_lines(const struct screen *screen);

/* Shows page, line by line, and empties it. */
void screen_draw(struct screen *screen, struct buf *page);

/* Waits for a key until this time (CLOCK_MONOTONIC). Ctrl-C and Ctrl-D are SCREEN_CLOSED; Ctrl-Z suspends. */
int screen_key(struct screen *screen, uint64_t until_ns);

#endif
