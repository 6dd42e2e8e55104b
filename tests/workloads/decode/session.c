/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers, kernels and commands of the decoder. */
#include "tests/workloads/decode/session.h"

#include "tests/workloads/decode/decode.metal.h"
#if DECODE_HAS_SPIRV
#include "tests/workloads/decode/decode.comp.h"
#endif

#include <stdio.h>

enum {
    ROW_GROUP_THREADS = 64, /* of the kernels that have one thread per row */
    STAGING_BYTES = 16 << 20,
};

/* The push constants; the norm alone looks at the second. */
struct constants {
    uint32_t width;
    float epsilon;
};

static enum hal_status create_executable(struct session *session)
{
    const uint32_t rows[3] = {ROW_GROUP_THREADS, 1, 1};
    const struct hal_entry_point entry_points[] = {
        {"rms_norm", {MODEL_NORM_THREADS, 1, 1}, sizeof(struct constants), 3},
        {"matrix_vector", {rows[0], rows[1], rows[2]}, sizeof(uint32_t), 5},
        {"silu", {rows[0], rows[1], rows[2]}, sizeof(uint32_t), 1},
        {"residual_add", {rows[0], rows[1], rows[2]}, sizeof(uint32_t), 2},
    };
    static const struct hal_executable_variant variants[] = {
        {HAL_FORMAT_MSL, decode_metal, sizeof decode_metal},
#if DECODE_HAS_SPIRV
        {HAL_FORMAT_SPIRV, decode_spirv, sizeof decode_spirv},
#endif
    };
    const struct hal_executable_desc desc = {
        .label = "decode.metal",
        .variants = variants,
        .variant_count = sizeof variants / sizeof *variants,
        .entry_points = entry_points,
        .entry_point_count = sizeof entry_points / sizeof *entry_points,
    };
    HAL_TRY(hal_executable_create(session->device, &desc, &session->executable));
    HAL_TRY(hal_executable_find(session->executable, "rms_norm", &session->rms_norm));
    HAL_TRY(hal_executable_find(session->executable, "matrix_vector", &session->matrix_vector));
    HAL_TRY(hal_executable_find(session->executable, "silu", &session->silu));
    return hal_executable_find(session->executable, "residual_add", &session->residual_add);
}

static enum hal_status create_buffer(const struct session *session, const char *label,
                                     uint64_t bytes, uint32_t memory, struct hal_buffer **out)
{
    const struct hal_buffer_desc desc = {.label = label, .bytes = bytes, .memory = memory};
    return hal_buffer_create(session->device, &desc, out);
}

static enum hal_status create_state_buffers(struct session *session)
{
    const uint64_t bytes = session->model->width * sizeof(float);
    const uint32_t device = HAL_MEMORY_DEVICE_LOCAL;
    const uint32_t host = HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT;
    HAL_TRY(create_buffer(session, "upload", bytes, host, &session->upload));
    HAL_TRY(
        create_buffer(session, "result", bytes, host | HAL_MEMORY_HOST_CACHED, &session->result));
    HAL_TRY(create_buffer(session, "state", bytes, device, &session->state));
    HAL_TRY(create_buffer(session, "normalized", bytes, device, &session->normalized));
    return create_buffer(session, "projected", bytes, device, &session->projected);
}

/* ---- Submissions -------------------------------------------------------------------------- */

static enum hal_status begin_commands(struct session *session, const char *label)
{
    const struct hal_command_buffer_desc desc = {.label = label, .mode = HAL_ONE_SHOT};
    HAL_TRY(hal_command_buffer_create(session->device, &desc, &session->commands));
    const struct constants constants = {session->model->width, MODEL_EPSILON};
    return hal_command_push_constants(session->commands, 0, &constants, sizeof constants);
}

/* Submits what was recorded and waits until the device has done it. */
static enum hal_status submit_and_wait(struct session *session)
{
    const struct hal_semaphore_value signal = {session->progress, session->submitted + 1};
    const struct hal_submit_desc desc = {
        .signals = &signal,
        .signal_count = 1,
        .commands = &session->commands,
        .command_count = 1,
    };
    HAL_TRY(hal_command_buffer_end(session->commands));
    HAL_TRY(hal_queue_submit(session->device, &desc));
    session->submitted++;
    hal_command_buffer_release(session->commands);
    session->commands = NULL;
    return hal_semaphore_wait(session->progress, session->submitted, HAL_FOREVER);
}

