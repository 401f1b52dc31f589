/* What a view shows while its data comes, where there is none, and where it could not be had. */
import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";

export type Loaded<T> = { state: "waiting" } | { state: "there"; value: T } | { state: "failed"; why: string };

/* The value of a promise. While another one is awaited the last value stays: nothing jumps. */
export function useLoaded<T>(load: () => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
    const [loaded, setLoaded] = useState<Loaded<T>>({ state: "waiting" });
    useEffect(() => {
        let wanted = true;
        load().then(
            (value) => wanted && setLoaded({ state: "there", value }),
            (error: unknown) => wanted && setLoaded({ state: "failed", why: error instanceof Error ? error.message : String(error) }));
        return () => {
            wanted = false;
        };
    }, inputs as unknown[]);
    return loaded;
}

export function Ready<T>({ of, children }: { of: Loaded<T>; children: (value: T) => ComponentChildren }): JSX.Element {
    if (of.state === "waiting") return <div class="empty" aria-busy="true" />;
    if (of.state === "failed") return <div class="notice bad" role="alert">{of.why}</div>;
    return <>{children(of.value)}</>;
}

/* A view whose data was not recorded says so, and how it can be had. */
export function NotRecorded({ what, how }: { what: string; how: ComponentChildren }): JSX.Element {
    return <div class="empty"><p><b>{what}</b></p><p>{how}</p></div>;
}

export function Card({ title, tools, children }: { title: string; tools?: ComponentChildren; children: ComponentChildren }): JSX.Element {
    return (
        <section class="card">
            <header><h2>{title}</h2><span class="spring" />{tools}</header>
            <div class="body">{children}</div>
        </section>
    );
}
