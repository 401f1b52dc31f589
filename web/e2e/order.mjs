/* The flame graph in order of time: siblings stand as the events of a trace say that their call paths
 * first asked. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { serve } from "./serve.mjs";
import { Session } from "./session.mjs";

/* "name/name/…": the children's names in order of their first event. */
function orderOf(tidemark, trace) {
    const children = new Map();
    const said = execFileSync(tidemark, ["events", "--json", "--stacks", "--no-hide-std", trace], {
        encoding: "utf8",
        maxBuffer: 1 << 29,
    });
    for (const line of said.trim().split("\n")) {
        const event = JSON.parse(line);
        if (!event.frames?.length || !["malloc", "new", "realloc", "calloc"].includes(event.kind))
            continue;
        let path = "";
        for (const { function: name } of [...event.frames].reverse()) {
            const known = children.get(path) ?? [];
            if (!known.includes(name)) children.set(path, [...known, name]);
            path += `/${name}`;
        }
    }
    return children;
}

const fieldsOf = (line) =>
    [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, field]) =>
        field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field,
    );

export function testOrder(world) {
    test("flame graph in order of time: as the events of the trace say", async () => {
        const server = await serve(world.tidemark, [world.profiles.traced, world.profiles.job]);
        const session = await Session.open(world.browser, server),
            { page } = session;
        const wanted = orderOf(world.tidemark, world.profiles.trace);
        const drawn = async (opt) => {
            await session.go("flame", { metric: "alloc_count", hide: "0", opt });
            const { text } = await session.saved(session.button("CSV"));
            const paths = [""],
                children = new Map();
            for (const line of text.trim().split("\n").slice(2)) {
                const [at, parent, , name] = fieldsOf(line),
                    path = paths[Number(parent)];
                paths[Number(at)] = `${path}/${name}`;
                children.set(path, [...(children.get(path) ?? []), name]);
            }
            return children;
        };
        const inOrder = await drawn("order:time");
        /* what is too narrow is not opened */
        assert.ok(inOrder.size > 10);
        for (const [path, names] of inOrder)
            assert.deepEqual(names, wanted.get(path), `below ${path.slice(-200)}`);
        const bySize = await drawn("");
        assert.ok([...bySize].some(([path, names]) => names.join() !== wanted.get(path).join()));
        assert.deepEqual(
            [...bySize].map(([path, names]) => [path, [...names].sort()]).sort(),
            [...inOrder].map(([path, names]) => [path, [...names].sort()]).sort(),
            "the same frames",
        );
        /* by keys alone: chosen, in the address, and back */
        await session.go("flame");
        await page.locator("select[aria-label=Order]").focus();
        await page.keyboard.press("b");
        await session.settle();
        assert.match(await session.state(), /order(%3A|:)time/);
        await page.reload();
        await session.settle();
        assert.equal(await page.locator("select[aria-label=Order]").inputValue(), "time");
        /* ranks ran side by side */
        await session.go("flame", { profile: "1", opt: "order:time" });
        assert.equal(await page.locator("select[aria-label=Order]").isDisabled(), true);
        assert.match(await session.text(".view"), /no one order/);
        session.noErrors();
        await session.close();
        await server.stop();
    });
}
