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
    canvas?.toBlob((blob) => blob && saveBlob(name, blob), "image/png");
}
