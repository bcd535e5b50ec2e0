/* The few string functions that the probes need. libc's would have to be resolved at the start of every process, and
 * their code fetched into cold caches. Sanitizers replace them with versions that crash before the sanitizer is
 * initialised. Nearly all strings here are short. Hidden, so that the program keeps libc's. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef __clang__ /* keep the compiler from turning these loops into calls of the same function */
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    char *at = to;
    for (const char *byte = from, *end = byte + size; byte < end;)
        *at++ = *byte++;
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    char *left = to;
    const char *right = from;
    if ((uintptr_t)to - (uintptr_t)from >= size)
        return memcpy(to, from, size);
    while (size--)
        left[size] = right[size];
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    for (char *at = to, *end = at + size; at < end;)
        *at++ = (char)byte;
    return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
    const unsigned char *left = a, *right = b;
    for (; size; size--, left++, right++)
        if (*left != *right)
            return *left - *right;
    return 0;
}

size_t strlen(const char *text)
{
    const char *end = text;
    while (*end)
        end++;
    return (size_t)(end - text);
}

char *strchrnul(const char *text, int c)
{
    while (*text && *text != (char)c)
        text++;
    return (char *)text;
}

char *strchr(const char *text, int c)
{
    char *at = strchrnul(text, c);
    return *at == (char)c ? at : NULL;
}

char *strrchr(const char *text, int c)
{
    const char *last = NULL;
    for (;; text++) {
        if (*text == (char)c)
            last = text;
        if (!*text)
            return (char *)last;
    }
}

int strncmp(const char *a, const char *b, size_t size)
{
    for (; size && *a && *a == *b; size--)
        a++, b++;
    return size ? (unsigned char)*a - (unsigned char)*b : 0;
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

void *memmem(const void *text, size_t size, const void *part, size_t part_size)
{
    const char *at = text;
    for (; size >= part_size; size--, at++)
        if (memcmp(at, part, part_size) == 0)
            return (void *)at;
    return NULL;
}

char *strstr(const char *text, const char *part)
{
    return memmem(text, strlen(text), part, strlen(part));
}

size_t strnlen(const char *text, size_t most)
{
    size_t size = 0;
    while (size < most && text[size])
        size++;
    return size;
}

size_t strspn(const char *text, const char *set)
{
    const char *at = text;
    while (*at && strchr(set, *at))
        at++;
    return (size_t)(at - text);
}
