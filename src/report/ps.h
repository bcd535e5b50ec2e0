/* The tree of processes on a screen: what sonde ps prints. */
#ifndef SONDE_REPORT_PS_H
#define SONDE_REPORT_PS_H

#include "report/terminal.h"
#include "report/tree.h"
#include "sinks/output.h"

struct ps_view {
    struct terminal terminal;
    uint64_t depth;      /* hide what is deeper; 0: nothing */
    bool args;           /* whole arguments, however long */
    bool threads;
};

/* Draws the tree, which is folded, hidden and sorted as one likes, row after row. GONE, FULL, IO as stream_pass. */
enum err ps_print(const struct tree *tree, const struct ps_view *view, struct stream *stream);

#endif
