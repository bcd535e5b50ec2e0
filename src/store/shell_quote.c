/* Quotes arguments and splits them again. Most need no quotes: one table lookup per byte. */
#include "store/shell_quote.h"

#include "base/utf8.h"

#include <string.h>

enum { BARE = 0, QUOTE = 1, ESCAPE = 2 };

/* How a byte makes its word be quoted. Bytes from 0x80 on need nothing if the word is valid UTF-8. */
static unsigned need_of(unsigned char c)
{
    if (c < ' ' || c == 0x7f || c == '\'')
        return ESCAPE;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80)
        return BARE;
    return strchr("_@%+=:,./-", c) ? BARE : QUOTE;
}

static unsigned need_of_word(struct bytes word)
{
    static unsigned char table[256];
    static bool is_filled;
    unsigned need = word.size ? BARE : QUOTE;
    unsigned char high = 0;
    if (!is_filled) {
        for (unsigned c = 0; c < 256; c++)
            table[c] = (unsigned char)need_of((unsigned char)c);
        is_filled = true;
    }
    for (size_t i = 0; i < word.size; i++) {
        need |= table[(unsigned char)word.data[i]];
        high |= (unsigned char)word.data[i];
    }
    return high & 0x80 && !utf8_valid(word) ? ESCAPE : need;
}

/* X(byte, letter): escapes of one letter. */
#define LETTERS(X) X('\n', 'n') X('\t', 't') X('\r', 'r') X('\\', '\\') X('\'', '\'')

static char letter_of(char byte)
{
    switch (byte) {
#define X(b, l) case b: return l;
    LETTERS(X)
#undef X
    default: return '\0';
    }
}

static char byte_of(char letter)
{
    switch (letter) {
#define X(b, l) case l: return b;
    LETTERS(X)
#undef X
    default: return '\0';
    }
}

static void add_escaped(struct buf *text, struct bytes word)
{
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0, size; i < word.size; i += size) {
        unsigned char c = (unsigned char)word.data[i];
        uint32_t code;
        size = utf8_next((struct bytes){ word.data + i, word.size - i }, &code);
        if (size > 1) {
            buf_add(text, word.data + i, size);
            continue;
        }
        size = 1;
        char letter = letter_of((char)c);
        if (letter)
            buf_add(text, (char[]){ '\\', letter }, 2);
        else if (c < ' ' || c >= 0x7f)
            buf_add(text, (char[]){ '\\', 'x', hex[c >> 4], hex[c & 15] }, 4);
        else
            buf_add_char(text, (char)c);
    }
}

static void add_word(struct buf *text, struct bytes word)
{
    unsigned need = need_of_word(word);
    if (need == BARE) {
        buf_add(text, word.data, word.size);
        return;
    }
    buf_add_text(text, need & ESCAPE ? "$'" : "'");
    if (need & ESCAPE)
        add_escaped(text, word);
    else
        buf_add(text, word.data, word.size);
    buf_add_char(text, '\'');
}

void shell_quote_encode(struct buf *text, struct bytes args)
{
    for (size_t at = 0; at < args.size;) {
        const char *end = memchr(args.data + at, 0, args.size - at);
        size_t size = end ? (size_t)(end - args.data) - at : args.size - at;
        if (at)
            buf_add_char(text, ' ');
        add_word(text, (struct bytes){ args.data + at, size });
        at += size + 1;
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes one escape after the backslash at text; returns its size, 0 if it is not one of ours. */
static size_t add_unescaped(struct buf *args, const char *text, size_t size)
{
    char byte = size ? byte_of(text[0]) : '\0';
    if (byte) {
        buf_add_char(args, byte);
        return 1;
    }
    if (size < 3 || text[0] != 'x')
        return 0;
    int high = hex_digit(text[1]), low = hex_digit(text[2]);
    if (high < 0 || low < 0)
        return 0;
    buf_add_char(args, (char)(high << 4 | low));
    return 3;
}

/* Decodes the word at the start of text, without NUL; returns its size in text, 0 if it is not one of ours. */
static size_t decode_word(struct buf *args, struct bytes text)
{
    bool escaped = text.size >= 2 && text.data[0] == '$' && text.data[1] == '\'';
    size_t at = escaped ? 2 : 1;
    if (!escaped && text.data[0] != '\'') {
        const char *end = memchr(text.data, ' ', text.size);
        at = end ? (size_t)(end - text.data) : text.size;
        buf_add(args, text.data, at);
        return at;
    }
    while (at < text.size && text.data[at] != '\'') {
        size_t size = 0;
        if (escaped && text.data[at] == '\\') {
            size = add_unescaped(args, text.data + at + 1, text.size - at - 1);
            if (!size)
                return 0;
        } else {
            buf_add_char(args, text.data[at]);
        }
        at += size + 1;
    }
    return at < text.size ? at + 1 : 0;
}

static bool decode(struct buf *args, struct bytes text)
{
    for (size_t at = 0; at < text.size; at++) {
        size_t size = decode_word(args, (struct bytes){ text.data + at, text.size - at });
        if (!size)
            return false;
        buf_add_char(args, '\0');
        at += size;
        if (at < text.size && text.data[at] != ' ')
            return false;
    }
    return true;
}

void shell_quote_decode(struct buf *args, struct bytes text)
{
    size_t before = args->size;
    if (decode(args, text))
        return;
    args->size = before;
    buf_add(args, text.data, text.size);
    buf_add_char(args, '\0');
}

void shell_quote_escape(struct buf *text, struct bytes bytes)
{
    buf_add_text(text, "$'");
    add_escaped(text, bytes);
    buf_add_char(text, '\'');
}

void shell_quote_unescape(struct buf *bytes, struct bytes text)
{
    size_t before = bytes->size;
    if (text.size && decode_word(bytes, text) == text.size)
        return;
    bytes->size = before;
    buf_add(bytes, text.data, text.size);
}
