/* Fills in findings. */
#include "doctor/finding.h"

#include <stdarg.h>
#include <stdio.h>

void finding_available(struct finding *finding, const char *format, ...)
{
    va_list arguments;
    finding->there = true;
    va_start(arguments, format);
    vsnprintf(finding->detail, sizeof finding->detail, format, arguments);
    va_end(arguments);
}

void finding_missing(struct finding *finding, const char *fix, const char *format, ...)
{
    va_list arguments;
    finding->there = false;
    snprintf(finding->fix, sizeof finding->fix, "%s", fix);
    va_start(arguments, format);
    vsnprintf(finding->reason, sizeof finding->reason, format, arguments);
    va_end(arguments);
}
