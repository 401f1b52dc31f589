/* The data source of a single file (`tidemark html`). Each resource is an element of the page,
 * packed with gzip and base64 (doc/API.md, "Single file"). A resource is unpacked when a view
 * asks for it. */
import { MissingResource, type DataSource } from "./source.ts";

export function isSingleFile(): boolean {
    return document.documentElement.dataset["tidemark"] === "file";
}

async function unpack(element: Element): Promise<ArrayBuffer> {
    const bytes = Uint8Array.from(atob(element.textContent ?? ""), (c) => c.charCodeAt(0));
    return new Response(
        new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")),
    ).arrayBuffer();
}

function find(attribute: "data-name" | "data-asset", name: string): Element {
    const element = [...document.querySelectorAll(`script[type="application/tidemark"]`)].find(
        (each) => each.getAttribute(attribute) === name,
    );
    if (!element)
        throw new MissingResource(
            `This file has no '${name}'. Some views need \`tidemark serve\`.`,
        );
    return element;
}

async function json<T>(name: string): Promise<T> {
    return JSON.parse(new TextDecoder().decode(await unpack(find("data-name", name)))) as T;
}

export async function openEmbedded(): Promise<DataSource> {
    const { profiles } = await json<{ profiles: { name: string; file: string }[] }>("profiles");
    return {
        profiles,
        sql: null,
        notes: null,
        asks: false,
        summary: async (profile, prefix = "") => ({
            summary: await json(`p/${profile}/${prefix}summary`),
            generation: "",
        }),
        json: (profile, name) => json(`p/${profile}/${name}`),
        binary: async (profile, name) => unpack(find("data-name", `p/${profile}/${name}`)),
        watch: () => () => {},
    };
}

/* Another file of the bundle, which the page itself has. */
export function asset(name: string): Promise<ArrayBuffer> {
    return unpack(find("data-asset", name));
}

/* The URL of another script of the bundle. */
export async function assetUrl(name: string): Promise<string> {
    if (!document.documentElement.dataset["tidemark"]) return name;
    return URL.createObjectURL(new Blob([await asset(name)], { type: "text/javascript" }));
}

/* Runs another script of the bundle in this page. The policy of a page in one file knows it by its
 * hash (src/show/server/single_file.c). */
export async function runAsset(name: string): Promise<void> {
    const script = document.createElement("script");
    if (document.documentElement.dataset["tidemark"]) {
        script.text = new TextDecoder().decode(await asset(name));
        document.head.append(script);
        return;
    }
    script.src = name;
    await new Promise<void>((resolve, reject) => {
        script.addEventListener("load", () => resolve());
        script.addEventListener("error", () =>
            reject(new Error("A part of the page could not be loaded. Is the server still there?")),
        );
        document.head.append(script);
    });
}