/* Starts an operation: in a command buffer of its own when the last one was submitted. */
static enum hal_status begin_operation(struct session *session, const char *name)
{
    char label[64];
    if (session->commands)
        return HAL_OK;
    if (session->sync == SESSION_SYNC_OP)
        snprintf(label, sizeof label, "token %llu: %s", (unsigned long long)session->token, name);
    else
        snprintf(label, sizeof label, "token %llu", (unsigned long long)session->token);
    return begin_commands(session, label);
}

/* Ends an operation that also ends a layer or a token, or neither. The next one needs its result:
 * the host waits for it here, or a barrier makes the device wait. */
static enum hal_status end_operation(struct session *session, enum session_sync reached)
{
    if (reached >= session->sync)
        return submit_and_wait(session);
    return hal_command_barrier(session->commands, NULL);
}

/* ---- Weights ------------------------------------------------------------------------------ */

/* Fills a device-local buffer through the staging buffer, piece by piece. */
static enum hal_status upload_array(struct session *session, struct hal_buffer *staging,
                                    const void *data, uint64_t bytes, struct hal_buffer *target)
{
    for (uint64_t offset = 0; offset < bytes; offset += STAGING_BYTES) {
        const uint64_t left = bytes - offset;
        const uint64_t piece = left < STAGING_BYTES ? left : STAGING_BYTES;
        HAL_TRY(hal_buffer_write(staging, 0, (const uint8_t *)data + offset, piece));
        HAL_TRY(begin_commands(session, "upload weights"));
        HAL_TRY(hal_command_copy(session->commands, staging, 0, target, offset, piece));
        HAL_TRY(submit_and_wait(session));
    }
    return HAL_OK;
}

static enum hal_status upload_weights(struct session *session)
{
    const struct model *model = session->model;
    const uint64_t vectors = (uint64_t)model->layers * model->width;
    const struct {
        const char *label;
        const void *data;
        uint64_t bytes;
        struct hal_buffer **buffer;
    } arrays[] = {
        {"weights", model->weights, model->layers * model_layer_weights(model), &session->weights},
        {"scales", model->scales, model->layers * model_layer_scales(model) * sizeof(uint16_t),
         &session->scales},
        {"bias", model->bias, vectors * sizeof(float), &session->bias},
        {"gain", model->gain, vectors * sizeof(float), &session->gain},
    };
    struct hal_buffer *staging = NULL;
    enum hal_status status =
        create_buffer(session, "staging", STAGING_BYTES,
                      HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT, &staging);
    for (size_t i = 0; status == HAL_OK && i < sizeof arrays / sizeof *arrays; i++) {
        status = create_buffer(session, arrays[i].label, arrays[i].bytes, HAL_MEMORY_DEVICE_LOCAL,
                               arrays[i].buffer);
        if (status == HAL_OK)
            status =
                upload_array(session, staging, arrays[i].data, arrays[i].bytes, *arrays[i].buffer);
    }
    hal_buffer_release(staging);
    return status;
}

/* ---- Operations --------------------------------------------------------------------------- */

static enum hal_status dispatch(struct session *session, uint32_t entry,
                                const struct hal_binding *bindings, size_t binding_count,
                                uint32_t workgroup_count)
{
    const uint32_t groups[3] = {workgroup_count, 1, 1};
    HAL_TRY(hal_command_push_descriptor_set(session->commands, 0, bindings, binding_count));
    return hal_command_dispatch(session->commands, session->executable, entry, groups);
}

/* A layer's part of an array of all layers. */
static struct hal_binding layer_of(struct hal_buffer *buffer, uint32_t layer, uint64_t bytes)
{
    return (struct hal_binding){buffer, layer * bytes, bytes};
}

static struct hal_binding whole(struct hal_buffer *buffer)
{
    return (struct hal_binding){buffer, 0, HAL_WHOLE_BUFFER};
}

static enum hal_status copy_state(struct session *session, const char *name,
                                  struct hal_buffer *source, struct hal_buffer *target)
{
    HAL_TRY(begin_operation(session, name));
    return hal_command_copy(session->commands, source, 0, target, 0, hal_buffer_bytes(source));
}

static enum hal_status normalize(struct session *session, uint32_t layer)
{
    const struct hal_binding bindings[] = {
        whole(session->state),
        layer_of(session->gain, layer, session->model->width * sizeof(float)),
        whole(session->normalized),
    };
    HAL_TRY(begin_operation(session, "rms_norm"));
    return dispatch(session, session->rms_norm, bindings, 3, 1);
}

