/* SPDX-License-Identifier: Apache-2.0 */
/* A library that a test loads in the middle of a capture, and calls through. */
__attribute__((visibility("default"))) int late_call(int (*call)(void *user), void *user);

int late_call(int (*call)(void *user), void *user)
{
    const volatile int result = call(user); /* no tail call: this frame is to be seen */
    return result;
}
