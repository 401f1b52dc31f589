/* What one sees as a file. */

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
    /* at once, not when the browser is idle (toBlob): a click that a save follows much later is none to it */
    const packed = canvas.toDataURL("image/png").split(",")[1]!;
    saveBlob(name, new Blob([Uint8Array.from(atob(packed), (c) => c.charCodeAt(0))], { type: "image/png" }));
}
