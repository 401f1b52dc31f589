/* The one state of the page. `state` is always what the URL says. go() changes both, and a step
 * back in the browser's history changes `state`. */
import { computed, signal } from "@preact/signals";
import { fromHash, initial, toHash, type ViewState } from "./url.ts";

export const state = signal<ViewState>({ ...initial });

export const view = computed(() => state.value.view);

/* A step that "back" undoes. Small adjustments (typing in the search field, dragging a brush)
 * replace the entry instead. */
export function go(change: Partial<ViewState>, how: "push" | "replace" = "push"): void {
    const next = { ...state.peek(), ...change };
    const hash = toHash(next);
    if (hash === toHash(state.peek())) return;
    state.value = next;
    if (how === "push") history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
}

/* For `href`: a link that can be copied and opened in a new tab. */
export function link(change: Partial<ViewState>): string {
    return toHash({ ...state.value, ...change });
}

export function startState(): void {
    const read = () => {
        state.value = fromHash(location.hash);
    };
    read();
    addEventListener("popstate", read);
    addEventListener("hashchange", read);
}
