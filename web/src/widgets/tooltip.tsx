/* One tooltip and one menu for the whole page. Canvases have no elements to hang a title on, so
 * views say where a tip or menu opens. The menu takes the focus, and gives it back when Esc
 * closes it. */
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";

interface Tip {
    x: number;
    y: number;
    content: ComponentChildren;
}
const tip = signal<Tip | null>(null);

export function showTip(x: number, y: number, content: ComponentChildren): void {
    tip.value = { x, y, content };
}

export function hideTip(): void {
    if (tip.peek()) tip.value = null;
}

export function Tooltip(): JSX.Element | null {
    const box = useRef<HTMLDivElement>(null);
    const now = tip.value;
    useLayoutEffect(() => {
        if (!now || !box.current) return;
        const { width, height } = box.current.getBoundingClientRect();
        const x = now.x + 14 + width > innerWidth ? now.x - width - 10 : now.x + 14;
        const y = now.y + 16 + height > innerHeight ? now.y - height - 10 : now.y + 16;
        box.current.style.setProperty("--left", `${Math.max(2, x)}px`);
        box.current.style.setProperty("--top", `${Math.max(2, y)}px`);
    });
    return (
        now && (
            <div class="tooltip" role="tooltip" ref={box}>
                {now.content}
            </div>
        )
    );
}

export interface MenuItem {
    title: string;
    run: () => void;
}
const menu = signal<{ x: number; y: number; items: MenuItem[]; from: Element | null } | null>(null);

export function showMenu(x: number, y: number, items: MenuItem[]): void {
    hideTip();
    menu.value = { x, y, items, from: document.activeElement };
}

export function Menu(): JSX.Element | null {
    const box = useRef<HTMLDivElement>(null);
    const now = menu.value;
    /* Before the next key can come: an effect after the frame would leave that key to what had the
     * focus, and would take the focus from the item that the key went to. */
    useLayoutEffect(() => {
        if (!now || !box.current) return;
        const { width, height } = box.current.getBoundingClientRect();
        box.current.style.setProperty(
            "--left",
            `${Math.max(0, Math.min(now.x, innerWidth - width - 4))}px`,
        );
        box.current.style.setProperty(
            "--top",
            `${Math.max(0, Math.min(now.y, innerHeight - height - 4))}px`,
        );
        box.current.querySelector("button")?.focus();
        const close = (event: Event) => {
            if (event instanceof KeyboardEvent && event.key !== "Escape") return;
            if (
                event.target instanceof Node &&
                box.current?.contains(event.target) &&
                event.type === "pointerdown"
            )
                return;
            menu.value = null;
            if (event instanceof KeyboardEvent && now.from instanceof HTMLElement)
                now.from.focus(); /* keys go on where they were */
        };
        addEventListener("pointerdown", close);
        addEventListener("keydown", close);
        return () => {
            removeEventListener("pointerdown", close);
            removeEventListener("keydown", close);
        };
    }, [now]);
    if (!now) return null;
    const step = (event: KeyboardEvent, by: number) => {
        const buttons = [...box.current!.querySelectorAll("button")];
        const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
        buttons[(at + by + buttons.length) % buttons.length]?.focus();
        event.preventDefault();
    };
    return (
        <div
            class="menu"
            role="menu"
            ref={box}
            onKeyDown={(event) => {
                if (event.key === "ArrowDown" || (event.key === "Tab" && !event.shiftKey))
                    step(event, 1);
                if (event.key === "ArrowUp" || (event.key === "Tab" && event.shiftKey))
                    step(event, -1);
            }}>
            {now.items.map((item) => (
                <button
                    role="menuitem"
                    key={item.title}
                    onClick={() => {
                        menu.value = null;
                        item.run();
                    }}>
                    {item.title}
                </button>
            ))}
        </div>
    );
}
