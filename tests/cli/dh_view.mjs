/* node dh_view.mjs BROWSER VIEWER FILE: prints what valgrind's DHAT viewer shows of the file. */
import { chromium } from "playwright-core";

const [executablePath, viewer, file] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage();
await page.goto(`file://${viewer}`);
await page.setInputFiles("input[type=file]", file);
await page.waitForSelector("text=PP 1/");
console.log(await page.evaluate(() => document.body.innerText));
await browser.close();
