/* An exec leaves up to three records, in this order of time: exec (by the old image; or spawn, by the parent),
 * kernel_exec (from the proc connector) and image (by the probe in the new image). Each may be missing. */
#include "merge/process_image.h"

#include "base/clock.h"
#include "base/vec.h"

#include <stdlib.h>

#define SKEW_NS NS_PER_MS

static struct process_image *add(struct process_images *images, uint32_t instance)
{
    if (images->count == images->capacity) {
        uint32_t capacity = images->capacity ? images->capacity + images->capacity / 2 : 256;
        if (array_resize(images->list, capacity))
            return NULL;
        images->capacity = capacity;
    }
    struct process_image *image = &images->list[images->count++];
    *image = (struct process_image){
        .instance = instance, .exec = NONE, .kernel_exec = NONE, .image = NONE, .parent = NONE, .position = NONE,
    };
    return image;
}

static bool ends_with(struct bytes text, struct bytes end)
{
    return end.size <= text.size && (end.size == 0 || memcmp(text.data + text.size - end.size, end.data, end.size) == 0);
}

/* Everything after argv[0]. */
static struct bytes without_first(struct bytes args)
{
    const char *nul = args.size ? memchr(args.data, '\0', args.size) : NULL;
    if (!nul)
        return (struct bytes){ 0 };
    return (struct bytes){ nul + 1, (size_t)(args.data + args.size - nul - 1) };
}

bool process_image_is_announced(const struct record_strings *announced, const struct record_strings *actual)
{
    bool same_path = announced->path.size && bytes_equal(announced->path, actual->path);
    if (bytes_equal(announced->args, actual->args) || same_path || announced->args.size == 0 || actual->args.size == 0)
        return true;
    struct bytes rest = without_first(announced->args);
    if (rest.size)
        return actual->args.size > rest.size && ends_with(actual->args, rest);
    /* A script without arguments: its path is the last argument of the interpreter. */
    return announced->path.size && actual->args.size > announced->path.size
           && ends_with((struct bytes){ actual->args.data, actual->args.size - 1 }, announced->path);
}

static bool is_announced(const struct record_index *records, uint32_t exec, uint32_t image)
{
    struct record_strings announced, actual;
    record_index_strings(records, &records->list[exec], &announced);
    record_index_strings(records, &records->list[image], &actual);
    return process_image_is_announced(&announced, &actual);
}

struct image_search {
    struct process_images *images;
    const struct record_index *records;
    uint32_t instance;
    uint32_t born; /* index of the instance's first image */
};

/* The image of the latest exec; NULL before the first exec. */
static struct process_image *latest(const struct image_search *s)
{
    return s->images->count > s->born + 1 ? &s->images->list[s->images->count - 1] : NULL;
}

static struct process_image *add_exec(struct image_search *s, uint64_t time_ns)
{
    struct process_image *image = add(s->images, s->instance);
    if (image)
        image->start_ns = time_ns;
    return image;
}

static bool is_announced_only(const struct image_search *s, const struct process_image *image)
{
    return image->kernel_exec == NONE && image->image == NONE && s->records->list[image->exec].kind == RECORD_KIND_exec;
}

/* The image has a probe, but its exec record already contained everything. */
static bool is_described_by_exec(const struct image_search *s, const struct process_image *image)
{
    return image->exec != NONE && s->records->list[image->exec].flags & ENTRY_EXEC_COMPLETE;
}

/* If an exec was announced, nothing else was recorded of it, and another exec is announced, then the first one failed:
 * an image without the probe cannot announce an exec. */
static bool take_exec(struct image_search *s, uint32_t index, uint64_t time_ns)
{
    struct process_image *image = latest(s);
    if (!image || !is_announced_only(s, image) || is_described_by_exec(s, image))
        image = add_exec(s, time_ns);
    if (!image)
        return false;
    image->exec = index;
    image->start_ns = time_ns;
    return true;
}

static void take_exec_failed(struct image_search *s)
{
    struct process_image *image = latest(s);
    if (image && is_announced_only(s, image))
        s->images->count--;
}

/* The exec of posix_spawn is the first of the instance, whatever the time of its record. */
static bool take_spawn(struct image_search *s, uint32_t index, uint64_t time_ns)
{
    struct process_image *first = s->images->count > s->born + 1 ? &s->images->list[s->born + 1] : NULL;
    if (!first)
        first = add_exec(s, time_ns);
    if (!first)
        return false;
    if (first->exec == NONE)
        first->exec = index;
    return true;
}

