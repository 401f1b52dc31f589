/* The data source of `tidemark serve`. Each resource is one GET below /api/v1. An answer of
 * another generation than the summary is refused, and an event stream tells when a recording has
 * grown. */
import { MissingResource, Outdated, type DataSource } from "./source.ts";

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
    return response.status === 404 ? new MissingResource(sentence) : new Error(sentence);
}

const generationOf = (response: Response) => response.headers.get("Tidemark-Generation") ?? "";

async function get(url: string, stop?: AbortSignal): Promise<Response> {
    let response: Response;
    try {
        response = await fetch(url, {
            credentials: "same-origin",
            ...(stop ? { signal: stop } : {}),
        });
    } catch (error) {
        if (stop?.aborted) throw error;
        throw new Error("The server does not answer. Is `tidemark serve` still running?");
    }
    if (!response.ok) throw await problem(response);
    return response;
}

export async function openHttp(): Promise<DataSource> {
    const profiles = (
        (await (await get(`${root}/profiles`)).json()) as {
            profiles: { name: string; file: string }[];
        }
    ).profiles;
    const url = (profile: number, name: string) => `${root}/p/${profile}/${name}`;
    const getOf = async (profile: number, name: string, generation: string, stop?: AbortSignal) => {
        const response = await get(url(profile, name), stop);
        if (generationOf(response) && generationOf(response) !== generation)
            throw new Outdated("The profile has grown meanwhile.");
        return response;
    };
    return {
        profiles,
        asks: true,
        summary: async (profile, prefix = "", stop) => {
            const response = await get(url(profile, `${prefix}summary`), stop);
            return { summary: await response.json(), generation: generationOf(response) };
        },
        json: async (profile, name, generation, stop) =>
            (await getOf(profile, name, generation, stop)).json(),
        binary: async (profile, name, generation) =>
            (await getOf(profile, name, generation)).arrayBuffer(),
        watch(profile, changed, silent) {
            const events = new EventSource(`${root}/live`);
            events.onerror = () => silent(true); /* the browser tries again by itself */
            events.onopen = () => silent(false);
            events.addEventListener("changed", (event) => {
                const said: unknown = JSON.parse((event as MessageEvent<string>).data);
                if (
                    said &&
                    typeof said === "object" &&
                    "profile" in said &&
                    said.profile === profile
                )
                    changed();
            });
            return () => events.close();
        },
    };
}
