/* node e2e/bench.mjs TIDEMARK FILE [html]: how long the page takes on a large profile, served or
 * (html) in one file. Prints ms from the address to the first page; from a click to each view, cold
 * (its data is fetched) and again; of what one does in a view the median, the worst, and the
 * longest time that the page did not answer; and memory. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { browse, serve } from "./serve.mjs";
import { Session } from "./session.mjs";
import { views } from "./views.mjs";

const [tidemark, file, as] = process.argv.slice(2);

/* One file to look at, in a directory of its own. */
function inOneFile() {
    const dir = mkdtempSync(join(tmpdir(), "tidemark-bench-")),
        page = join(dir, "page.html");
    const began = Date.now();
    execFileSync(tidemark, ["html", "-o", page, file], { stdio: ["ignore", "ignore", "inherit"] });
    console.log(
        `tidemark html: ${Date.now() - began} ms, ${(statSync(page).size / 2 ** 20).toFixed(1)} MiB`,
    );
    return { url: `file://${page}`, pid: 0, stop: () => rmSync(dir, { recursive: true }) };
}

const server = as === "html" ? inOneFile() : await serve(tidemark, [file]);
const browser = await browse();
const opened = Date.now();
const session = await Session.open(browser, server);
await session.page.waitForSelector("text=What ran");
console.log(`the first page after ${Date.now() - opened} ms, with a browser's window for it`);
/* From the address on, as the browser itself says. */
const paint = () =>
    session.page.evaluate(() => {
        const first = performance.getEntriesByName("first-contentful-paint")[0];
        const all = `all of it ${performance.now().toFixed(0)} ms`;
        return `${first ? `${first.startTime.toFixed(0)} ms` : "not known"}, ${all}`;
    });
console.log(`first paint of a cold server: ${await paint()}`);
const began = Date.now();
await session.page.reload();
await session.page.waitForSelector("text=What ran");
console.log(`again ${Date.now() - began} ms, first paint ${await paint()}`);

/* What `act` takes until it is drawn, and the longest time that the page did not answer. In the
 * page. */
await session.page.evaluate(() => {
    window.take = async (act) => {
        let longest = 0;
        const observer = new PerformanceObserver((list) =>
            list.getEntries().forEach((each) => {
                longest = Math.max(longest, each.duration);
            }),
        );
        observer.observe({ type: "longtask" });
        const start = performance.now();
        act();
        do await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
        while (document.querySelector("[aria-busy=true]") || !document.querySelector(".view > *"));
        const took = performance.now() - start;
        await new Promise((resolve) => setTimeout(resolve, 50));
        observer.disconnect();
        return [took, longest];
    };
});
const open = (view) =>
    session.page.evaluate(
        (hash) =>
            window.take(() => {
                location.hash = hash;
            }),
        `#/${view}`,
    );
for (const view of [
    ...views,
    "flame?opt=inverted:1",
    "tree?opt=as:down",
    "functions?inclusive=1",
    "functions?inclusive=1&metric=alloc_count",
    "flame?from=1000000000&to=9000000000",
]) {
    const cold = await open(view);
    await open("summary");
    const warm = await open(view);
    await open("summary");
    console.log(
        `${view.padEnd(42)} cold ${cold[0].toFixed(0).padStart(5)} ms (longest task ${cold[1].toFixed(0).padStart(4)}), again ${warm[0].toFixed(0).padStart(5)} ms (${warm[1].toFixed(0).padStart(4)})`,
    );
}

/* By view what people do there, again and again. Each is a function of the page that returns its
 * steps. */
