/* The table of drop-in names, and the arguments they are translated to. */
#include "compat/commands/drop_in.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct drop_in *const all[] = {
    &drop_in_colmet_collector, &drop_in_colmet_node,       &drop_in_ldms_ls,
    &drop_in_tau_metric_client, &drop_in_tau_metric_proxy, &drop_in_tau_metric_proxy_run,
};

const struct drop_in *drop_in_find(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;
    for (size_t i = 0; name && i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

void drop_in_add(struct drop_in_args *args, const char *arg)
{
    if (array_resize(args->args, (size_t)args->count + 2))
        return;
    args->args[args->count] = strdup(arg);
    args->count += args->args[args->count] != NULL;
    args->args[args->count] = NULL;
}

void drop_in_unknown_option(struct buf *message, char **argv)
{
    if (optopt && optopt != 'h')
        buf_printf(message, "unknown option -%c, or its value is missing", optopt);
    else
        buf_printf(message, "unknown argument '%.100s'", argv[optind - 1]);
}

void drop_in_clear(struct drop_in_args *args)
{
    for (int i = 0; i < args->count; i++)
        free(args->args[i]);
    free(args->args);
    *args = (struct drop_in_args){ 0 };
}
