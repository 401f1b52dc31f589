/* What a view shows while its data comes, when there is none, and when fetching failed.
 * useLoaded() turns a promise into such a state. Card is the frame of one part of a view. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";

export type Loaded<T> =
    { state: "waiting" } | { state: "there"; value: T } | { state: "failed"; why: string };
import type { Profile } from "../model/profile.ts";
import { atOnce, breathe, inSlices, type Work } from "../model/slices.ts";
import { busyWith } from "../state/busy.ts";

/* The value of a promise. While another one is awaited the last value stays: nothing jumps. */
export function useLoaded<T>(load: () => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
    const [loaded, setLoaded] = useState<Loaded<T>>({ state: "waiting" });
    useEffect(() => {
        let wanted = true;
        const isThere = busyWith();
        const end = () => {
            wanted = false;
            isThere();
        };
        const settle = (next: Loaded<T>) => {
            if (wanted) setLoaded(next);
            end();
        };
        /* What load() throws at once is a failure too, not the end of the view. */
        new Promise<T>((give) => give(load())).then(
            (value) => settle({ state: "there", value }),
            (error: unknown) =>
                settle({
                    state: "failed",
                    why: error instanceof Error ? error.message : String(error),
                }),
        );
        return end;
    }, inputs as unknown[]);
    return loaded;
}

/* What `make` works out. What is much is worked out in slices: until it is there the last stays, null at
 * first. */
export function useInSlices<T>(
    make: () => Work<T>,
    isMuch: boolean,
    inputs: readonly unknown[],
): { value: T | null; waits: boolean } {
    const turn = useMemo(() => ({}), inputs as unknown[]);
    const [late, setLate] = useState<{ turn: object; value: T } | null>(null);
    const [failure, setFailure] = useState<{ turn: object; error: unknown } | null>(null);
    const last = useRef<T | null>(null);
    const now = useMemo(() => (isMuch ? null : { value: atOnce(make()) }), [turn]);
    useEffect(() => {
        if (now) return;
        let wanted = true;
        const work = make(),
            isThere = busyWith();
        void breathe()
            .then(() => inSlices(work))
            .then(
                (value) => {
                    if (wanted) setLate({ turn, value });
                },
                (error: unknown) => {
                    if (wanted) setFailure({ turn, error });
                },
            )
            .finally(isThere);
        return () => {
            wanted = false;
            isThere();
            work.return(undefined as never); /* nobody waits for it any more */
        };
    }, [turn]);
    if (failure?.turn === turn) throw failure.error; /* as what is worked out at once would */
    const there = now ?? (late?.turn === turn ? late : null);
    if (there) last.current = there.value;
    return { value: last.current, waits: !there };
}

export function Ready<T>({
    of,
    children,
}: {
    of: Loaded<T>;
    children: (value: T) => ComponentChildren;
}): JSX.Element {
    if (of.state === "waiting") return <div class="empty" aria-busy="true" />;
    if (of.state === "failed")
        return (
            <div class="notice bad" role="alert">
                {of.why}
            </div>
        );
    return <>{children(of.value)}</>;
}

/* Why the profile of a whole job, or of what another tool recorded, has no such data; null: it may
 * have it. */
export function cannotHave(profile: Profile): string | null {
    if (profile.isJob) return "Each rank has its own: choose a rank in the view of the job.";
    return (
        profile.importedFrom && `It was recorded by ${profile.importedFrom}, which does not tell.`
    );
}

/* A view whose data was not recorded says so, and how it can be had: `how`, where `of` may have it. */
export function NotRecorded({
    what,
    how,
    of,
}: {
    what: string;
    how: ComponentChildren;
    of?: Profile;
}): JSX.Element {
    return (
        <div class="empty">
            <p>
                <b>{what}</b>
            </p>
            <p>{(of && cannotHave(of)) ?? how}</p>
        </div>
    );
}

export function Card({
    title,
    tools,
    children,
}: {
    title: string;
    tools?: ComponentChildren;
    children: ComponentChildren;
}): JSX.Element {
    return (
        <section class="card">
            <header>
                <h2>{title}</h2>
                <span class="spring" />
                {tools}
            </header>
            <div class="body">{children}</div>
        </section>
    );
}
