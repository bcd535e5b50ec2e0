/* Queries the terminal, the locale and the environment. */
#include "report/terminal.h"

#include "base/parse.h"

#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_MIN 40
#define WIDTH_MAX 1000
#define WIDTH_USUAL 80

static size_t width_of(int fd, bool is_terminal)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    uint64_t width = WIDTH_USUAL;
    if (is_terminal && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        width = size.ws_col;
    else if (columns && parse_u64(columns, &width))
        width = WIDTH_USUAL;
    return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : (size_t)width;
}

static bool wants_colour(bool is_terminal)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return is_terminal && !(no_color && *no_color) && term && *term && strcmp(term, "dumb") != 0;
}

struct terminal terminal_of(int fd)
{
    bool is_terminal = isatty(fd);
    return (struct terminal){
        .is_terminal = is_terminal,
        .colour = wants_colour(is_terminal),
        .utf8 = strcasecmp(nl_langinfo(CODESET), "UTF-8") == 0,
        .width = width_of(fd, is_terminal),
    };
}

const char *terminal_colour(const struct terminal *terminal, enum colour colour)
{
    static const char *const sequences[COLOURS] = {
        [PLAIN] = "\033[0m",   [BOLD] = "\033[1m",    [FAINT] = "\033[2m", [RED] = "\033[31m",
        [GREEN] = "\033[32m",  [YELLOW] = "\033[33m", [BLUE] = "\033[34m",
    };
    return terminal->colour ? sequences[colour] : "";
}

void terminal_add(struct buf *out, const struct terminal *terminal, enum colour colour, const char *text)
{
    bool coloured = colour != PLAIN && terminal->colour;
    if (coloured)
        buf_add_text(out, terminal_colour(terminal, colour));
    buf_add_text(out, text);
    if (coloured)
        buf_add_text(out, terminal_colour(terminal, PLAIN));
}

enum err terminal_write(int fd, struct buf *out)
{
    size_t done = 0;
    enum err err = buf_err(out);
    while (!err && done < out->size) {
        ssize_t size = write(fd, out->data + done, out->size - done);
        if (size >= 0)
            done += (size_t)size;
        else if (errno == EPIPE)
            err = GONE;
        else if (errno != EINTR)
            err = err_from_errno(errno);
    }
    buf_reset(out);
    return err;
}
