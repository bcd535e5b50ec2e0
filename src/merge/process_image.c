/* An exec leaves up to three records: exec (by the image that goes, or spawn by the parent), kernel_exec (by the
 * connector) and image (by the probe in the image that comes), in this order of time. Each may be missing. */
#include "merge/process_image.h"

#include "base/clock.h"

#include <stdlib.h>

#define SKEW_NS NS_PER_MS

static struct image *add(struct images *images, uint32_t life)
{
    if (images->count == images->room) {
        uint32_t room = images->room ? images->room + images->room / 2 : 256;
        struct image *list = realloc(images->list, room * sizeof *list);
        if (!list)
            return NULL;
        images->list = list;
        images->room = room;
    }
    struct image *image = &images->list[images->count++];
    *image = (struct image){
        .life = life, .exec = NONE, .kernel_exec = NONE, .image = NONE, .parent = NONE, .place = NONE,
    };
    return image;
}

static bool ends_with(struct bytes text, struct bytes end)
{
    return end.size <= text.size && (end.size == 0 || memcmp(text.data + text.size - end.size, end.data, end.size) == 0);
}

/* What follows the first word. */
static struct bytes without_first(struct bytes args)
{
    const char *nul = args.size ? memchr(args.data, '\0', args.size) : NULL;
    if (!nul)
        return (struct bytes){ 0 };
    return (struct bytes){ nul + 1, (size_t)(args.data + args.size - nul - 1) };
}

bool images_is_announced(const struct event_texts *said, const struct event_texts *is)
{
    bool same_path = said->path.size && bytes_equal(said->path, is->path);
    if (bytes_equal(said->args, is->args) || same_path || said->args.size == 0 || is->args.size == 0)
        return true;
    struct bytes rest = without_first(said->args);
    if (rest.size)
        return is->args.size > rest.size && ends_with(is->args, rest);
    /* A script without arguments: its path is the last word of the interpreter's. */
    return said->path.size && is->args.size > said->path.size
           && ends_with((struct bytes){ is->args.data, is->args.size - 1 }, said->path);
}

static bool is_announced(const struct events *events, uint32_t exec, uint32_t image)
{
    struct event_texts said, is;
    event_texts(events, &events->list[exec], &said);
    event_texts(events, &events->list[image], &is);
    return images_is_announced(&said, &is);
}

struct search {
    struct images *images;
    const struct events *events;
    uint32_t life;
    uint32_t born; /* where the life's images begin */
};

/* The latest exec, NULL when there was none yet. */
static struct image *latest(const struct search *s)
{
    return s->images->count > s->born + 1 ? &s->images->list[s->images->count - 1] : NULL;
}

static struct image *add_exec(struct search *s, uint64_t time_ns)
{
    struct image *image = add(s->images, s->life);
    if (image)
        image->start_ns = time_ns;
    return image;
}

static bool is_only_announced(const struct search *s, const struct image *image)
{
    return image->kernel_exec == NONE && image->image == NONE && s->events->list[image->exec].kind == RECORD_KIND_exec;
}

/* It carries the probe and is silent only because all was said of it before. */
static bool is_told_whole(const struct search *s, const struct image *image)
{
    return image->exec != NONE && s->events->list[image->exec].flags & EVENT_WHOLE;
}

/* An exec that was announced and of which nothing else was heard did not happen when another is announced: who was
 * replaced by an image without the probe cannot announce. */
static bool take_exec(struct search *s, uint32_t index, uint64_t time_ns)
{
    struct image *image = latest(s);
    if (!image || !is_only_announced(s, image) || is_told_whole(s, image))
        image = add_exec(s, time_ns);
    if (!image)
        return false;
    image->exec = index;
    image->start_ns = time_ns;
    return true;
}

static void take_exec_failed(struct search *s)
{
    struct image *image = latest(s);
    if (image && is_only_announced(s, image))
        s->images->count--;
}

