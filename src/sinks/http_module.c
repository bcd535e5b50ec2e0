/* sink-http.so: the sinks that use HTTP. They need libcurl and libsnappy. */
#include "sinks/sink_module.h"

extern const struct sink sink_elasticsearch, sink_influx, sink_prometheus;

SINK_MODULE_EXPORT(&sink_elasticsearch, &sink_influx, &sink_prometheus);
