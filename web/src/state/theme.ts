/* The light and the dark theme. The system decides until the user chooses; the choice is kept in
 * the browser's storage. A page that is printed is light. */
import { signal } from "@preact/signals";

export const theme = signal<"light" | "dark">("light");

let onScreen: "light" | "dark" = "light",
    onPaper = false;

function set(to: "light" | "dark"): void {
    onScreen = to;
    theme.value = onPaper ? "light" : to;
    document.documentElement.dataset["theme"] = theme.value;
}

/* Paper is white; on the screen the theme is then again what it was. */
export function forPaper(is: boolean): void {
    onPaper = is;
    set(onScreen);
}

export function startTheme(): void {
    let chosen: string | null = null;
    try {
        chosen = localStorage.getItem("tidemark-theme");
    } catch {
        /* a file from disk may have no storage */
    }
    const system = matchMedia("(prefers-color-scheme: dark)");
    set(chosen === "dark" || chosen === "light" ? chosen : system.matches ? "dark" : "light");
    system.addEventListener("change", () => {
        if (!chosen) set(system.matches ? "dark" : "light");
    });
}

export function toggleTheme(): void {
    set(theme.peek() === "dark" ? "light" : "dark");
    try {
        localStorage.setItem("tidemark-theme", theme.peek());
    } catch {
        /* then it holds for this page */
    }
}
