/* node e2e/scroll.mjs TIDEMARK FILE…: how smoothly long lists and long sources scroll. Prints frame
 * times in ms of scrolling a page's height every frame, for a table of each FILE's leaks and for a
 * source of 50,000 lines (compiled and recorded here). Nothing is asserted: times depend on the
 * machine. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { browse, serve } from "./serve.mjs";
import { Session } from "./session.mjs";

const [tidemark, ...files] = process.argv.slice(2);

function longSource(lines) {
    const work = mkdtempSync(join(tmpdir(), "tidemark-scroll-")),
        at = (name) => join(work, name);
    const text = ["#include <stdlib.h>", "int main(void)", "{"];
    while (text.length < lines - 2)
        text.push(
            text.length % 25
                ? `    /* line ${text.length + 1}: "nothing" happens here, ${text.length * 7} times */`
                : `    if (!malloc(${text.length})) return 1;`,
        );
    writeFileSync(at("long.c"), [...text, "    return 0;", "}", ""].join("\n"));
    execFileSync("gcc", ["-g", "-O0", "-w", at("long.c"), "-o", at("long")]);
    execFileSync(tidemark, ["record", "-q", "--embed-sources", "-o", at("long.tmk"), at("long")], {
        stdio: ["ignore", "ignore", "inherit"],
    });
    return at("long.tmk");
}

async function scroll(session, what, find) {
    const times = await session.page.evaluate(
        async ([find]) => {
            const box = find.reduce(
                (from, selector) =>
                    selector === "#" ? from.shadowRoot : from.querySelector(selector),
                document,
            );
            const times = [];
            let last = await new Promise(requestAnimationFrame);
            const bottom = box.scrollHeight - box.clientHeight,
                step = Math.max(box.clientHeight, bottom / 400);
            for (let at = 0; at < bottom && times.length < 400; at += step) {
                box.scrollTop = at;
                const now = await new Promise(requestAnimationFrame);
                times.push(now - last);
                last = now;
            }
            return {
                times: times.sort((a, b) => a - b),
                height: box.scrollHeight,
                rows: box.getAttribute("aria-rowcount"),
            };
        },
        [find],
    );
    const of = (part) =>
        times.times[
            Math.min(times.times.length - 1, Math.floor(part * times.times.length))
        ]?.toFixed(1);
    console.log(
        `${what.padEnd(36)} ${times.times.length} frames, median ${of(0.5)} ms, 95 % below ${of(0.95)} ms, worst ${of(1)} ms${times.rows ? `, ${times.rows} rows` : ""}`,
    );
}

const browser = await browse();
for (const file of [longSource(50000), ...files]) {
    const server = await serve(tidemark, [file]),
        session = await Session.open(browser, server);
    if (file.endsWith("long.tmk")) {
        await session.go("source", { file: "long.c" });
        await session.page.waitForFunction(() =>
            document.querySelector(".source-text")?.shadowRoot?.querySelector(".cm-scroller"),
        );
        await scroll(session, "a source of 50,000 lines", [".source-text", "#", ".cm-scroller"]);
    } else {
        await session.go("leaks");
        await scroll(session, "leaks", [".table .scroll"]);
        await session.go("tree", { opt: "as:down" });
        await scroll(session, "tree table", [".table .scroll"]);
    }
    await session.close();
    await server.stop();
}
await browser.close();
