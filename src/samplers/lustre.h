/* Parser of the statistics of a mounted Lustre file system. */
#ifndef SONDE_SAMPLERS_LUSTRE_H
#define SONDE_SAMPLERS_LUSTRE_H

#include "model/batch.h"

#define LUSTRE_NAME_MAX 64

extern const struct set lustre_set;

/* Sets the metrics found in an llite "stats" file. Accepts any text. */
void lustre_parse(const char *text, struct sample *sample);

/* Strips the mount's suffix: "scratch-ffff9d1c8a5b7000" gives "scratch". Other names are copied unchanged. */
void lustre_file_system(const char *directory, char name[LUSTRE_NAME_MAX]);

#endif
