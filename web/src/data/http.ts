/* Resources from `tidemark serve`. */
import { MissingResource, type DataSource } from "./source.ts";

const root = "/api/v1";

async function problem(response: Response): Promise<Error> {
    let sentence = `${response.status} ${response.statusText}`;
    try {
        const body: unknown = await response.json();
        if (body && typeof body === "object" && "detail" in body && typeof body.detail === "string") sentence = body.detail;
    } catch {
        /* no problem+json: the status says it */
    }
    return response.status === 404 ? new MissingResource(sentence) : new Error(sentence);
}

async function get(url: string): Promise<Response> {
    let response: Response;
    try {
        response = await fetch(url, { credentials: "same-origin" });
    } catch {
        throw new Error("The server does not answer. Is `tidemark serve` still running?");
    }
    if (!response.ok) throw await problem(response);
    return response;
}

export async function openHttp(): Promise<DataSource> {
    const profiles = ((await (await get(`${root}/profiles`)).json()) as { profiles: { name: string; file: string }[] }).profiles;
    const url = (profile: number, name: string) => `${root}/p/${profile}/${name}`;
    return {
        profiles,
        asks: true,
        json: async (profile, name) => (await get(url(profile, name))).json(),
        binary: async (profile, name) => (await get(url(profile, name))).arrayBuffer(),
        watch(profile, changed) {
            const events = new EventSource(`${root}/live`);
            events.addEventListener("changed", (event) => {
                const said: unknown = JSON.parse((event as MessageEvent<string>).data);
                if (said && typeof said === "object" && "profile" in said && said.profile === profile) changed();
            });
            return () => events.close();
        },
    };
}
