/* Where resources of profiles come from (doc/API.md names them and says what is in them): from the
 * server, or from the file that this page is. Everything else in the page goes through this. */

/* A profile as the list of them names it. */
export interface ProfileEntry {
    name: string;
    file: string;
    kind?: string;
    job?: number; /* of a rank: the number of its job's profile, and its id there */
    rank_id?: number;
}

export interface DataSource {
    /* Titles of the profiles that there are. */
    readonly profiles: readonly ProfileEntry[];
    /* Rejects with a sentence for people where a resource cannot be had. */
    json<T>(profile: number, name: string): Promise<T>;
    binary(profile: number, name: string): Promise<ArrayBuffer>;
    /* Calls when the profile has grown (it is still being recorded). Returns how to stop. */
    watch(profile: number, changed: () => void): () => void;
    /* Is there a server to ask things that are made on request (traces)? */
    readonly asks: boolean;
}

export class MissingResource extends Error {}
