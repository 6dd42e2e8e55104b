/* SPDX-License-Identifier: Apache-2.0 */
#include "format/file/identity.h"

#include "hal/base/digest.h"

#include "format/limits.h"
#include "format/trace.h"
#include "hal/base/hash.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>

enum { NONCE_BYTES = 12, CODE_BYTES = 16 };

_Static_assert(TRACE_MAX_CONTENT_BYTES <= INT_MAX, "one call takes a content");

/* The same for all contents, which is safe only because codes are never exposed. */
static const uint8_t nonce[NONCE_BYTES];

static enum hal_status fail(void)
{
    return hal_fail(HAL_NO_MEMORY, "cannot compute identities of contents");
}

static enum hal_status start(struct trace_identity *identity)
{
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    identity->cipher = cipher;
    if (cipher && EVP_EncryptInit_ex(cipher, EVP_aes_128_gcm(), NULL, identity->key, nonce) == 1)
        return HAL_OK;
    trace_identity_finish(identity);
    return fail();
}

enum hal_status trace_identity_init_code(struct trace_identity *identity)
{
    *identity = (struct trace_identity){0};
    if (RAND_bytes(identity->key, sizeof identity->key) != 1)
        return hal_fail(HAL_NO_MEMORY, "the system has no random numbers");
    return start(identity);
}

enum hal_status trace_identity_copy(const struct trace_identity *from,
                                    struct trace_identity *out_identity)
{
    *out_identity = (struct trace_identity){0};
    if (trace_identity_is_sha256(from))
        return HAL_OK;
    memcpy(out_identity->key, from->key, sizeof from->key);
    return start(out_identity);
}

void trace_identity_finish(struct trace_identity *identity)
{
    EVP_CIPHER_CTX_free(identity->cipher);
    OPENSSL_cleanse(identity->key, sizeof identity->key);
    identity->cipher = NULL;
}

static bool are_zeros(const uint8_t *data, size_t bytes)
{
    return bytes && !data[0] && memcmp(data, data + 1, bytes - 1) == 0;
}

/* Their number is their identity. Codes end in zeros: none is the same. */
static void identify_zeros(uint64_t bytes, uint8_t out_identity[TRACE_IDENTITY_BYTES])
{
    const uint64_t spread = hal_hash_u64(bytes);
    memset(out_identity, 0xff, TRACE_IDENTITY_BYTES);
    memcpy(out_identity, &spread, sizeof spread);
    memcpy(out_identity + sizeof spread, &bytes, sizeof bytes);
}

enum hal_status trace_identify(struct trace_identity *identity, const void *data, size_t bytes,
                               uint8_t out_identity[TRACE_IDENTITY_BYTES])
{
    int done;
    uint8_t unused[CODE_BYTES];
    if (trace_identity_is_sha256(identity))
        return hal_sha256(data, bytes, out_identity);
    if (are_zeros(data, bytes)) {
        identify_zeros(bytes, out_identity);
        return HAL_OK;
    }
    memset(out_identity, 0, TRACE_IDENTITY_BYTES);
    /* The bytes are authenticated, and nothing is encrypted: that makes it a GMAC. */
    const bool computed =
        EVP_EncryptInit_ex(identity->cipher, NULL, NULL, NULL, nonce) == 1 &&
        (!bytes || EVP_EncryptUpdate(identity->cipher, NULL, &done, data, (int)bytes) == 1) &&
        EVP_EncryptFinal_ex(identity->cipher, unused, &done) == 1 &&
        EVP_CIPHER_CTX_ctrl(identity->cipher, EVP_CTRL_AEAD_GET_TAG, CODE_BYTES, out_identity) == 1;
    return computed ? HAL_OK : fail();
}
