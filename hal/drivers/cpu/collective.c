/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions that take part in collectives. They arrive on a thread of the device that may block,
 * since the last one to arrive moves all ranks' data; none of these threads waits for a rank. */
#include "hal/base/mem.h"
#include "hal/base/message.h"
#include "hal/drivers/cpu/cpu.h"

static struct cpu_collective *of_call(struct hal_thread_call *call)
{
    return (struct cpu_collective *)(void *)((uint8_t *)call -
                                             offsetof(struct cpu_collective, call));
}

static struct cpu_collective *of_participant(struct hal_participant *participant)
{
    return (struct cpu_collective *)(void *)((uint8_t *)participant -
                                             offsetof(struct cpu_collective, participant));
}

static void ended(struct hal_participant *participant, enum hal_status status, const char *message,
                  int64_t begin_ns, int64_t end_ns)
{
    struct cpu_collective *collective = of_participant(participant);
    const struct cpu_moved moved = {participant->arrived_ns, begin_ns,
                                    end_ns ? end_ns : hal_clock_ns()};
    collective->done(collective, status, message, &moved);
}

/* No thread could be started. */
static void not_started(struct cpu_collective *collective, enum hal_status status)
{
    static const struct cpu_moved moved = {0};
    const struct hal_kept_message kept = hal_keep_message();
    hal_rendezvous_fail(&collective->work, status, kept.text);
    collective->done(collective, status, kept.text, &moved);
}

/* On a thread of the device, which is there until it has returned. The participant may be over, and
 * the submission gone, when the call returns; a device that was lost before it has not seen it. */
static void come(struct hal_thread_call *call)
{
    static const struct cpu_moved moved = {0};
    struct cpu_collective *collective = of_call(call);
    struct hal_engine *engine = &collective->device->engine;
    if (collective->failure != HAL_OK) {
        hal_rendezvous_fail(&collective->work, collective->failure, collective->failure_message);
        collective->done(collective, collective->failure, collective->failure_message, &moved);
        return;
    }
    hal_rendezvous_arrive(&collective->participant);
    if (hal_engine_is_lost(engine))
        hal_rendezvous_abort_all(engine, HAL_DEVICE_LOST, engine->why_lost);
}

static struct hal_object *object_of(struct hal_buffer *buffer)
{
    return buffer ? &buffer->object : NULL;
}

void cpu_collective_init(struct cpu_collective *collective, struct cpu_device *device,
                         const struct hal_collective_work *work)
{
    collective->work = *work;
    collective->device = device;
    collective->call.run = come;
    collective->participant = (struct hal_participant){
        .work = &collective->work, .owner = &device->engine, .done = ended};
    if (work->send)
        collective->participant.sent = to_cpu_buffer(work->send)->device_view + work->send_offset;
    if (work->receive)
        collective->participant.received =
            to_cpu_buffer(work->receive)->device_view + work->receive_offset;
    hal_object_retain(object_of(work->send));
    hal_object_retain(object_of(work->receive));
    hal_object_retain(&work->channel->object);
}

void cpu_collective_release(struct cpu_collective *collective)
{
    hal_object_release(object_of(collective->work.send));
    hal_object_release(object_of(collective->work.receive));
    hal_object_release(&collective->work.channel->object);
}

void cpu_collective_start(struct cpu_collective *collective, enum hal_status failure,
                          const char *message)
{
    collective->failure = failure;
    collective->failure_message = message;
    const enum hal_status status = hal_engine_call(&collective->device->engine, &collective->call);
    if (status != HAL_OK)
        not_started(collective, status);
}
