/* Names of functions that are the same; the C side's cases are
 * tests/unit/analysis/diff/test_identity.c. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutClones, withoutVersion } from "../src/model/identity.ts";

test("clones are their function", () => {
    for (const [name, function_] of [
        ["f(int) [clone .constprop.0]", "f(int)"],
        ["f.part.0", "f"],
        ["f.isra.0.cold", "f"],
        ["f.constprop.3.isra.1", "f"],
        ["f.lto_priv.0", "f"],
        ["f.llvm.123456", "f"],
        ["f.7", "f.7"],
        ["operator new(unsigned long)", "operator new(unsigned long)"],
        ["f.partly", "f.partly"],
        [".cold", ".cold"],
        ["", ""],
        ["f(int) [clone .a] [clone .b]", "f(int)"],
    ] as const)
        assert.equal(withoutClones(name), function_);
});

test("of modules the version does not count", () => {
    for (const [path, name] of [
        ["/usr/lib/libstdc++.so.6.0.33", "libstdc++.so"],
        ["/lib/libc-2.36.so", "libc.so"],
        ["libx.so", "libx.so"],
        ["/opt/my-3d-tool", "my-3d-tool"],
        ["libgtk-3.so.0", "libgtk.so"],
    ] as const)
        assert.equal(withoutVersion(path), name);
});
