/* Single quotes around what is not plainly harmless. */
#include "base/shell.h"

#include "base/utf8.h"

#include <string.h>

/* Words end with a zero byte, or with the bytes. False: there is none left. */
static bool next_word(struct bytes *rest, struct bytes *word)
{
    if (rest->size == 0)
        return false;
    const char *end = memchr(rest->data, '\0', rest->size);
    word->data = rest->data;
    word->size = end ? (size_t)(end - rest->data) : rest->size;
    size_t taken = word->size + (end != NULL);
    *rest = (struct bytes){ rest->data + taken, rest->size - taken };
    return true;
}

static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80 ||
           (c && strchr("_@%+=:,./-", c));
}

static void add_word(struct buf *out, struct bytes word)
{
    size_t plain = 0;
    while (plain < word.size && is_plain((unsigned char)word.data[plain]))
        plain++;
    if (plain == word.size && plain > 0 && utf8_valid(word)) { /* bad bytes may be shown as \xNN: no shell shall undo that */
        buf_add(out, word.data, word.size);
        return;
    }
    buf_add_char(out, '\'');
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] == '\'')
            buf_add_text(out, "'\\''");
        else
            buf_add_char(out, word.data[i]);
    buf_add_char(out, '\'');
}

void shell_add_args(struct buf *out, struct bytes words)
{
    struct bytes word;
    for (bool first = true; next_word(&words, &word); first = false) {
        if (!first)
            buf_add_char(out, ' ');
        add_word(out, word);
    }
}
