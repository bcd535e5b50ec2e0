/* Whether the kernel counts for how long tasks were delayed (blocked for disk, swapping, reclaiming memory). Where it does
 * not, what taskstats and /proc say of these is 0 and means nothing. Read from /proc, for taskstats_exits.c and for doctor. */
#ifndef SONDE_PROC_DELAY_ACCOUNTING_H
#define SONDE_PROC_DELAY_ACCOUNTING_H

enum delay_accounting {
    DELAY_ACCOUNTING_UNAVAILABLE,   /* this kernel was built without, or does not tell */
    DELAY_ACCOUNTING_OFF,      /* sysctl kernel.task_delayacct is 0 */
    DELAY_ACCOUNTING_OFF_AT_BOOT, /* before Linux 5.14: the boot parameter nodelayacct */
    DELAY_ACCOUNTING_ON,
};

enum delay_accounting delay_accounting_read(const char *root);

#endif
