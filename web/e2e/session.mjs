/* A page that is looked at as people do, and that fails a test by any error it meets. */
import assert from "node:assert/strict";
import { readdirSync, statSync, unlinkSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { downloads, isFirefox, useDist } from "./serve.mjs";

const axeSource = await readFile(
    createRequire(import.meta.url).resolve("axe-core/axe.min.js"),
    "utf8",
);

/* "12,345 B" as titles say it (web/src/model/units.ts, `exact`). */
export function exact(value, unit) {
    if (value === null || value === undefined) return "not recorded";
    const digits = Number.isInteger(value)
        ? String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",")
        : String(value);
    return digits + { bytes: " B", ns: " ns", count: "" }[unit];
}

/* What is drawn, as PNG. Playwright hides the caret by a style element, which the page's policy
 * forbids. */
export function pictureOf(locator) {
    return locator.screenshot({ caret: "initial" });
}

/* Playwright's own style for a picture in Firefox, which the page's policy forbids. */
const isOfPictures = (error) =>
    isFirefox && String(error).includes("sha256-YjaKGiklmzC6wjXA513HAMmzus8VE61XCOT+SmwNZWA=");

/* The file that Firefox has saved whole: its name, and where it is. */
async function savedFile(page) {
    for (let tries = 0; tries < 600; tries++) {
        const names = readdirSync(downloads);
        if (names.length === 1 && statSync(join(downloads, names[0])).size > 0)
            return { name: names[0], path: join(downloads, names[0]) };
        await page.waitForTimeout(50);
    }
    throw new Error("nothing was saved");
}

export class Session {
    errors = [];
    constructor(page, base) {
        this.page = page;
        this.base = base;
        page.on("console", (message) => {
            if (message.type() === "error" || message.type() === "warning")
                this.errors.push(`console: ${message.text()}`);
        });
        page.on("pageerror", (error) => {
            if (!isOfPictures(error)) this.errors.push(`page: ${error.stack ?? error}`);
        });
    }

    static async open(browser, server, options = {}) {
        const context = await browser.newContext({
            viewport: { width: 1280, height: 720 },
            colorScheme: "light",
            acceptDownloads: true,
            ...options,
        });
        context.setDefaultTimeout(60000); /* nobody waits for it unless something is wrong */
        const page = await context.newPage();
        await useDist(page);
        const session = new Session(page, server.url.replace(/#.*/, ""));
        await page.goto(server.url);
        await session.settle();
        return session;
    }
    async close() {
        await this.page.context().close();
    }

    /* By the address, as a link would. */
    async go(view, query = {}) {
        const search = new URLSearchParams(query).toString();
        await this.page.evaluate(
            (hash) => {
                location.hash = hash;
            },
            `#/${view}${search ? "?" + search : ""}`,
        );
        await this.settle();
    }
    /* As the button does: Firefox brings a page back from its cache without the load event that
     * page.goBack() waits for. */
    async back() {
        const from = this.page.url();
        await this.page.evaluate(() => void setTimeout(() => history.back()));
        await this.page.waitForURL((url) => url.href !== from);
        await this.settle();
    }
    async settle() {
        await this.page.waitForSelector(".main .view > *, .main [role=alert]");
        await this.page.evaluate(
            () =>
                new Promise((resolve, reject) => {
                    const began = Date.now();
                    let calm = 0; /* frames: what one thing brings may ask for the next */
                    const look = () => {
                        const busy =
                            document.documentElement.hasAttribute("data-busy") ||
                            document.querySelector("[aria-busy=true]");
                        calm = busy ? 0 : calm + 1;
                        /* a page that grows fetches every other second: where frames take long it
                         * is not calm for five of them */
                        if (calm > (Date.now() - began > 20000 ? 1 : 4)) resolve();
                        else if (Date.now() - began > 60000)
                            reject(new Error(`the page is busy for a minute at ${location.hash}`));
                        else requestAnimationFrame(() => setTimeout(look, 0));
                    };
                    requestAnimationFrame(() => setTimeout(look, 0));
                }),
        );
    }
    state() {
        return this.page.evaluate(() => location.hash);
    }
    text(selector = ".main") {
        return this.page.locator(selector).first().innerText();
    }
    button(name, exactly = true) {
        return this.page.locator(".main").getByRole("button", { name, exact: exactly }).first();
    }
    async press(name) {
        await this.button(name).click();
        await this.settle();
    }
    /* What a button saves, as text (or bytes). */
    async saved(locator, binary = false) {
        if (downloads) {
            await locator.click();
            const { name, path } = await savedFile(this.page);
            const text = binary ? await readFile(path) : await readFile(path, "utf8");
            unlinkSync(path);
            return { name, text };
        }
        const [download] = await Promise.all([this.page.waitForEvent("download"), locator.click()]);
        const path = await download.path();
        return {
            name: download.suggestedFilename(),
            text: binary ? await readFile(path) : await readFile(path, "utf8"),
        };
    }
    async json(label) {
        const table = this.page.locator(".table", {
            has: this.page.locator(`.scroll[aria-label="${label}"]`),
        });
        const { text } = await this.saved(table.getByRole("button", { name: "JSON", exact: true }));
        return JSON.parse(text);
    }
    /* Firefox counts the clicks of a driver as single ones. */
    async doubleClick(locator) {
        await locator.dblclick();
        if (isFirefox) await locator.dispatchEvent("dblclick");
    }
    /* Titles (exact numbers) of what stands behind a term in a list of facts. */
    fact(term) {
        return this.page
            .locator("dt", { hasText: new RegExp(`^\\s*${term}\\s*$`) })
            .first()
            .locator("xpath=following-sibling::dd[1]");
    }
    /* What is drawn is no longer this picture, now or soon. */
    async looksOther(canvas, picture) {
        for (let tries = 0; picture.equals(await pictureOf(canvas)); tries++) {
            assert.ok(tries < 300, "drawn anew");
            await this.page.waitForTimeout(100);
        }
    }
    rows(label) {
        return this.page.locator(`.scroll[aria-label="${label}"] .row`);
    }
    /* A table has so many rows in the document, at once or soon. */
    async hasRows(label, count) {
        await this.page.waitForFunction(
            ([label, count]) =>
                document.querySelectorAll(`.scroll[aria-label="${label}"] .row`).length === count,
            [label, count],
        );
    }
    noErrors() {
        assert.deepEqual(this.errors.splice(0), []);
    }
    /* Findings of axe-core, of any grade: of all rules, or of these alone. Its source is sent once to
     * each page. */
    async accessible(where, rules = null) {
        if (!(await this.page.evaluate(() => !!window.axe))) await this.page.evaluate(axeSource);
        const found = await this.page.evaluate(async (rules) => {
            const { violations } = await window.axe.run(document, {
                resultTypes: ["violations"],
                ...(rules ? { runOnly: rules } : {}),
            });
            return violations.map(
                (each) =>
                    `${each.id}: ${each.nodes
                        .slice(0, 3)
                        .map(
                            (node) =>
                                `${node.html.slice(0, 160)} (${node.any[0]?.message ?? node.all[0]?.message ?? ""})`,
                        )
                        .join(" | ")}`,
            );
        }, rules);
        assert.deepEqual(found, [], `axe, ${where}`);
    }
}
