/* Targets, hosts and origins: what is ours, and what a stranger may try. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "server/router.h"

static struct route route_of(const char *target)
{
    struct route route;
    route_parse(&route, target);
    return route;
}

static void what_is_ours(void **state)
{
    (void)state;
    assert_int_equal(route_of("/").kind, ROUTE_ASSET);
    assert_string_equal(route_of("/").name, "index.html");
    assert_string_equal(route_of("/app.js?v=1").name, "app.js");
    assert_int_equal(route_of("/api/v1/profiles").kind, ROUTE_PROFILES);
    assert_int_equal(route_of("/api/v1/live").kind, ROUTE_LIVE);
    struct route route = route_of("/api/v1/p/12/columns/live_bytes");
    assert_int_equal(route.kind, ROUTE_RESOURCE);
    assert_int_equal(route.profile, 12);
    assert_string_equal(route.name, "columns/live_bytes");
    assert_string_equal(route_of("/api/v1/p/0/source/3/changed").name, "source/3/changed");
}

static void what_is_not(void **state)
{
    (void)state;
    static const char *const none[] = {"/../etc/passwd",
                                       "/api/v1/p/0/../../x",
                                       "/.git",
                                       "/%2e%2e/etc/passwd",
                                       "/app.js/",
                                       "/a/b",
                                       "/api/v1/p/0",
                                       "/api/v1/p/0/",
                                       "/api/v1/p//summary",
                                       "/api/v1/p/-1/summary",
                                       "/api/v1/p/01/summary",
                                       "/api/v1/p/99999999999/summary",
                                       "/api/v2/profiles",
                                       "/api/v1/",
                                       "/api",
                                       "/api/v1/p/0/summary%00",
                                       "/a//b"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (route_of(none[i]).kind != ROUTE_NONE && strcmp(none[i], "/api"))
            fail_msg("%s is taken", none[i]);
    static const char *const bad[] = {"",           "*",       "http://evil/", "//evil.example/",
                                      "/a\r\nX: y", "/a b",    "/\\evil",      "/a#b",
                                      "/\xc3\xa4",  "summary", "/?a=\x01"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (route_of(bad[i]).kind != ROUTE_BAD)
            fail_msg("bad target %zu is taken", i);
    char name[200] = "/";
    memset(name + 1, 'a', 150);
    assert_int_equal(route_of(name).kind, ROUTE_NONE);
    static char target[6000] = "/";
    memset(target + 1, 'a', sizeof target - 2);
    assert_int_equal(route_of(target).kind, ROUTE_TOO_LONG);
}

static void queries_say_nothing(void **state)
{
    (void)state;
    assert_int_equal(route_of("/?token=abc").kind, ROUTE_ASSET);
    struct route route = route_of("/app.js?a=1&token=abc&b=2");
    assert_int_equal(route.kind, ROUTE_ASSET);
    assert_string_equal(route.name, "app.js");
    assert_int_equal(route_of("/api/v1/token?ticket=abc").kind, ROUTE_TOKEN);
}

static void windows(void **state)
{
    (void)state;
    uint64_t from = 0, to = 0;
    const char *name;
    assert_true(route_window("window/100-2000000000/columns/live_bytes", &from, &to, &name));
    assert_true(from == 100 && to == 2000000000);
    assert_string_equal(name, "columns/live_bytes");
    assert_true(route_window("window/0-0/summary", &from, &to, &name));
    assert_true(
        route_window("window/9999999999999999999-9999999999999999999/x", &from, &to, &name));
    assert_true(to == UINT64_C(9999999999999999999));
    static const char *const none[] = {"",
                                       "window/",
                                       "window/1",
                                       "window/1-2",
                                       "window/1-2/",
                                       "window/2-1/x",
                                       "window/-2/x",
                                       "window/1-/x",
                                       "window/01-2/x",
                                       "window/1-02/x",
                                       "window/1-2x/x",
                                       "window/1--2/x",
                                       "windows/1-2/x",
                                       "window/1-18446744073709551616/x"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (route_window(none[i], &from, &to, &name))
            fail_msg("%s is taken", none[i]);
    struct route route =
        route_of("/api/v1/p/0/window/9999999999999999999-9999999999999999999/columns/"
                 "live_slack_bytes");
    assert_int_equal(route.kind, ROUTE_RESOURCE);
}

static void regions(void **state)
{
    (void)state;
    uint64_t region = 0;
    const char *name;
    assert_true(route_region("region/0/summary", &region, &name));
    assert_true(region == 0);
    assert_string_equal(name, "summary");
    assert_true(route_region("region/17/columns/live_bytes", &region, &name));
    assert_true(region == 17);
    assert_string_equal(name, "columns/live_bytes");
    /* clang-format off */
    static const char *const none[] = {"",           "region/",     "region/1",    "region/1/",
                                       "region/x/y", "region/-1/x", "region/01/x", "region//x",
                                       "regions",    "region/1x/x", "regions/1/x", "Region/1/x",
                                       "region/18446744073709551616/x"};
    /* clang-format on */
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (route_region(none[i], &region, &name))
            fail_msg("%s is taken", none[i]);
    /* of a window, at its longest */
    uint64_t from, to;
    struct route route =
        route_of("/api/v1/p/0/window/9999999999999999999-9999999999999999999/region/4294967294/"
                 "columns/freed_lifetime_sum_ns");
    assert_int_equal(route.kind, ROUTE_RESOURCE);
    assert_true(route_window(route.name, &from, &to, &name));
    assert_true(route_region(name, &region, &name));
    assert_string_equal(name, "columns/freed_lifetime_sum_ns");
}

static void hosts(void **state)
{
    (void)state;
    const char *names[] = {"build7"};
    static const char *const ours[] = {"localhost:80", "LOCALHOST", "127.0.0.1:9", "10.1.2.3",
                                       "[::1]:80",     "[::1]",     "build7:123",  "Build7"};
    static const char *const strange[] = {"",
                                          "evil.example",
                                          "127.0.0.1.evil.example:80",
                                          "::1",
                                          "localhost:",
                                          "localhost:8x",
                                          "[::1",
                                          "[evil]:80",
                                          "build7.evil",
                                          "1.2.3.4@evil",
                                          "build",
                                          "[127.0.0.1]"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        assert_true(route_host_is_ours(ours[i], names, 1));
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
        if (route_host_is_ours(strange[i], names, 1))
            fail_msg("host %s is taken", strange[i]);
}

static void origins(void **state)
{
    (void)state;
    assert_true(route_origin_is("http://localhost:80", "localhost:80"));
    assert_false(route_origin_is("http://localhost:81", "localhost:80"));
    assert_false(route_origin_is("https://localhost:80", "localhost:80"));
    assert_false(route_origin_is("http://localhost:80.evil", "localhost:80"));
    assert_false(route_origin_is("null", "localhost:80"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_ours),
        cmocka_unit_test(what_is_not),
        cmocka_unit_test(queries_say_nothing),
        cmocka_unit_test(windows),
        cmocka_unit_test(regions),
        cmocka_unit_test(hosts),
        cmocka_unit_test(origins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
