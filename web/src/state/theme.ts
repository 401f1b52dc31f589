/* Light or dark: as the system says until somebody chooses. */
import { signal } from "@preact/signals";

export const theme = signal<"light" | "dark">("light");

function set(to: "light" | "dark"): void {
    theme.value = to;
    document.documentElement.dataset["theme"] = to;
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