static bool take_kernel_exec(struct image_search *s, uint32_t index, uint64_t time_ns)
{
    struct process_image *image = latest(s);
    bool fits = image && image->kernel_exec == NONE
                && (image->image == NONE || time_ns - s->records->list[image->image].time_ns <= SKEW_NS);
    if (!fits)
        image = add_exec(s, time_ns);
    if (!image)
        return false;
    image->kernel_exec = index;
    if (image->exec == NONE || s->records->list[image->exec].kind == RECORD_KIND_spawn)
        image->start_ns = time_ns;
    return true;
}

static bool take_image(struct image_search *s, uint32_t index, uint64_t time_ns)
{
    struct process_image *image = latest(s);
    bool fits = image && image->image == NONE
                && (image->kernel_exec != NONE || image->exec == NONE || is_announced(s->records, image->exec, index));
    if (!fits)
        image = add_exec(s, time_ns);
    if (!image)
        return false;
    image->image = index;
    return true;
}

static bool take(struct image_search *s, uint32_t index)
{
    const struct record_entry *e = &s->records->list[index];
    switch ((enum record_kind)e->kind) {
    case RECORD_KIND_exec: return take_exec(s, index, e->time_ns);
    case RECORD_KIND_exec_failed: take_exec_failed(s); return true;
    case RECORD_KIND_spawn: return take_spawn(s, index, e->time_ns);
    case RECORD_KIND_kernel_exec: return take_kernel_exec(s, index, e->time_ns);
    case RECORD_KIND_image: return take_image(s, index, e->time_ns);
    default: return true;
    }
}

/* Did the forked copy do work of its own before it exec'd? A vfork child had no image to do so. */
static bool did_work(const struct record_index *records, uint32_t exec)
{
    const struct record_entry *e = exec == NONE ? NULL : &records->list[exec];
    return e && e->kind == RECORD_KIND_exec && e->flags & ENTRY_EXEC_COPIED
           && record_index_cpu_us(records, e) >= PROCESS_IMAGE_MIN_US;
}

/* A forked copy that soon exec'd gets no image of its own: what it did counts for the image that it became. It keeps
 * its own image if it used CPU time or started children. */
static void drop_idle_copy(struct image_search *s, const struct process_instance *instance)
{
    struct process_image *born = &s->images->list[s->born], *next = born + 1;
    if (s->images->count < s->born + 2 || instance->first_child_ns < next->start_ns || did_work(s->records, next->exec))
        return;
    next->start_ns = born->start_ns;
    s->images->count--;
    memmove(born, next, (s->images->count - s->born) * sizeof *born);
}

enum err process_images_find(struct process_images *images, struct process_instances *instances,
                             const struct record_index *records)
{
    *images = (struct process_images){ 0 };
    for (uint32_t i = 0; i < instances->count; i++) {
        struct process_instance *instance = &instances->list[i];
        if (instance->is_empty)
            continue;
        struct image_search search = { images, records, i, images->count };
        struct process_image *born = add(images, i);
        if (!born)
            return NOMEM;
        born->start_ns = instance->start_ns;
        for (uint32_t e = instance->first; e != NONE; e = records->list[e].next)
            if (!take(&search, e))
                return NOMEM;
        drop_idle_copy(&search, instance);
        instance->first_image = search.born;
        instance->image_count = images->count - search.born;
    }
    return OK;
}

void process_images_clear(struct process_images *images)
{
    free(images->list);
    *images = (struct process_images){ 0 };
}

uint32_t process_image_at(const struct process_images *images, const struct process_instance *instance, uint64_t time_ns)
{
    /* Binary search for the first image that started later. */
    uint32_t low = instance->first_image + 1, high = instance->first_image + instance->image_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (images->list[middle].start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

uint32_t process_image_first_record(const struct process_images *images, const struct process_instance *instance,
                                    uint32_t index)
{
    if (instance->image_count <= PROCESS_IMAGES_WALK_MAX || index == instance->first_image)
        return instance->first;
    const struct process_image *image = &images->list[index];
    if (image->exec != NONE)
        return image->exec;
    return image->kernel_exec != NONE ? image->kernel_exec : image->image;
}
