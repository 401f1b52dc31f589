/* gzip there and back, whatever the size and however it is damaged; SHA-256 by FIPS 180-4. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "server/assets.h"
#include "gzip/gzip.h"
#include "server/sha256.h"

static void there_and_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 65535, 65536, 65537, 3000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *bytes = malloc(sizes[i] + 1);
        for (size_t j = 0; j < sizes[i]; j++)
            bytes[j] = (char)(j % 3 ? j : (size_t)rand());
        struct strbuf packed = STRBUF_INIT, back = STRBUF_INIT;
        assert_int_equal(gzip_pack(&packed, bytes, sizes[i], 1 + (int)i), 0);
        assert_int_equal(gzip_unpack(&back, packed.data, packed.length, sizes[i]), 0);
        assert_int_equal(back.length, sizes[i]);
        assert_memory_equal(back.data, bytes, sizes[i]);
        strbuf_reset(&back);
        if (sizes[i]) {
            assert_int_equal(gzip_unpack(&back, packed.data, packed.length, sizes[i] - 1),
                             -EBADMSG);
            assert_int_equal(gzip_unpack(&back, packed.data, packed.length - 1, sizes[i]),
                             -EBADMSG);
            assert_int_equal(back.length, 0);
        }
        strbuf_release(&packed);
        strbuf_release(&back);
        free(bytes);
    }
}

static void check_digest(const char *text, size_t length, const char *wanted)
{
    uint8_t digest[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];
    sha256(text, length, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(hex, wanted);
}

static void digests(void **state)
{
    (void)state;
    char *million = malloc(1000000);
    memset(million, 'a', 1000000);
    check_digest("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_digest("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    check_digest(two, 56, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_digest(million, 1000000,
                 "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

static void the_bundle_is_whole(void **state)
{
    (void)state;
    static const char *const needed[] = {"index.html", "app.js", "app.css"};
    for (size_t i = 0; i < 3; i++) {
        struct strbuf text = STRBUF_INIT;
        const struct asset *asset = asset_find(needed[i]);
        assert_non_null(asset);
        assert_int_equal(
            gzip_unpack(&text, asset->packed, (size_t)(asset->end - asset->packed), SIZE_MAX), 0);
        assert_true(text.length > 0);
        strbuf_release(&text);
    }
    assert_null(asset_find("../index.html"));
    assert_string_equal(asset_type("a.wasm"), "application/wasm");
}

int main(void)
{
    srand((unsigned)time(NULL));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(digests),
        cmocka_unit_test(the_bundle_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
