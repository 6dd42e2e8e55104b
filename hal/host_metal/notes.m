/* SPDX-License-Identifier: Apache-2.0 */
/* What the document of a capture holds (capture.m). */
#import "hal/host_metal/metal.h"

/* A line per command buffer that ran meanwhile, one per encoder, and one for each of its commands
 * and for the begin and the end of its debug groups, with the labels of all. */
static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *notes;

void hm_notes_begin(const char *path)
{
    pthread_mutex_lock(&notes_lock);
    notes = fopen(path, "w");
    if (notes)
        fputs("captured by the host emulation of Metal: no contents\n", notes);
    pthread_mutex_unlock(&notes_lock);
}

void hm_notes_end(void)
{
    pthread_mutex_lock(&notes_lock);
    if (notes)
        fclose(notes);
    notes = NULL;
    pthread_mutex_unlock(&notes_lock);
}

static const char *label_of(const HMObject *object)
{
    return object && object->_name ? object->_name : "";
}

static void note_marks(const struct hm_step *step, size_t command, size_t *next)
{
    for (; *next < step->mark_count && step->marks[*next].command == command; (*next)++)
        if (step->marks[*next].name)
            fprintf(notes, "    push '%s'\n", step->marks[*next].name);
        else
            fputs("    pop\n", notes);
}

static void note_commands(const struct hm_step *step)
{
    size_t mark = 0;
    for (size_t i = 0; i < step->command_count; i++) {
        const struct hm_command *const command = &step->commands[i];
        note_marks(step, i, &mark);
        switch (command->kind) {
        case HM_COMMAND_FILL: fprintf(notes, "    fill '%s'\n", label_of(command->target)); break;
        case HM_COMMAND_COPY:
            fprintf(notes, "    copy '%s' to '%s'\n", label_of(command->source),
                    label_of(command->target));
            break;
        case HM_COMMAND_DISPATCH:
            fprintf(notes, "    dispatch '%s'\n", label_of(command->pipeline));
            break;
        case HM_COMMAND_SYNCHRONIZE:
        case HM_COMMAND_BARRIER:
        case HM_COMMAND_RESOLVE:
        case HM_COMMAND_SAMPLE: break;
        }
    }
    note_marks(step, step->command_count, &mark);
}

static void note_pass(const struct hm_step *step)
{
    size_t dispatches = 0, transfers = 0;
    for (size_t i = 0; i < step->command_count; i++) {
        const enum hm_command_kind kind = step->commands[i].kind;
        dispatches += kind == HM_COMMAND_DISPATCH;
        transfers += kind == HM_COMMAND_FILL || kind == HM_COMMAND_COPY;
    }
    fprintf(notes, "  encoder '%s': %zu dispatches, %zu transfers\n",
            step->label ? step->label : "", dispatches, transfers);
    note_commands(step);
}

void hm_notes_add(HMCommandBuffer *buffer)
{
    pthread_mutex_lock(&notes_lock);
    if (notes) {
        fprintf(notes, "%s on '%s'\n", hm_name(buffer), label_of(buffer->_queue));
        for (size_t i = 0; i < buffer->_step_count; i++)
            if (buffer->_steps[i]->kind == HM_STEP_PASS)
                note_pass(buffer->_steps[i]);
    }
    pthread_mutex_unlock(&notes_lock);
}