const deeds = [
    [
        "flame",
        "hover",
        () => {
            const canvas = document.querySelector(".icicle canvas"),
                box = canvas.getBoundingClientRect();
            return Array.from(
                { length: 40 },
                (_, at) => () =>
                    canvas.dispatchEvent(
                        new MouseEvent("mousemove", {
                            bubbles: true,
                            clientX: box.left + ((at * 977) % box.width),
                            clientY: box.top + 9 + 18 * (at % 25),
                        }),
                    ),
            );
        },
    ],
    [
        "flame",
        "zoom",
        () => {
            const canvas = document.querySelector(".icicle canvas"),
                box = canvas.getBoundingClientRect();
            return Array.from(
                { length: 12 },
                (_, at) => () =>
                    canvas.dispatchEvent(
                        new MouseEvent("click", {
                            bubbles: true,
                            clientX: box.left + box.width * 0.3,
                            clientY: box.top + 9 + 18 * ((at * 3) % 16),
                        }),
                    ),
            );
        },
    ],
    [
        "flame",
        "key",
        () => {
            const chart = document.querySelector(".icicle");
            chart.focus();
            return Array.from(
                { length: 30 },
                (_, at) => () =>
                    chart.dispatchEvent(
                        new KeyboardEvent("keydown", {
                            bubbles: true,
                            key: at < 15 ? "ArrowDown" : "ArrowRight",
                        }),
                    ),
            );
        },
    ],
    ...[
        "flame",
        "functions",
        "leaks",
        "tree?opt=as:down",
        "tree?opt=as:table",
        "tree",
        "source",
    ].map((view) => [
        view,
        "search",
        () => {
            const input = document.querySelector("input[type=search]");
            return ["w", "wo", "wor", "work", "wor", "wo", "w", ""].map((text) => () => {
                input.value = text;
                input.dispatchEvent(new InputEvent("input", { bubbles: true }));
            });
        },
    ]),
    [
        "tree?opt=as:down",
        "expand",
        () => {
            const table = document.querySelector(".table .scroll");
            return Array.from(
                { length: 40 },
                () => () =>
                    table.dispatchEvent(
                        new KeyboardEvent("keydown", { bubbles: true, key: "ArrowRight" }),
                    ),
            );
        },
    ],
    [
        "leaks",
        "sort",
        () =>
            ["Called by", "Function", "bytes", "blocks", "Place"].map(
                (title) => () =>
                    [...document.querySelectorAll(".table .header button")]
                        .find((each) => each.textContent.startsWith(title))
                        .click(),
            ),
    ],
    [
        "timeline",
        "range",
        () =>
            Array.from({ length: 10 }, (_, at) => () => {
                location.hash = `#/timeline?from=${(1 + at) * 1e8}&to=${(11 + at) * 1e9}`;
            }),
    ],
    [
        "timeline",
        "moment",
        () =>
            Array.from({ length: 10 }, (_, at) => () => {
                location.hash = `#/timeline?opt=at:${(1 + at) * 1e9}`;
            }),
    ],
    [
        "timeline",
        "hover",
        () => {
            const over = document.querySelector(".u-over"),
                box = over.getBoundingClientRect();
            return Array.from(
                { length: 40 },
                (_, at) => () =>
                    over.dispatchEvent(
                        new MouseEvent("mousemove", {
                            bubbles: true,
                            clientX: box.left + ((at * 97) % box.width),
                            clientY: box.top + 50,
                        }),
                    ),
            );
        },
    ],
    ...["flame", "functions", "source", "tree?opt=as:down"].map((view) => [
        view,
        "range",
        () => {
            const [path, query] = location.hash.split("?");
            return Array.from({ length: 6 }, (_, at) => () => {
                location.hash = `${path}?${query ? query + "&" : ""}from=${(1 + at) * 1e8}&to=${(2 + at) * 1e9}`;
            });
        },
    ]),
];
for (const [view, deed, steps] of deeds) {
    await open("summary");
    await open(view);
    const times = await session.page.evaluate(async (steps) => {
        const times = [];
        for (const step of new Function(`return (${steps})()`)())
            times.push(await window.take(step));
        return times;
    }, String(steps));
    const took = times.map(([each]) => each).sort((a, b) => a - b);
    console.log(
        `${view.padEnd(18)} ${deed.padEnd(7)} median ${took[took.length >> 1].toFixed(0).padStart(4)} ms, worst ${took.at(-1).toFixed(0).padStart(5)}, longest task ${Math.max(
            ...times.map(([, longest]) => longest),
        )
            .toFixed(0)
            .padStart(4)}`,
    );
}

/* Proportional set size, MiB: of shared pages its part. */
const memory = (pid) =>
    Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))[1]) / 1024;
const renderers = readdirSync("/proc")
    .filter((each) => /^\d+$/.test(each))
    .filter((each) => {
        try {
            const words = readFileSync(`/proc/${each}/cmdline`, "utf8");
            return (
                words.includes("--type=renderer") &&
                !words.includes("--extension-process") &&
                ancestors(each).includes(process.pid)
            );
        } catch {
            return false;
        }
    });
function ancestors(pid) {
    const list = [];
    for (let at = Number(pid); at > 1; list.push(at))
        at = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${at}/status`, "utf8"))[1]);
    return list;
}
await session.page.requestGC?.();
console.log(
    `memory: tab ${Math.max(...renderers.map(memory)).toFixed(0)} MiB${server.pid ? `, server ${memory(server.pid).toFixed(0)} MiB` : ""}`,
);
await browser.close();
await server.stop();
