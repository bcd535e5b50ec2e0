/* Whether delay accounting is on: the time that tasks were blocked for disk I/O, swapping or reclaiming memory. If it
 * is off, these fields of taskstats and /proc are 0 and meaningless. For taskstats_exits.c and `sonde doctor`. */
#ifndef SONDE_PROC_DELAY_ACCOUNTING_H
#define SONDE_PROC_DELAY_ACCOUNTING_H

enum delay_accounting {
    DELAY_ACCOUNTING_UNAVAILABLE,   /* the kernel was built without it, or does not say */
    DELAY_ACCOUNTING_OFF,      /* sysctl kernel.task_delayacct is 0 */
    DELAY_ACCOUNTING_OFF_AT_BOOT, /* before Linux 5.14: boot parameter nodelayacct */
    DELAY_ACCOUNTING_ON,
};

enum delay_accounting delay_accounting_read(const char *root);

#endif
