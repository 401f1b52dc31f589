/* Saves a text, a canvas or an SVG as a file. The browser downloads it through a link that is
 * clicked by the script. */
import { colour } from "./canvas.ts";

export function saveBlob(name: string, blob: Blob): void {
    const url = URL.createObjectURL(blob);
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function saveText(name: string, type: string, text: string): void {
    saveBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

export function saveCanvas(name: string, canvas: HTMLCanvasElement | null | undefined): void {
    if (!canvas?.width || !canvas.height) return;
    /* at once, not when the browser is idle (toBlob): a click that a save follows much later is
     * none to it */
    const packed = canvas.toDataURL("image/png").split(",")[1]!;
    saveBlob(
        name,
        new Blob([Uint8Array.from(atob(packed), (c) => c.charCodeAt(0))], { type: "image/png" }),
    );
}

/* An SVG as PNG, twice as sharp, on the theme's ground. */
export async function savePicture(name: string, svg: string): Promise<void> {
    const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    const image = new Image(),
        canvas = document.createElement("canvas");
    try {
        image.src = url;
        await image.decode();
        const scale = Math.min(2, 16000 / Math.max(image.naturalWidth, image.naturalHeight));
        canvas.width = Math.max(1, Math.round(image.naturalWidth * scale));
        canvas.height = Math.max(1, Math.round(image.naturalHeight * scale));
        const context = canvas.getContext("2d")!;
        context.fillStyle = colour("ground");
        context.fillRect(0, 0, canvas.width, canvas.height);
        context.drawImage(image, 0, 0, canvas.width, canvas.height);
    } finally {
        URL.revokeObjectURL(url);
    }
    saveCanvas(name, canvas);
}
