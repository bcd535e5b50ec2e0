/* Metric sets as sonde ls and ldms_ls print them: names, a table, values, JSON. */
#ifndef SONDE_REPORT_LS_H
#define SONDE_REPORT_LS_H

#include "api/sets_client.h"

enum ls_form {
    LS_OURS, /* our names and units */
    LS_LDMS, /* LDMS's names of sets, metrics and units */
};

/* Replaces the items by LDMS's: one for each producer of a node ("ada-n1"), with the ids of its jobs; dstat instead of self. */
enum err ls_convert_ldms(struct sets_answer *sets);

/* "n1/netdev/eth0"; for a job "n1/4711/cgroup". */
void ls_name(struct buf *out, const struct sets_answer *sets, const struct sets_item *item, enum ls_form form);

/* The name of the set: "interrupts", or LDMS's "procinterrupts". */
const char *ls_schema(const struct sets_item *item, enum ls_form form);

/* The table of -v: a header, a line for each chosen set, the totals. */
void ls_table(struct buf *out, const struct sets_answer *sets, const bool *chosen, enum ls_form form);

/* The values of -l. */
void ls_values(struct buf *out, const struct sets_answer *sets, const struct sets_item *item, enum ls_form form);

/* The chosen sets with their values, as JSON of the same form as the agent's response. */
void ls_json(struct buf *out, const struct sets_answer *sets, const bool *chosen);

#endif
