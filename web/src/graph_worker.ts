/* Lays out graphs: DOT in, SVG out, off the page's thread. */
import { Graphviz } from "@hpcc-js/wasm-graphviz";

addEventListener("message", (event: MessageEvent<{ id: number; dot: string }>) => {
    const { id, dot } = event.data;
    Graphviz.load()
        .then((graphviz) => postMessage({ id, svg: graphviz.dot(dot) }))
        .catch((error: unknown) => postMessage({ id, error: error instanceof Error ? error.message : String(error) }));
});
