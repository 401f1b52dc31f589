/* Makes the printed page light. Canvases do not follow style sheets, so they are painted again
 * in light colours before the browser takes its picture. After printing the theme is what it
 * was. */
import { options } from "preact";
import { forPaper } from "../state/theme.ts";
import { paintAsked } from "./canvas.ts";

/* Renders what `change` changes, and runs the effects of that, before it returns: the browser takes
 * its picture as soon as its event has been handled. */
function atOnce(change: () => void): void {
    const { debounceRendering, requestAnimationFrame } = options,
        todo: (() => void)[] = [];
    options.debounceRendering = options.requestAnimationFrame = (callback) =>
        void todo.push(callback);
    change();
    for (let next = todo.shift(); next; next = todo.shift()) next();
    for (const [name, before] of [
        ["debounceRendering", debounceRendering],
        ["requestAnimationFrame", requestAnimationFrame],
    ] as const)
        if (before) options[name] = before;
        else delete options[name];
    paintAsked();
}

export function startPaper(): void {
    let printing = false;
    const print = (is: boolean) => {
        if (is === printing) return;
        printing = is;
        atOnce(() => forPaper(is));
    };
    addEventListener("beforeprint", () => print(true));
    addEventListener("afterprint", () => print(false));
    matchMedia("print").addEventListener("change", (event) => print(event.matches));
    if (matchMedia("print").matches) print(true);
}
