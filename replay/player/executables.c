/* SPDX-License-Identifier: Apache-2.0 */
/* Executables of a plan on the player's device: descriptions as they were recorded, with all
 * variants, so that another device may take another one. */
#include "replay/player/player.h"

#include "hal/base/mem.h"

#include <inttypes.h>
#include <stdio.h>

/* One description with everything that it points to. */
_Static_assert((int)HAL_MAX_WORKGROUP_ARGUMENTS == (int)TRACE_MAX_GROUP_ARGUMENTS,
               "every length is recorded");

struct description {
    struct hal_executable_desc desc;
    struct hal_entry_point *entry_points;
    struct hal_constant *constants;
    struct hal_pipeline_layout **layouts;
    struct hal_executable_variant variants[HAL_MAX_VARIANTS];
    uint8_t *room[HAL_MAX_VARIANTS]; /* for contents that stay in the file */
};

static void finish(struct description *description)
{
    for (size_t i = 0; i < HAL_MAX_VARIANTS; i++)
        free(description->room[i]);
    free(description->entry_points);
    free(description->constants);
    free(description->layouts);
}

/* ---- Layouts ------------------------------------------------------------------------------- */

enum hal_status replay_set_layout_create(struct replay_player *player, uint32_t object)
{
    const struct trace_set_layout_create *created =
        (const void *)player->plan->objects[object].created;
    struct hal_layout_binding bindings[HAL_MAX_BINDINGS];
    for (uint32_t i = 0; i < created->binding_count; i++)
        bindings[i] =
            (struct hal_layout_binding){.index = created->bindings[i].index,
                                        .kind = (enum hal_binding_kind)created->bindings[i].kind,
                                        .flags = created->bindings[i].flags};
    const struct hal_set_layout_desc desc = {.label = replay_object_label(player->plan, object),
                                             .bindings = bindings,
                                             .binding_count = created->binding_count};
    return hal_set_layout_create(player->device, &desc, &player->live[object].set_layout);
}

enum hal_status replay_pipeline_layout_create(struct replay_player *player, uint32_t object)
{
    const struct trace_pipeline_layout_create *created =
        (const void *)player->plan->objects[object].created;
    struct hal_set_layout *sets[HAL_MAX_SETS];
    for (uint32_t i = 0; i < created->set_count; i++)
        sets[i] = player->live[created->sets[i]].set_layout;
    const struct hal_pipeline_layout_desc desc = {.label =
                                                      replay_object_label(player->plan, object),
                                                  .sets = sets,
                                                  .set_count = created->set_count,
                                                  .constant_bytes = created->constant_bytes};
    return hal_pipeline_layout_create(player->device, &desc, &player->live[object].pipeline_layout);
}

/* ---- Executables --------------------------------------------------------------------------- */

static void describe_lists(const struct replay_player *player,
                           const struct trace_executable_create *created,
                           struct description *description)
{
    for (uint32_t i = 0; i < created->entry_point_count; i++) {
        const struct trace_entry_point *point = &created->entry_points[i];
        description->entry_points[i] = (struct hal_entry_point){
            .name = trace_reader_string(player->plan->reader, point->name),
            .workgroup_size = {point->group_size[0], point->group_size[1], point->group_size[2]},
            .constant_bytes = point->constant_bytes,
            .constants_slot = point->constants_slot,
        };
        for (size_t k = 0; k < HAL_MAX_WORKGROUP_ARGUMENTS; k++)
            description->entry_points[i].workgroup_argument_bytes[k] =
                point->group_argument_bytes[k];
        description->layouts[i] = player->live[point->layout].pipeline_layout;
    }
    const struct trace_constant *constants = trace_executable_constants(created);
    for (uint32_t i = 0; i < created->constant_count; i++)
        description->constants[i] =
            (struct hal_constant){.index = constants[i].index,
                                  .type = (enum hal_constant_type)constants[i].type,
                                  .bits = constants[i].bits};
}

static enum hal_status describe_variant(const struct replay_plan *plan,
                                        const struct trace_variant *recorded,
                                        struct description *description)
{
    const size_t i = description->desc.variant_count++;
    size_t room_bytes = 0;
    const uint8_t *data;
    HAL_TRY(
        replay_plan_content(plan, recorded->content, &description->room[i], &room_bytes, &data));
    description->variants[i] = (struct hal_executable_variant){
        (enum hal_executable_format)recorded->format, data, (size_t)recorded->size};
    return HAL_OK;
}

