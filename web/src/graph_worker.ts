/* Lays out call graphs in a web worker, so that the page keeps answering. A message brings a
 * text in DOT. Graphviz, compiled to WebAssembly, turns it into SVG, and a message takes the SVG
 * or the error back. */
import { Graphviz } from "@hpcc-js/wasm-graphviz";

addEventListener("message", (event: MessageEvent<{ id: number; dot: string }>) => {
    const { id, dot } = event.data;
    Graphviz.load()
        .then((graphviz) => postMessage({ id, svg: graphviz.dot(dot) }))
        .catch((error: unknown) =>
            postMessage({ id, error: error instanceof Error ? error.message : String(error) }),
        );
});
