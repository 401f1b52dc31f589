/* The one state of the page. `state` is always what the URL says. go() changes both, and a step
 * back in the browser's history changes `state`. */
import { computed, signal } from "@preact/signals";
import { fromHash, initial, toHash, type ViewState } from "./url.ts";

export const state = signal<ViewState>({ ...initial });

export const view = computed(() => state.value.view);

/* Something of the focus in the address is not in this profile. */
export const focusGone = signal(false); /* until the next step */

/* The names of another focus are not those of this one. */
function after(before: ViewState, change: Partial<ViewState>): ViewState {
    const next = { ...before, ...change };
    const same = next.fn === before.fn && next.node === before.node;
    return same || "at" in change ? next : { ...next, at: "" };
}

/* A step that "back" undoes. Small adjustments (typing in the search field, dragging a brush)
 * replace the entry instead. */
export function go(change: Partial<ViewState>, how: "push" | "replace" = "push"): void {
    const next = after(state.peek(), change);
    const hash = toHash(next);
    if (hash === toHash(state.peek())) return;
    if (how === "push") focusGone.value = false;
    state.value = next;
    if (how === "push") history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
}

/* For `href`: a link that can be copied and opened in a new tab. */
export function link(change: Partial<ViewState>): string {
    return toHash(after(state.value, change));
}

export function startState(): void {
    /* Called twice for one step (both events): what was found out of the address in between stays. */
    const read = () => {
        const next = fromHash(location.hash);
        if (toHash(next) === toHash(state.peek())) return;
        focusGone.value = false;
        state.value = next;
    };
    read();
    const search = document.documentElement.dataset["search"]; /* html --filter */
    if (search && !location.hash) go({ search }, "replace");
    addEventListener("popstate", read);
    addEventListener("hashchange", read);
}