/* Replaces all variants. */
static enum hal_status describe_variants(const struct replay_player *player, uint32_t object,
                                         struct description *description)
{
    const struct replay_plan *plan = player->plan;
    const struct trace_executable_create *created = (const void *)plan->objects[object].created;
    const struct trace_variant taken = {created->content, created->size, created->format, 0};
    const struct replay_substitute *substitute = replay_substitute_of(
        plan, object, player->options.substitutes, player->options.substitute_count);
    if (substitute) {
        description->desc.variant_count = 1;
        description->variants[0] = (struct hal_executable_variant){
            substitute->format, substitute->data, substitute->bytes};
        return HAL_OK;
    }
    HAL_TRY(describe_variant(plan, &taken, description));
    for (uint32_t i = 0; i < created->variant_count; i++)
        HAL_TRY(describe_variant(plan, &trace_executable_variants(created)[i], description));
    return HAL_OK;
}

/* The variant that was taken comes first: a device that runs several of one format takes it. */
static enum hal_status describe(const struct replay_player *player, uint32_t object,
                                struct description *out_description)
{
    struct description *description = out_description;
    const struct replay_plan *plan = player->plan;
    const struct trace_executable_create *created = (const void *)plan->objects[object].created;
    *description = (struct description){
        .entry_points = hal_alloc(created->entry_point_count, sizeof(struct hal_entry_point)),
        .constants = hal_alloc(created->constant_count, sizeof(struct hal_constant)),
        .layouts = hal_alloc(created->entry_point_count, sizeof(void *)),
    };
    if (!description->entry_points || !description->constants || !description->layouts)
        return hal_fail(HAL_NO_MEMORY, "no memory for its entry points");
    describe_lists(player, created, description);
    HAL_TRY(describe_variants(player, object, description));
    description->desc.label = replay_object_label(plan, object);
    description->desc.variants = description->variants;
    description->desc.entry_points = description->entry_points;
    description->desc.layouts = description->layouts;
    description->desc.entry_point_count = created->entry_point_count;
    description->desc.constants = description->constants;
    description->desc.constant_count = created->constant_count;
    return HAL_OK;
}

/* Executables that are created together: few enough that their sources do not fill memory. */
enum { BATCH = 256 };

struct batch {
    struct description *descriptions;
    struct hal_executable_desc descs[BATCH];
    struct hal_executable *executables[BATCH];
    enum hal_status statuses[BATCH];
    uint32_t objects[BATCH];
    size_t count;
};

static enum hal_status describe_batch(const struct replay_player *player, uint32_t *object,
                                      struct batch *batch)
{
    const struct replay_plan *plan = player->plan;
    for (batch->count = 0; *object < plan->object_count && batch->count < BATCH; ++*object) {
        char name[REPLAY_NAME_BYTES];
        const size_t i = batch->count;
        if (plan->objects[*object].kind != REPLAY_EXECUTABLE)
            continue;
        batch->objects[i] = *object;
        batch->count++;
        HAL_TRY(hal_add_context(describe(player, *object, &batch->descriptions[i]), "%s",
                                replay_object_name(plan, *object, name)));
        batch->descs[i] = batch->descriptions[i].desc;
    }
    return HAL_OK;
}

/* The message is that of the first one that failed; the HAL names those that have a label. */
static enum hal_status make_batch(struct replay_player *player, struct hal_executable_cache *cache,
                                  bool only_compile, struct batch *batch)
{
    memset(batch->executables, 0, sizeof batch->executables);
    const enum hal_status status =
        only_compile
            ? hal_executable_cache_compile(cache, batch->descs, batch->count, NULL, batch->statuses)
            : hal_executable_cache_prepare(cache, batch->descs, batch->count, NULL,
                                           batch->executables, batch->statuses);
    size_t failed = batch->count;
    for (size_t i = batch->count; i-- > 0;) {
        player->live[batch->objects[i]].executable = batch->executables[i];
        if (batch->statuses[i] != HAL_OK)
            failed = i;
    }
    char name[REPLAY_NAME_BYTES];
    if (failed < batch->count && !replay_object_label(player->plan, batch->objects[failed]))
        hal_add_context(status, "%s",
                        replay_object_name(player->plan, batch->objects[failed], name));
    /* Also where the compiler gave up: nothing has run that could differ. */
    return status == HAL_FAILED ? HAL_UNSUPPORTED : status;
}

static void finish_batch(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        finish(&batch->descriptions[i]);
}

