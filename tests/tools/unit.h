/* What every unit test includes: cmocka with the headers that it forgets. */
#ifndef SONDE_TESTS_TOOLS_UNIT_H
#define SONDE_TESTS_TOOLS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Borrowed bytes are these bytes. */
#define assert_bytes(got, text) \
    do { \
        struct bytes got_ = (got); \
        assert_int_equal(got_.size, sizeof(text) - 1); \
        assert_memory_equal(got_.data, text, sizeof(text) - 1); \
    } while (0)

/* In place of cmocka's skip, whose TAP says "not ok": leaves a test that this machine cannot do, and says why. */
#define leave_out(reason) \
    do { \
        print_message("# left out: %s: %s\n", __func__, reason); \
        return; \
    } while (0)

#endif
