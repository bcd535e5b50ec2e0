/* Quotes words for a shell: from the stored command or arguments to the screen. */
#include "show/command_line.h"

#include <string.h>

static bool is_plain(struct bytes word)
{
    static const char signs[] = "_@%+=:,./-";
    for (size_t i = 0; i < word.size; i++) {
        char c = word.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
        if (!letter && !memchr(signs, c, sizeof signs - 1))
            return false;
    }
    return word.size > 0;
}

static void add_quoted(struct buf *out, struct bytes word)
{
    buf_add_char(out, '\'');
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] == '\'')
            buf_add_text(out, "'\\''");
        else
            buf_add_char(out, word.data[i]);
    }
    buf_add_char(out, '\'');
}

void command_line_add(struct buf *out, struct bytes words)
{
    for (bool first = true; words.size; first = false) {
        const char *end = memchr(words.data, '\0', words.size);
        struct bytes word = { words.data, end ? (size_t)(end - words.data) : words.size };
        size_t taken = word.size + (end != NULL);
        if (!first)
            buf_add_char(out, ' ');
        if (is_plain(word))
            buf_add(out, word.data, word.size);
        else
            add_quoted(out, word);
        words = (struct bytes){ words.data + taken, words.size - taken };
    }
}
