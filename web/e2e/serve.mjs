/* Starts `tidemark serve` on profiles and a browser to look at it. */
import { spawn } from "node:child_process";
import { chromium } from "playwright-core";

export async function serve(tidemark, files, options = []) {
    const child = spawn(tidemark, ["serve", ...options, ...files], { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, DISPLAY: "" } });
    let said = "";
    const url = await new Promise((resolve, reject) => {
        child.stdout.on("data", (data) => {
            said += data;
            const match = /http:\/\/\S+/.exec(said);
            if (match) resolve(match[0]);
        });
        child.on("exit", (status) => reject(new Error(`serve ended with ${status}: ${said}`)));
    });
    return {
        url, pid: child.pid,
        stop: () => new Promise((resolve) => {
            child.removeAllListeners("exit");
            child.on("exit", (status, signal) => resolve(status ?? signal));
            child.kill("SIGTERM");
        }),
    };
}

export async function browse() {
    return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
}