/* posix_spawn's own exec is the first of the life, wherever its record stands in time. */
static bool take_spawn(struct search *s, uint32_t index, uint64_t time_ns)
{
    struct image *first = s->images->count > s->born + 1 ? &s->images->list[s->born + 1] : NULL;
    if (!first)
        first = add_exec(s, time_ns);
    if (!first)
        return false;
    if (first->exec == NONE)
        first->exec = index;
    return true;
}

static bool take_kernel_exec(struct search *s, uint32_t index, uint64_t time_ns)
{
    struct image *image = latest(s);
    bool fits = image && image->kernel_exec == NONE
                && (image->image == NONE || time_ns - s->events->list[image->image].time_ns <= SKEW_NS);
    if (!fits)
        image = add_exec(s, time_ns);
    if (!image)
        return false;
    image->kernel_exec = index;
    if (image->exec == NONE || s->events->list[image->exec].kind == RECORD_KIND_spawn)
        image->start_ns = time_ns;
    return true;
}

static bool take_image(struct search *s, uint32_t index, uint64_t time_ns)
{
    struct image *image = latest(s);
    bool fits = image && image->image == NONE
                && (image->kernel_exec != NONE || image->exec == NONE || is_announced(s->events, image->exec, index));
    if (!fits)
        image = add_exec(s, time_ns);
    if (!image)
        return false;
    image->image = index;
    return true;
}

static bool take(struct search *s, uint32_t index)
{
    const struct event *e = &s->events->list[index];
    switch ((enum record_kind)e->kind) {
    case RECORD_KIND_exec: return take_exec(s, index, e->time_ns);
    case RECORD_KIND_exec_failed: take_exec_failed(s); return true;
    case RECORD_KIND_spawn: return take_spawn(s, index, e->time_ns);
    case RECORD_KIND_kernel_exec: return take_kernel_exec(s, index, e->time_ns);
    case RECORD_KIND_image: return take_image(s, index, e->time_ns);
    default: return true;
    }
}

/* Had the copy done something of its own when it exec'd, as far as it told? A child of vfork had no image to do so. */
static bool was_busy(const struct events *events, uint32_t exec)
{
    const struct event *e = exec == NONE ? NULL : &events->list[exec];
    return e && e->kind == RECORD_KIND_exec && e->flags & EVENT_COPIED && event_cpu_us(events, e) >= IMAGES_SMALL_US;
}

/* A life that was born as a copy and then exec'd: unless the copy did something of its own, it belongs to the image that
 * it became. */
static void settle(struct search *s, const struct life *life)
{
    struct image *born = &s->images->list[s->born], *next = born + 1;
    if (s->images->count < s->born + 2 || life->first_child_ns < next->start_ns || was_busy(s->events, next->exec))
        return;
    next->start_ns = born->start_ns;
    s->images->count--;
    memmove(born, next, (s->images->count - s->born) * sizeof *born);
}

enum err images_find(struct images *images, struct lives *lives, const struct events *events)
{
    *images = (struct images){ 0 };
    for (uint32_t i = 0; i < lives->count; i++) {
        struct life *life = &lives->list[i];
        if (life->is_empty)
            continue;
        struct search search = { images, events, i, images->count };
        struct image *born = add(images, i);
        if (!born)
            return NOMEM;
        born->start_ns = life->start_ns;
        for (uint32_t e = life->first; e != NONE; e = events->list[e].next)
            if (!take(&search, e))
                return NOMEM;
        settle(&search, life);
        life->image = search.born;
        life->images = images->count - search.born;
    }
    return OK;
}

void images_clear(struct images *images)
{
    free(images->list);
    *images = (struct images){ 0 };
}

uint32_t images_at(const struct images *images, const struct life *life, uint64_t time_ns)
{
    uint32_t low = life->image + 1, high = life->image + life->images; /* the first that began later */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (images->list[middle].start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

uint32_t images_first_event(const struct images *images, const struct life *life, uint32_t index)
{
    if (life->images <= IMAGES_WALKED_MAX || index == life->image)
        return life->first;
    const struct image *image = &images->list[index];
    if (image->exec != NONE)
        return image->exec;
    return image->kernel_exec != NONE ? image->kernel_exec : image->image;
}
