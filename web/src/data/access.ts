/* The secret that the server asks for. The URL that `tidemark serve` prints has the token behind
 * "#", a part that browsers send to nobody. From there it goes into the storage of this origin,
 * which other ports of the machine cannot read, as they could a cookie. Requests bear it in a
 * header. */

const key = "tidemark-token";
const pattern = /^#(token|ticket)=([0-9a-f]{32})$/;

/* Where nothing may be stored, the token lives as long as the page. */
let known: string | null = null;

function keep(token: string): void {
    known = token;
    try {
        localStorage.setItem(key, token);
    } catch {
        /* reloading the page will need the URL with the token */
    }
}

function kept(): string | null {
    try {
        return known ?? localStorage.getItem(key);
    } catch {
        return known;
    }
}

export function authorization(): Record<string, string> {
    const token = kept();
    return token ? { Authorization: `Bearer ${token}` } : {};
}

/* A browser that the command opened comes with a ticket, which is good for one page: arguments of
 * programs are public. What the server says against it, the first request says too. */
async function exchange(ticket: string): Promise<void> {
    const response = await fetch("/api/v1/token", {
        credentials: "omit",
        cache: "no-store",
        headers: { Authorization: `Ticket ${ticket}` },
    }).catch(() => null);
    if (!response?.ok) return;
    const said: unknown = await response.json();
    if (said && typeof said === "object" && "token" in said && typeof said.token === "string")
        keep(said.token);
}

/* Takes the secret out of the address, from where it could be passed on with a link. */
export async function startAccess(): Promise<void> {
    const [, kind, secret] = pattern.exec(location.hash) ?? [];
    if (secret) history.replaceState(null, "", location.pathname + location.search);
    if (secret && kind === "token") keep(secret);
    if (secret && kind === "ticket") await exchange(secret);
    /* Typed into the address of a page that is open already. */
    addEventListener("hashchange", () => {
        if (pattern.test(location.hash)) location.reload();
    });
}
