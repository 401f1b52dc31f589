/* Long work in slices, so that the page answers in between. Work is a generator that yields where it
 * can be left for a moment; how often is for inSlices() to say. */

export type Work<T> = Generator<undefined, T, undefined>;

const SLICE_MS = 16;

let channel: MessageChannel | null = null;
const waiting: (() => void)[] = [];

/* Behind what the page has to do now: events, drawing. A timer would wait for 4 ms more. */
export function breathe(): Promise<void> {
    if (typeof document === "undefined") return Promise.resolve(); /* nobody looks */
    if (!channel) {
        channel = new MessageChannel();
        channel.port1.onmessage = () => waiting.shift()?.();
    }
    const { port2 } = channel;
    return new Promise((resolve) => {
        waiting.push(resolve);
        port2.postMessage(0);
    });
}

export async function inSlices<T>(work: Work<T>): Promise<T> {
    for (let began = performance.now(); ;) {
        const step = work.next();
        if (step.done) return step.value;
        if (performance.now() - began < SLICE_MS) continue;
        await breathe();
        began = performance.now();
    }
}

/* Work that several may ask for at a time: who comes later goes on with what the first has begun. What
 * it throws is told to all of them. */
export class SharedWork {
    readonly #under = new Map<
        unknown,
        { work: Work<unknown>; done?: { value: unknown } | { error: unknown } }
    >();

    *of<T>(name: unknown, make: () => Work<T>): Work<T> {
        const under = this.#under.get(name) ?? { work: make() };
        this.#under.set(name, under);
        while (!under.done) {
            try {
                const step = under.work.next();
                if (step.done) under.done = { value: step.value };
            } catch (error) {
                under.done = { error };
            }
            if (!under.done) yield;
        }
        /* it may have been asked for again since another one has ended it */
        if (this.#under.get(name) === under) this.#under.delete(name);
        if ("error" in under.done) throw under.done.error;
        return under.done.value as T;
    }
}

/* What somebody may ask for next: while the page has nothing to do. */
export async function inIdle<T>(work: Work<T>): Promise<T> {
    if (typeof requestIdleCallback === "undefined") return inSlices(work);
    return new Promise((resolve, reject) => {
        const goOn = (left: IdleDeadline) => {
            try {
                do {
                    const step = work.next();
                    if (step.done) return resolve(step.value);
                } while (left.timeRemaining() > 2);
                requestIdleCallback(goOn);
            } catch (error) {
                reject(error as Error);
            }
        };
        requestIdleCallback(goOn);
    });
}

export function atOnce<T>(work: Work<T>): T {
    for (;;) {
        const step = work.next();
        if (step.done) return step.value;
    }
}

const RUN = 2048; /* texts that are sorted at once */

/* As sort() would have it. */
export function* sortedTexts(texts: readonly string[]): Work<string[]> {
    let runs: string[][] = [];
    for (let at = 0; at < texts.length; at += RUN) {
        runs.push(texts.slice(at, at + RUN).sort());
        yield;
    }
    while (runs.length > 1) {
        const merged: string[][] = [];
        for (let at = 0; at < runs.length; at += 2)
            merged.push(runs[at + 1] ? yield* mergedTexts(runs[at]!, runs[at + 1]!) : runs[at]!);
        runs = merged;
    }
    return runs[0] ?? [];
}

function* mergedTexts(a: readonly string[], b: readonly string[]): Work<string[]> {
    const all = new Array<string>(a.length + b.length);
    for (let at = 0, i = 0, j = 0; at < all.length; at++) {
        all[at] = j >= b.length || (i < a.length && a[i]! <= b[j]!) ? a[i++]! : b[j++]!;
        if ((at & 0xfff) === 0xfff) yield;
    }
    return all;
}
