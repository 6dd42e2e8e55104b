/* SPDX-License-Identifier: Apache-2.0 */
/* Our own compilation programs: their paths and identities. Their output depends on their sources
 * and linked libraries: each reports a digest of those on request, once per file. */
#include "hal/base/os.h"
#include "hal/compiler/msl/process.h"
#include "hal/compiler/msl/toolchain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_program(const char *path)
{
    return access(path, X_OK) == 0;
}

/* In the installation whose programs are in PATH: a static program does not know its origin. */
static bool find_by_path(const char *name, char *out_path, size_t bytes)
{
    const char *folder = getenv("PATH");
    while (folder && *folder) {
        const size_t length = strcspn(folder, ":");
        if (folder[0] == '/' &&
            (size_t)snprintf(out_path, bytes, "%.*s/../libexec/haltrace/%s", (int)length, folder,
                             name) < bytes &&
            is_program(out_path))
            return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}

bool msl_program_find(const char *chosen, const char *name, char *out_path, size_t bytes)
{
    static const char *const places[] = {"", "../bin/", "../libexec/haltrace/"};
    if (chosen && *chosen)
        return (size_t)snprintf(out_path, bytes, "%s", chosen) < bytes && is_program(out_path);
    char library[MSL_PATH_BYTES];
    static const char here;
    if (hal_module_path(&here, library, sizeof library) != HAL_OK)
        return false;
    char *const end = strrchr(library, '/');
    if (!end)
        return false;
    end[1] = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if ((size_t)snprintf(out_path, bytes, "%s%s%s", library, places[i], name) < bytes &&
            is_program(out_path))
            return true;
    return find_by_path(name, out_path, bytes);
}

enum { SAID_BYTES = 2 * MSL_KEY_BYTES };

/* One line of hexadecimal digits. */
static bool is_identity(const struct msl_text *said)
{
    return said->length == SAID_BYTES + 1 && said->bytes[SAID_BYTES] == '\n' &&
           strspn(said->bytes, "0123456789abcdef") == SAID_BYTES;
}

/* The identity that the program reports; else, for a foreign program, that of its file. */
static enum hal_status ask(const char *path, const struct msl_key *file, char *out_said)
{
    const char *const arguments[] = {path, "--identity", NULL};
    const struct msl_process process = {
        .arguments = arguments, .output_limit = 1 << 16, .time_limit_ns = MSL_COMPILER_LIMIT_NS};
    struct msl_text output = {0}, errors = {0};
    int code = 0;
    enum hal_status status = msl_process_run(&process, &output, &errors, &code);
    if (status == HAL_INVALID) { /* too much output: it is not ours */
        status = HAL_OK;
        code = 1;
    }
    if (status == HAL_OK && code == 0 && is_identity(&output))
        snprintf(out_said, SAID_BYTES + 1, "%s", output.bytes);
    else
        for (size_t i = 0; i < MSL_KEY_BYTES; i++)
            snprintf(out_said + 2 * i, 3, "%02x", file->bytes[i]);
    msl_text_finish(&output);
    msl_text_finish(&errors);
    return status;
}

enum hal_status msl_helper_identify(const char *path, struct msl_key *out_identity)
{
    char entry[MSL_PATH_BYTES], said[SAID_BYTES + 1];
    struct msl_key file;
    HAL_TRY(msl_program_identify(path, &file));
    HAL_TRY(msl_cache_path(NULL, &file, ".program", entry, sizeof entry));
    if (msl_cache_load(entry, &file, said, sizeof said) != HAL_OK) {
        HAL_TRY(ask(path, &file, said));
        HAL_TRY(msl_cache_store(entry, &file, said));
    }
    struct hal_digest digest = hal_digest_begin();
    hal_digest_add_string(&digest, said);
    return hal_digest_end(&digest, out_identity->bytes);
}
