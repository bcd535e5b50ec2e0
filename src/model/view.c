/* Users see their own jobs. A job whose user is unknown is shown only with VIEW_ALL. */
#include "model/view.h"

bool view_shows_job(const struct view *view, const struct job *job)
{
    return view->uid == VIEW_ALL || (view->uid != VIEW_NODE && job && job->uid == view->uid);
}

bool view_next(const struct view *view, struct view_position *at, struct view_entry *entry)
{
    while (view->source->next(view->context, at, entry))
        if (!entry->job || view_shows_job(view, entry->of))
            return true;
    return false;
}

bool view_next_job(const struct view *view, struct view_position *at, const char **host, const struct job **job)
{
    return view->source->next_job && view->source->next_job(view->context, at, host, job);
}