static enum hal_status make_all(struct replay_player *player, bool only_compile,
                                struct batch *batch)
{
    struct hal_executable_cache *cache;
    HAL_TRY(hal_executable_cache_create(player->device, NULL, &cache));
    enum hal_status status = HAL_OK;
    for (uint32_t object = 1; status == HAL_OK && object < player->plan->object_count;) {
        status = describe_batch(player, &object, batch);
        if (status == HAL_OK)
            status = make_batch(player, cache, only_compile, batch);
        finish_batch(batch);
    }
    hal_executable_cache_release(cache);
    return status;
}

/* ---- Substitutes --------------------------------------------------------------------------- */

static bool takes(const struct hal_entry_info *info, uint32_t set, uint32_t index)
{
    for (size_t i = 0; i < info->binding_count; i++) {
        if (info->bindings[i].set == set && info->bindings[i].index == index)
            return true;
    }
    return false;
}

static bool took(const struct trace_executable_create *created, uint32_t entry, uint32_t set,
                 uint32_t index)
{
    const struct trace_entry_binding *bindings = trace_executable_bindings(created);
    for (uint32_t i = 0; i < created->binding_count; i++) {
        if (bindings[i].entry == entry && bindings[i].set == set && bindings[i].index == index)
            return true;
    }
    return false;
}

/* What is bound is what the recorded kernel took. */
static enum hal_status check_entry(const struct trace_executable_create *created, uint32_t entry,
                                   const struct hal_entry_info *info)
{
    const struct trace_entry_binding *bindings = trace_executable_bindings(created);
    for (uint32_t i = 0; i < created->binding_count; i++) {
        if (bindings[i].entry == entry && !takes(info, bindings[i].set, bindings[i].index))
            return hal_fail(HAL_UNSUPPORTED,
                            "kernel '%s' uses buffer %u of set %u, but its substitute does not",
                            info->name, bindings[i].index, bindings[i].set);
    }
    for (size_t i = 0; i < info->binding_count; i++) {
        if (!took(created, entry, info->bindings[i].set, info->bindings[i].index))
            return hal_fail(HAL_UNSUPPORTED,
                            "kernel '%s' does not use buffer %u of set %u, but its substitute does",
                            info->name, info->bindings[i].index, info->bindings[i].set);
    }
    return HAL_OK;
}

/* As far as the trace knows the kernel's parameters. */
static enum hal_status check_interface(const struct replay_player *player, uint32_t object)
{
    const struct trace_executable_create *created =
        (const void *)player->plan->objects[object].created;
    for (uint32_t i = 0; created->flags & TRACE_FLAG_REFLECTED && i < created->entry_point_count;
         i++) {
        struct hal_entry_info info = {0};
        HAL_TRY(hal_executable_get_entry(player->live[object].executable, i, &info));
        HAL_TRY(check_entry(created, i, &info));
    }
    return HAL_OK;
}

static enum hal_status check_substitutes(const struct replay_player *player)
{
    const struct replay_plan *plan = player->plan;
    for (size_t k = 0; k < player->options.substitute_count; k++) {
        const struct replay_substitute *substitute = &player->options.substitutes[k];
        bool used = false;
        for (uint32_t i = 1; i < plan->object_count; i++) {
            if (plan->objects[i].kind != REPLAY_EXECUTABLE ||
                replay_substitute_of(plan, i, substitute, 1) == NULL)
                continue;
            HAL_TRY(check_interface(player, i));
            used = true;
        }
        if (!used)
            return hal_fail(HAL_NOT_FOUND, "the trace has no kernel or executable '%s'",
                            substitute->kernel);
    }
    return HAL_OK;
}

static enum hal_status make(struct replay_player *player, bool only_compile)
{
    struct batch *batch = hal_alloc(1, sizeof *batch);
    struct description *descriptions = hal_alloc(BATCH, sizeof *descriptions);
    enum hal_status status = HAL_NO_MEMORY;
    if (batch && descriptions) {
        batch->descriptions = descriptions;
        status = make_all(player, only_compile, batch);
    } else {
        hal_fail(HAL_NO_MEMORY, "no memory for the executables");
    }
    free(descriptions);
    free(batch);
    return status;
}

enum hal_status replay_executables_compile(struct replay_player *player)
{
    return make(player, true);
}

enum hal_status replay_executables_create(struct replay_player *player)
{
    HAL_TRY(make(player, false));
    return check_substitutes(player);
}
