/* sink-http.so: the sinks that speak HTTP. They need libcurl, and libsnappy. */
#include "sink/module.h"

extern const struct sink sink_elasticsearch;

SINK_MODULE_EXPORT(&sink_elasticsearch);
