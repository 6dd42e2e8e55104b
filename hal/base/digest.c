/* SPDX-License-Identifier: Apache-2.0 */
/* See digest.h. */
#include "hal/base/digest.h"

#include <openssl/evp.h>

#include <string.h>

static enum hal_status fail(void)
{
    return hal_fail(HAL_NO_MEMORY, "cannot compute a SHA-256");
}

struct hal_digest hal_digest_begin(void)
{
    struct hal_digest digest = {.context = EVP_MD_CTX_new()};
    digest.failed = !digest.context || EVP_DigestInit_ex(digest.context, EVP_sha256(), NULL) != 1;
    return digest;
}

void hal_digest_add(struct hal_digest *digest, const void *bytes, size_t count)
{
    const uint64_t prefix = count;
    if (!digest->failed)
        digest->failed = EVP_DigestUpdate(digest->context, &prefix, sizeof prefix) != 1 ||
                         EVP_DigestUpdate(digest->context, bytes, count) != 1;
}

void hal_digest_add_string(struct hal_digest *digest, const char *string)
{
    hal_digest_add(digest, string, strlen(string));
}

enum hal_status hal_digest_end(struct hal_digest *digest, uint8_t out_sum[HAL_DIGEST_BYTES])
{
    unsigned count = 0;
    if (!digest->failed)
        digest->failed =
            EVP_DigestFinal_ex(digest->context, out_sum, &count) != 1 || count != HAL_DIGEST_BYTES;
    EVP_MD_CTX_free(digest->context);
    digest->context = NULL;
    return digest->failed ? fail() : HAL_OK;
}

enum hal_status hal_sha256(const void *bytes, size_t count, uint8_t out_sum[HAL_DIGEST_BYTES])
{
    return EVP_Digest(count ? bytes : "", count, out_sum, NULL, EVP_sha256(), NULL) == 1 ? HAL_OK
                                                                                         : fail();
}
