/* Block devices that lie above others (device mapper, md, multipath, loop): what goes through them is counted below too, and
 * once is enough for a sum. Read from /sys. */
#ifndef SONDE_SAMPLERS_STACKED_DEVICE_H
#define SONDE_SAMPLERS_STACKED_DEVICE_H

#include <stdbool.h>

/* folder: the device's, "/sys/dev/block/253:0" or "/sys/block/dm-0". False where it is not there. */
bool stacked_device_check(const char *root, const char *directory);

#endif
