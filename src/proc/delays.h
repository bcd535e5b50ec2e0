/* Whether the kernel counts for how long tasks were delayed (blocked for disk, swapping, reclaiming memory). Where it does
 * not, what taskstats and /proc say of these is 0 and means nothing. Read from /proc, for taskstats_exits.c and for doctor. */
#ifndef SONDE_PROC_DELAYS_H
#define SONDE_PROC_DELAYS_H

enum delays {
    DELAYS_ABSENT,   /* this kernel was built without, or does not tell */
    DELAYS_OFF,      /* sysctl kernel.task_delayacct is 0 */
    DELAYS_BOOT_OFF, /* before Linux 5.14: the boot parameter nodelayacct */
    DELAYS_ON,
};

enum delays delays_find(const char *root);

#endif
