/* The list of names, and the words that they make. */
#include "compat/commands/names.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct names_entry *const all[] = {
    &names_colmet_collector, &names_colmet_node,       &names_ldms_ls,
    &names_tau_metric_client, &names_tau_metric_proxy, &names_tau_metric_proxy_run,
};

const struct names_entry *names_find(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;
    for (size_t i = 0; name && i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

void names_add(struct names_words *words, const char *word)
{
    char **grown = reallocarray(words->words, (size_t)words->count + 2, sizeof(char *));
    if (!grown)
        return;
    words->words = grown;
    grown[words->count] = strdup(word);
    words->count += grown[words->count] != NULL;
    grown[words->count] = NULL;
}

void names_refuse(struct buf *message, char **argv)
{
    if (optopt && optopt != 'h')
        buf_printf(message, "-%c is not known, or its value is missing", optopt);
    else
        buf_printf(message, "'%.100s' is not known", argv[optind - 1]);
}

void names_clear(struct names_words *words)
{
    for (int i = 0; i < words->count; i++)
        free(words->words[i]);
    free(words->words);
    *words = (struct names_words){ 0 };
}
