/* Single quotes around everything that is not known to be safe. */
#include "base/shell.h"

#include "base/utf8.h"

#include <string.h>

/* Arguments end with a NUL or at the end. False: there are no more. */
static bool next_arg(struct bytes *rest, struct bytes *arg)
{
    if (rest->size == 0)
        return false;
    const char *end = memchr(rest->data, '\0', rest->size);
    arg->data = rest->data;
    arg->size = end ? (size_t)(end - rest->data) : rest->size;
    size_t taken = arg->size + (end != NULL);
    *rest = (struct bytes){ rest->data + taken, rest->size - taken };
    return true;
}

static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80 ||
           (c && strchr("_@%+=:,./-", c));
}

static void add_arg(struct buf *out, struct bytes arg)
{
    size_t plain = 0;
    while (plain < arg.size && is_plain((unsigned char)arg.data[plain]))
        plain++;
    /* Invalid UTF-8 is quoted, since it may be printed as \xNN, which the shell must not interpret. */
    if (plain == arg.size && plain > 0 && utf8_valid(arg)) {
        buf_add(out, arg.data, arg.size);
        return;
    }
    buf_add_char(out, '\'');
    for (size_t i = 0; i < arg.size; i++)
        if (arg.data[i] == '\'')
            buf_add_text(out, "'\\''");
        else
            buf_add_char(out, arg.data[i]);
    buf_add_char(out, '\'');
}

void shell_add_args(struct buf *out, struct bytes args)
{
    struct bytes arg;
    for (bool first = true; next_arg(&args, &arg); first = false) {
        if (!first)
            buf_add_char(out, ' ');
        add_arg(out, arg);
    }
}
