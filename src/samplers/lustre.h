/* The statistics of a mounted Lustre file system, parsed. */
#ifndef SONDE_SAMPLERS_LUSTRE_H
#define SONDE_SAMPLERS_LUSTRE_H

#include "model/batch.h"

#define LUSTRE_NAME_MAX 64

extern const struct set lustre_set;

/* Sets what the lines of an llite "stats" file name. Takes any text. */
void lustre_parse(const char *text, struct sample *sample);

/* "scratch-ffff9d1c8a5b7000", or the name as it is when no such thing stands behind it. */
void lustre_file_system(const char *directory, char name[LUSTRE_NAME_MAX]);

#endif
