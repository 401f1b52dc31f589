/* Names of functions that are the same; the C side's cases are
 * tests/unit/analysis/diff/test_identity.c. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pairFunctions } from "../src/model/compare.ts";
import { identify, withoutClones, withoutVersion, type Side } from "../src/model/identity.ts";

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

/* Functions by key, each of a file. */
function sideOf(functions: readonly (readonly [name: string, file: string])[]): Side {
    return {
        executable: "",
        tree: {
            tree: { keyCount: functions.length, lineKey: Uint32Array.from(functions.keys()) },
            names: {
                functionCount: functions.length,
                ofKey: (key: number) => functions[key]![0],
                fileOfKey: (key: number) => key,
                file: (file: number) => functions[file]![1] || null,
                isUnnamed: () => false,
            },
        },
    } as unknown as Side;
}

test("of functions of one name each says of which file it is; others need no file", () => {
    const side = sideOf([
        ["?", ""],
        ["<module>", "/x/a.py"],
        ["<module>", "/x/b.py"],
        ["main", "/x/a.py"],
    ]);
    const value = Float64Array.of(0, 1, 2, 3);
    assert.deepEqual(
        pairFunctions(identify(side, side), value, value, 1).map(({ name, file }) => [name, file]),
        [
            ["<module>", "a.py"],
            ["<module>", "b.py"],
            ["main", ""],
        ],
    );
});
