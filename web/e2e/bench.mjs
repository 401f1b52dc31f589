/* node e2e/bench.mjs TIDEMARK FILE: how long the page takes on a large profile. Prints ms from the
 * address to the first page, and from a click to each view: cold (its data is fetched) and again. */
import { browse, serve } from "./serve.mjs";
import { Session } from "./session.mjs";
import { views } from "./views.mjs";

const [tidemark, file] = process.argv.slice(2);
const server = await serve(tidemark, [file]);
const browser = await browse();
const session = await Session.open(browser, server);
const first = await session.page.evaluate(() => performance.getEntriesByType("paint").find((each) => each.name === "first-contentful-paint")?.startTime);
const began = Date.now();
await session.page.reload();
await session.page.waitForSelector("text=What ran");
console.log(`first paint ${first?.toFixed(0)} ms, summary again ${Date.now() - began} ms`);

/* From the change of the address until it is drawn, and the longest time that the page did not answer. */
const take = (view) => session.page.evaluate(async (hash) => {
    let longest = 0;
    const observer = new PerformanceObserver((list) => list.getEntries().forEach((each) => { longest = Math.max(longest, each.duration); }));
    observer.observe({ type: "longtask" });
    const start = performance.now();
    location.hash = hash;
    do await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    while (document.querySelector("[aria-busy=true]") || !document.querySelector(".view > *"));
    const took = performance.now() - start;
    await new Promise((resolve) => setTimeout(resolve, 50));
    observer.disconnect();
    return [took, longest];
}, `#/${view}`);
for (const view of [...views, "flame?opt=inverted:1", "tree?opt=as:down", "functions?inclusive=1", "functions?inclusive=1&metric=alloc_count", "flame?from=1000000000&to=9000000000"]) {
    const cold = await take(view);
    await take("summary");
    const warm = await take(view);
    await take("summary");
    console.log(`${view.padEnd(42)} cold ${cold[0].toFixed(0).padStart(5)} ms (longest task ${cold[1].toFixed(0).padStart(4)}), again ${warm[0].toFixed(0).padStart(5)} ms (${warm[1].toFixed(0).padStart(4)})`);
}
await browser.close();
await server.stop();
