/* The process tree as text: what sonde ps prints. */
#ifndef SONDE_REPORT_PS_H
#define SONDE_REPORT_PS_H

#include "report/terminal.h"
#include "report/tree.h"
#include "sinks/output.h"

struct ps_view {
    struct terminal terminal;
    uint64_t depth;      /* number of levels shown; 0: all */
    bool args;           /* do not truncate arguments */
    bool threads;
};

/* Prints the tree, which may be folded, hidden and sorted before. GONE, FULL, IO as output_write_if_large. */
enum err ps_print(const struct tree *tree, const struct ps_view *view, struct output *stream);

#endif
