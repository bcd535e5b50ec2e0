/* What the module of tests/base/log.c exports: something that speaks. */
#ifndef TESTS_TOOLS_LOG_MODULE_H
#define TESTS_TOOLS_LOG_MODULE_H

#include <stdint.h>

#define LOG_MODULE_MARK 0x106u

struct log_module {
    uint32_t mark;
    void (*inform)(const char *text);
    void (*warn)(const char *text);
};

#endif
