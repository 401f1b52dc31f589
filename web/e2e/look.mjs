/* node e2e/look.mjs TIDEMARK DIR VIEW[?query]… -- FILE…: pictures of views, to be looked at.
 * DARK=1, SIZE=3840x2160. */
import { mkdir } from "node:fs/promises";
import { browse, serve, useDist } from "./serve.mjs";

const [tidemark, out, ...rest] = process.argv.slice(2);
const split = rest.indexOf("--");
const views = rest.slice(0, split),
    files = rest.slice(split + 1);
const [width, height] = (process.env.SIZE ?? "1280x720").split("x").map(Number);
await mkdir(out, { recursive: true });
const server = await serve(tidemark, files);
const browser = await browse();
const page = await browser.newPage({
    viewport: { width, height },
    colorScheme: process.env.DARK ? "dark" : "light",
});
await useDist(page);
page.on(
    "console",
    (message) =>
        ["error", "warning"].includes(message.type()) && console.error("console:", message.text()),
);
page.on("pageerror", (error) => console.error("page:", error.stack));
await page.goto(server.url);
for (const view of views) {
    const began = Date.now();
    await page.goto(server.url.replace(/#.*/, "") + "#/" + view);
    await page.reload();
    await page
        .waitForSelector(".view > *", { timeout: 20000 })
        .catch((error) => console.error(String(error)));
    await page
        .waitForFunction(() => !document.querySelector("[aria-busy=true]"), undefined, {
            timeout: 20000,
        })
        .catch((error) => console.error(String(error)));
    const shown = Date.now() - began;
    await page.waitForTimeout(250);
    await page.screenshot({
        path: `${out}/${view.replace(/[^\w]+/g, "_")}${process.env.DARK ? "-dark" : ""}${process.env.SIZE ? "-" + process.env.SIZE : ""}.png`,
    });
    console.log(view, shown, "ms");
}
await browser.close();
await server.stop();
