import assert from "node:assert/strict";
import { test } from "node:test";
import { fromHash, getOption, initial, toHash, withOptions } from "../src/state/url.ts";

test("a state survives its URL", () => {
    const state = {
        ...initial,
        view: "flame",
        metric: "alloc_bytes",
        inclusive: true,
        hide: false,
        fn: 12,
        from: 5,
        to: 1e12,
        search: "a b&c=#?é",
        file: "/x y/ß.cpp",
        opt: "",
    };
    state.opt = withOptions(state, { zoom: "12", list: "a,b:c" });
    assert.deepEqual(fromHash(toHash(state)), state);
    assert.equal(getOption(fromHash(toHash(state)), "list"), "a,b:c");
    assert.equal(
        getOption({ ...state, opt: withOptions(state, { zoom: undefined }) }, "zoom"),
        undefined,
    );
});

test("nothing of an address is cut off", () => {
    const state = { ...initial, view: "sql" };
    state.opt = withOptions(state, {
        sql: `SELECT ${"length(name), ".repeat(600)}1`,
        chart: "bar",
    });
    state.search = "x".repeat(5000);
    assert.deepEqual(fromHash(toHash(state)), state);
    assert.equal(getOption(fromHash(toHash(state)), "chart"), "bar");
});

test("defaults are left out, nonsense is ignored", () => {
    assert.equal(toHash({ ...initial }), "#/summary");
    for (const hash of [
        "",
        "#",
        "#/",
        "#x",
        "#/%",
        "#/summary?fn=abc&to=&inclusive=yes&hide=",
        "#/summary?fn=99999999999999999999",
    ]) {
        const state = fromHash(hash);
        assert.equal(state.fn, -1, hash);
        assert.equal(state.inclusive, false, hash);
    }
});
