/* Starts `tidemark serve` on profiles and a browser to look at it. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, firefox } from "playwright-core";

/* BROWSER=firefox: Debian's Firefox, by WebDriver BiDi. */
export const isFirefox = process.env.BROWSER === "firefox";
/* Chromium without its windows, where it is there: a page costs a third of the processor time. */
const chromiums = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
export const browserPath = isFirefox
    ? (process.env.FIREFOX ?? "/usr/bin/firefox-esr")
    : (process.env.CHROMIUM ?? chromiums.find(existsSync) ?? chromiums[0]);

/* What pages can be shown in: WebDriver BiDi has no dark screen and no paper yet. */
export const colorSchemes = isFirefox ? ["light"] : ["light", "dark"];
export const withoutPaper = isFirefox && "Firefox cannot be told to print, or that it is dark";

/* Where Firefox saves: it tells of downloads of blobs by events without a name for them, which
 * Playwright drops. */
export const downloads = isFirefox ? mkdtempSync(join(tmpdir(), "tidemark-downloads-")) : null;

const running = new Set();

/* Servers that a test left behind when it failed. */
export function stopAll() {
    for (const child of running) child.kill("SIGKILL");
    running.clear();
}

/* Until the ranks of jobs have been read. */
async function whenRead(url) {
    const [, base, token] = /^(.*)#token=(.*)$/.exec(url);
    for (;;) {
        const asked = await fetch(`${base}api/v1/profiles`, {
            headers: { Authorization: `Bearer ${token}` },
        });
        const { profiles } = await asked.json();
        if (!profiles.some((each) => each.state === "reading")) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

/* With `env` the server is there as soon as it says its address, whatever it still reads. */
export async function serve(tidemark, files, options = [], env = null) {
    const child = spawn(tidemark, ["serve", ...options, ...files], {
        stdio: ["ignore", "pipe", "ignore"],
        env: { ...process.env, DISPLAY: "", WAYLAND_DISPLAY: "", ...env },
    });
    let said = "";
    const url = await new Promise((resolve, reject) => {
        child.stdout.on("data", (data) => {
            said += data;
            const match = /http:\/\/\S+/.exec(said);
            if (match) resolve(match[0]);
        });
        child.on("exit", (status) => reject(new Error(`serve ended with ${status}: ${said}`)));
    });
    running.add(child);
    if (!env && url.includes("#token=")) await whenRead(url);
    return {
        url,
        pid: child.pid,
        stop: () =>
            new Promise((resolve) => {
                if (!running.delete(child)) return resolve(0);
                child.removeAllListeners("exit");
                child.on("exit", (status, signal) => resolve(status ?? signal));
                child.kill("SIGTERM");
            }),
    };
}

export async function browse() {
    if (isFirefox)
        return firefox.launch({
            executablePath: browserPath,
            channel: "moz-firefox",
            downloadsPath: downloads,
            /* A page that comes back from Firefox' cache of whole pages is told of by no event. */
            firefoxUserPrefs: { "browser.sessionhistory.max_total_viewers": 0 },
        });
    return chromium.launch({
        executablePath: browserPath,
        args: ["--no-sandbox", "--disable-gpu"],
    });
}

/* WEB_DIST=web/dist: the browser's half from there instead of the one in the command: to try a
 * change without linking it. */
export async function useDist(page) {
    if (!process.env.WEB_DIST) return;
    await page.route(/\/(app\.js|app\.css|graph\.js)$/, (route) =>
        route.fulfill({
            path: join(process.env.WEB_DIST, new URL(route.request().url()).pathname),
        }),
    );
}
