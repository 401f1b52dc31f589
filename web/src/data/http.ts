/* The data source of `tidemark serve`. Each resource is one GET below /api/v1. An answer of
 * another generation than the summary is refused, and a stream of events tells when a recording
 * has grown. The stream is read by fetch(), because an EventSource sends no header. */
import { authorization, startAccess } from "./access.ts";
import {
    MissingResource,
    Outdated,
    Unanswered,
    type Change,
    type DataSource,
    type KeptNotes,
} from "./source.ts";

const root = "/api/v1";

async function problem(response: Response): Promise<Error> {
    let sentence = `${response.status} ${response.statusText}`;
    try {
        const body: unknown = await response.json();
        if (body && typeof body === "object" && "detail" in body && typeof body.detail === "string")
            sentence = body.detail;
    } catch {
        /* no problem+json: the status says it */
    }
    if (response.status === 412) return new Outdated(sentence);
    return response.status === 404 ? new MissingResource(sentence) : new Error(sentence);
}

const generationOf = (response: Response) => response.headers.get("Tidemark-Generation") ?? "";

/* What the network gives: an answer, or its bytes, which a server that ends may leave half sent. */
async function answered<T>(from: Promise<T>, stop?: AbortSignal): Promise<T> {
    try {
        return await from;
    } catch (error) {
        if (stop?.aborted) throw error;
        throw new Unanswered("The server does not answer. Is `tidemark serve` still running?");
    }
}

interface Asking {
    method?: string;
    body?: string;
    headers?: Record<string, string>;
    signal?: AbortSignal;
}

async function get(url: string, stop?: AbortSignal, asking: Asking = {}): Promise<Response> {
    const response = await answered(
        fetch(url, {
            credentials: "omit",
            ...asking,
            headers: { ...authorization(), ...asking.headers },
            ...(stop ? { signal: stop } : {}),
        }),
        stop,
    );
    if (!response.ok) throw await problem(response);
    return response;
}

async function notesOf(response: Response): Promise<KeptNotes> {
    return { text: await answered(response.text()), tag: response.headers.get("ETag") ?? "" };
}

/* ---- Events ---- */

const AGAIN_MS = 3000;

/* The data of the events "changed" in a text of whole events. */
function* changesIn(text: string): Generator<unknown> {
    for (const event of text.split("\n\n")) {
        const lines = event.split("\n");
        const data = lines.find((line) => line.startsWith("data: "));
        if (data && lines.includes("event: changed")) yield JSON.parse(data.slice(6));
    }
}

/* Calls with each change, until the stream ends. */
async function readChanges(response: Response, changed: (said: unknown) => void): Promise<void> {
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        text += value;
        const whole = text.lastIndexOf("\n\n") + 2;
        if (whole < 2) continue;
        for (const said of changesIn(text.slice(0, whole))) changed(said);
        text = text.slice(whole);
    }
}

/* Listens until it is stopped, and begins anew when a stream has ended. */
async function listen(
    changed: (said: unknown) => void,
    silent: (is: boolean) => void,
    stop: AbortSignal,
): Promise<void> {
    while (!stop.aborted) {
        try {
            const response = await get(`${root}/live`, stop);
            silent(false);
            await readChanges(response, changed);
        } catch {
            /* the next attempt says whether anybody is there */
        }
        if (stop.aborted) return;
        silent(true);
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
}

/* ---- The source ---- */

export async function openHttp(): Promise<DataSource> {
    await startAccess();
    const list = async () =>
        ((await (await get(`${root}/profiles`)).json()) as Pick<DataSource, "profiles">).profiles;
    const profiles = await list();
    const url = (profile: number, name: string) => `${root}/p/${profile}/${name}`;
    const getOf = async (profile: number, name: string, generation: string, stop?: AbortSignal) => {
        const response = await get(url(profile, name), stop);
        if (generationOf(response) && generationOf(response) !== generation)
            throw new Outdated("The profile has grown meanwhile.");
        return response;
    };
    return {
        profiles,
        list,
        want: async (profile) => {
            await get(url(profile, "whole"));
        },
        sql: async (profile, statement) => {
            const asking = statement ? { method: "POST", body: statement } : {};
            const response = await get(url(profile, "query"), undefined, asking);
            return answered(response.text());
        },
        notes: {
            read: async (profile) => notesOf(await get(url(profile, "notes"))),
            write: async (profile, text, tag) =>
                notesOf(
                    await get(url(profile, "notes"), undefined, {
                        method: "PUT",
                        body: text,
                        headers: { "If-Match": tag },
                    }),
                ),
        },
        asks: true,
        summary: async (profile, prefix = "", stop) => {
            const response = await get(url(profile, `${prefix}summary`), stop);
            return {
                summary: JSON.parse(await answered(response.text(), stop)),
                generation: generationOf(response),
            };
        },
        json: async (profile, name, generation, stop) => {
            const response = await getOf(profile, name, generation, stop);
            return JSON.parse(await answered(response.text(), stop));
        },
        binary: async (profile, name, generation) =>
            answered((await getOf(profile, name, generation)).arrayBuffer()),
        watch(profile, changed, silent) {
            const stop = new AbortController();
            const hear = (said: unknown) => {
                if (
                    said &&
                    typeof said === "object" &&
                    "profile" in said &&
                    said.profile === profile
                )
                    changed(said as unknown as Change);
            };
            void listen(hear, silent, stop.signal);
            return () => stop.abort();
        },
    };
}
