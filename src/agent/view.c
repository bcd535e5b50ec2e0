/* Users see their own: a job whose user is not known is shown to nobody but the masters. */
#include "agent/view.h"

bool view_shows_job(const struct view *view, const struct job *job)
{
    return view->uid == VIEW_ALL || (view->uid != VIEW_NODE && job && job->uid == view->uid);
}

bool view_shows(const struct view *view, const struct live_entry *entry, const struct job **job)
{
    *job = entry->job && view->jobs ? jobs_find(view->jobs, entry->job) : NULL;
    return !entry->job || view_shows_job(view, *job);
}
