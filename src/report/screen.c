/* Uses only escape sequences that all common terminals support; no library. */
#include "report/screen.h"

#include "base/clock.h"
#include "report/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LINES_USUAL 24
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J" /* 7: long lines are truncated, not wrapped */
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

static void send_text(const struct screen *screen, const char *text)
{
    struct buf out;
    buf_init(&out, 256);
    buf_add_text(&out, text);
    terminal_write(screen->out, &out);
    buf_clear(&out);
}

static void enter(const struct screen *screen)
{
    struct termios raw = screen->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(screen->in, TCSADRAIN, &raw);
    send_text(screen, ENTER);
}

static void leave(const struct screen *screen)
{
    send_text(screen, LEAVE);
    tcsetattr(screen->in, TCSADRAIN, &screen->before);
}

static sigset_t signals(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP };
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&set, numbers[i]);
    return set;
}

enum err screen_open(struct screen *screen)
{
    sigset_t set = signals();
    *screen = (struct screen){ .in = STDIN_FILENO, .out = STDOUT_FILENO, .signal_fd = -1 };
    if (!isatty(screen->in) || !isatty(screen->out) || tcgetattr(screen->in, &screen->before) < 0)
        return USAGE;
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return err_from_errno(errno);
    screen->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (screen->signal_fd < 0)
        return err_from_errno(errno);
    enter(screen);
    screen->is_open = true;
    return OK;
}

void screen_close(struct screen *screen)
{
    if (!screen->is_open)
        return;
    leave(screen);
    close(screen->signal_fd);
    screen->is_open = false;
}

size_t screen_lines(const struct screen *screen)
{
    struct winsize size;
    return ioctl(screen->out, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : LINES_USUAL;
}

/* Each line clears the rest of its line, and the end the rest of the screen, so that nothing flickers. */
void screen_draw(struct screen *screen, struct buf *page)
{
    struct buf out;
    size_t lines = screen_lines(screen), line = 0, at = 0;
    buf_init(&out, page->size * 2 + 4096);
    buf_add_text(&out, "\033[H");
    while (at < page->size && line < lines) {
        const char *end = memchr(page->data + at, '\n', page->size - at);
        size_t size = end ? (size_t)(end - page->data) - at : page->size - at;
        buf_add_text(&out, line++ ? "\r\n" : "");
        buf_add(&out, page->data + at, size);
        buf_add_text(&out, "\033[K");
        at += size + 1;
    }
    buf_add_text(&out, "\033[J");
    terminal_write(screen->out, &out);
    buf_clear(&out);
    buf_reset(page);
}

static void suspend(struct screen *screen)
{
    leave(screen);
    kill(getpid(), SIGSTOP);
    enter(screen);
}

/* Length of the escape sequence at the beginning: ESC [ ... up to a letter or '~', ESC O and a letter, ESC alone. */
static size_t sequence_size(const char *typed, size_t size)
{
    size_t at = 2;
    if (size < 2 || (typed[1] != '[' && typed[1] != 'O'))
        return 1;
    while (at < size && (typed[at] < '@' || typed[at] > '~'))
        at++;
    return at < size ? at + 1 : size;
}

static int sequence_key(const char *typed, size_t size)
{
    static const struct { const char *sequence; int key; } keys[] = {
        { "\033[A", SCREEN_UP },       { "\033OA", SCREEN_UP },       { "\033[B", SCREEN_DOWN },
        { "\033OB", SCREEN_DOWN },     { "\033[5~", SCREEN_PAGE_UP }, { "\033[6~", SCREEN_PAGE_DOWN },
        { "\033[H", SCREEN_HOME },     { "\033[1~", SCREEN_HOME },    { "\033[F", SCREEN_END },
        { "\033[4~", SCREEN_END },
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (size == strlen(keys[i].sequence) && memcmp(typed, keys[i].sequence, size) == 0)
            return keys[i].key;
    return SCREEN_NONE;
}

/* The first key of the input. */
static int take_key(struct screen *screen)
{
    bool is_sequence = screen->typed[0] == '\033';
    size_t size = is_sequence ? sequence_size(screen->typed, screen->typed_size) : 1;
    int key = is_sequence ? sequence_key(screen->typed, size) : (unsigned char)screen->typed[0];
    screen->typed_size -= size;
    memmove(screen->typed, screen->typed + size, screen->typed_size);
    if (key == 0x1a) {
        suspend(screen);
        return SCREEN_NONE;
    }
    return key == 3 || key == 4 ? SCREEN_CLOSED : key;
}

static int read_key(struct screen *screen)
{
    ssize_t size = read(screen->in, screen->typed, sizeof screen->typed);
    if (size <= 0)
        return size < 0 && errno == EINTR ? SCREEN_NONE : SCREEN_CLOSED;
    screen->typed_size = (size_t)size;
    return take_key(screen);
}

static int read_signal(struct screen *screen)
{
    struct signalfd_siginfo info;
    if (read(screen->signal_fd, &info, sizeof info) != (ssize_t)sizeof info || info.ssi_signo == SIGWINCH)
        return SCREEN_NONE;
    if (info.ssi_signo != SIGTSTP)
        return SCREEN_CLOSED;
    suspend(screen);
    return SCREEN_NONE;
}

int screen_key(struct screen *screen, uint64_t until_ns)
{
    struct pollfd ready[] = { { .fd = screen->in, .events = POLLIN }, { .fd = screen->signal_fd, .events = POLLIN } };
    uint64_t now_ns = clock_monotonic_ns();
    if (screen->typed_size)
        return take_key(screen);
    int wait_ms = until_ns > now_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0;
    if (poll(ready, 2, wait_ms) <= 0)
        return SCREEN_NONE;
    return ready[1].revents ? read_signal(screen) : read_key(screen);
}
