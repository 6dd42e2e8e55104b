/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/sandbox/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everything that is not allowed is denied, the network for one. What a process cannot begin
 * without; what a device of Metal is reached through; nothing of the user's. */
static const char basics[] =
    "(version 1)\n"
    "(deny default)\n"
    "(allow process-info* (target self))\n"
    "(allow signal (target self))\n"
    "(allow sysctl-read)\n"
    "(allow file-read-metadata)\n"
    "(allow file-read* (literal \"/\") (subpath \"/usr/lib\") (subpath \"/usr/share\")\n"
    "  (subpath \"/System\") (subpath \"/private/var/db/dyld\")\n"
    "  (subpath \"/private/var/db/timezone\") (literal \"/dev/null\") (literal \"/dev/zero\")\n"
    "  (literal \"/dev/random\") (literal \"/dev/urandom\"))\n"
    "(allow file-map-executable (subpath \"/usr/lib\") (subpath \"/System\"))\n"
    "(allow file-write-data (literal \"/dev/null\"))\n"
    "(allow iokit-get-properties)\n"
    "(allow iokit-open (iokit-user-client-class \"AGXDeviceUserClient\")\n"
    "  (iokit-user-client-class \"AGXCommandQueue\") (iokit-user-client-class "
    "\"AGXSharedUserClient\")\n"
    "  (iokit-user-client-class \"IOAccelDevice2\") (iokit-user-client-class \"IOAccelContext2\")\n"
    "  (iokit-user-client-class \"IOAccelCommandQueue2\")\n"
    "  (iokit-user-client-class \"IOAccelSharedUserClient2\")\n"
    "  (iokit-user-client-class \"IOSurfaceRootUserClient\"))\n"
    "(allow mach-lookup (xpc-service-name \"com.apple.MTLCompilerService\")\n"
    "  (global-name \"com.apple.MTLCompilerService\") (global-name \"com.apple.cvmsServ\"))\n";

/* A profile's text cannot contain control characters: a path with some gets no rule. */
static bool can_be_said(const char *path)
{
    for (; *path; path++) {
        if ((unsigned char)*path < ' ' || *path == 0x7f)
            return false;
    }
    return true;
}

/* "(allow OPERATIONS (FILTER "path"))" */
static void allow(FILE *out, const char *operation, const char *filter, const char *path)
{
    if (!path || !path[0] || !can_be_said(path))
        return;
    fprintf(out, "(allow %s (%s \"", operation, filter);
    for (; *path; path++)
        fprintf(out, *path == '"' || *path == '\\' ? "\\%c" : "%c", *path);
    fprintf(out, "\"))\n");
}

static void allow_code(FILE *out, const char *folder)
{
    allow(out, "file-read*", "subpath", folder);
    allow(out, "file-map-executable", "subpath", folder);
}

static void allow_folder(FILE *out, const char *folder)
{
    allow_code(out, folder);
    allow(out, "file-write*", "subpath", folder);
}

char *replay_sandbox_profile(const struct replay_policy *policy,
                             const struct replay_own_places *own)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    fputs(basics, out);
    allow(out, "file-read*", "literal", policy->trace);
    for (size_t i = 0; i < policy->given_count; i++) /* a file, or a folder with what is in it */
        allow(out, "file-read*", "subpath", policy->given[i]);
    for (size_t i = 0; i < sizeof own->libraries / sizeof *own->libraries; i++)
        allow_code(out, own->libraries[i]);
    allow_code(out, own->cache);
    allow_folder(out, policy->scratch);
    allow_folder(out, policy->kept);
    const char *program = policy->programs;
    if (program[0])
        fputs("(allow process-fork)\n", out);
    for (; program[0]; program += strlen(program) + 1) {
        allow(out, "process-exec", "literal", program);
        allow(out, "file-read*", "literal", program);
        allow(out, "file-map-executable", "literal", program);
    }
    const bool good = !ferror(out);
    if (fclose(out) == 0 && good)
        return text;
    free(text);
    return NULL;
}
