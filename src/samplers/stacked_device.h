/* Detects block devices that are stacked on others (device mapper, md, multipath, loop), from /sys. Their I/O is also
 * counted by the devices below, and a sum must count it once. */
#ifndef SONDE_SAMPLERS_STACKED_DEVICE_H
#define SONDE_SAMPLERS_STACKED_DEVICE_H

#include <stdbool.h>

/* directory: that of the device, "/sys/dev/block/253:0" or "/sys/block/dm-0". False if it does not exist. */
bool stacked_device_check(const char *root, const char *directory);

#endif