static enum hal_status project(struct session *session, uint32_t layer, uint32_t row_groups)
{
    const struct model *model = session->model;
    const struct hal_binding bindings[] = {
        layer_of(session->weights, layer, model_layer_weights(model)),
        layer_of(session->scales, layer, model_layer_scales(model) * sizeof(uint16_t)),
        layer_of(session->bias, layer, model->width * sizeof(float)),
        whole(session->normalized),
        whole(session->projected),
    };
    HAL_TRY(begin_operation(session, "matrix_vector"));
    return dispatch(session, session->matrix_vector, bindings, 5, row_groups);
}

static enum hal_status activate(struct session *session, uint32_t row_groups)
{
    const struct hal_binding bindings[] = {whole(session->projected)};
    HAL_TRY(begin_operation(session, "silu"));
    return dispatch(session, session->silu, bindings, 1, row_groups);
}

static enum hal_status add_residual(struct session *session, uint32_t row_groups)
{
    const struct hal_binding bindings[] = {whole(session->state), whole(session->projected)};
    HAL_TRY(begin_operation(session, "residual_add"));
    return dispatch(session, session->residual_add, bindings, 2, row_groups);
}

/* The four operations of a layer; the caller ends the last one. Where they share a command buffer,
 * a group names them. */
static enum hal_status run_layer(struct session *session, uint32_t layer)
{
    const uint32_t row_groups = (session->model->width + ROW_GROUP_THREADS - 1) / ROW_GROUP_THREADS;
    const bool grouped = session->sync != SESSION_SYNC_OP;
    if (grouped) {
        char label[32];
        snprintf(label, sizeof label, "layer %u", layer);
        HAL_TRY(begin_operation(session, label));
        HAL_TRY(hal_command_debug_begin(session->commands, label, 0));
    }
    HAL_TRY(normalize(session, layer));
    HAL_TRY(end_operation(session, SESSION_SYNC_OP));
    HAL_TRY(project(session, layer, row_groups));
    HAL_TRY(end_operation(session, SESSION_SYNC_OP));
    HAL_TRY(activate(session, row_groups));
    HAL_TRY(end_operation(session, SESSION_SYNC_OP));
    HAL_TRY(add_residual(session, row_groups));
    return grouped ? hal_command_debug_end(session->commands) : HAL_OK;
}

enum hal_status session_decode(struct session *session, uint64_t token, const float *input,
                               float *out_state)
{
    const uint64_t bytes = hal_buffer_bytes(session->state);
    session->token = token;
    HAL_TRY(hal_buffer_write(session->upload, 0, input, bytes));
    HAL_TRY(copy_state(session, "upload", session->upload, session->state));
    HAL_TRY(end_operation(session, SESSION_SYNC_OP));
    for (uint32_t layer = 0; layer < session->model->layers; layer++) {
        HAL_TRY(run_layer(session, layer));
        HAL_TRY(end_operation(session, SESSION_SYNC_LAYER));
    }
    HAL_TRY(copy_state(session, "read back", session->state, session->result));
    HAL_TRY(end_operation(session, SESSION_SYNC_TOKEN));
    return hal_buffer_read(session->result, 0, out_state, bytes);
}

/* ---- Life --------------------------------------------------------------------------------- */

enum hal_status session_init(struct session *session, struct hal_device *device,
                             const struct model *model, enum session_sync sync)
{
    *session = (struct session){.device = device, .model = model, .sync = sync};
    HAL_TRY(hal_semaphore_create(device, "progress", 0, &session->progress));
    HAL_TRY(create_executable(session));
    HAL_TRY(create_state_buffers(session));
    return upload_weights(session);
}

void session_finish(struct session *session)
{
    hal_command_buffer_release(session->commands);
    hal_buffer_release(session->weights);
    hal_buffer_release(session->scales);
    hal_buffer_release(session->bias);
    hal_buffer_release(session->gain);
    hal_buffer_release(session->upload);
    hal_buffer_release(session->result);
    hal_buffer_release(session->state);
    hal_buffer_release(session->normalized);
    hal_buffer_release(session->projected);
    hal_executable_release(session->executable);
    hal_semaphore_release(session->progress);
    *session = (struct session){0};
}
