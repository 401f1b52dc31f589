/* How many things are awaited: <html data-busy> says that there are any (the end-to-end suite waits
 * for it to go). */
let awaited = 0;

/* Counts one thing more; what is returned counts it off, once. */
export function busyWith(): () => void {
    let waits = true;
    const count = (by: 1 | -1) => {
        awaited += by;
        document.documentElement.toggleAttribute("data-busy", awaited > 0);
    };
    count(1);
    return () => {
        if (waits) count(-1);
        waits = false;
    };
}
