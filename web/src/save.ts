// Files that leave the page: pictures and tables.
import { el } from "./dom";

function save(name: string, content: Blob): void {
  const link = el("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/// Draws a picture at twice its size, for sharp print.
function toPng(picture: string): Promise<Blob> {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const canvas = el("canvas", { width: 2 * image.width, height: 2 * image.height });
      const context = canvas.getContext("2d");
      context?.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => (blob === null ? reject(new Error("no picture")) : resolve(blob)), "image/png");
    };
    image.onerror = () => reject(new Error("no picture"));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture)}`;
  });
}

export function saveButtons(title: string, file: string, picture: () => string): HTMLElement {
  const button = (kind: string, click: () => void) =>
    el("button", { type: "button", class: "plain", "aria-label": `Save as ${kind}: ${title}`, click }, kind);
  return el("span", { class: "tools" },
    button("SVG", () => save(`${file}.svg`, new Blob([picture()], { type: "image/svg+xml" }))),
    button("PNG", () => void toPng(picture()).then((blob) => save(`${file}.png`, blob))));
}

/// As RFC 4180 has it, with plain line ends.
export function csvText(rows: (string | number | null)[][]): string {
  const cell = (value: string | number | null) => {
    const text = value === null ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
}

export function csvButton(title: string, file: string, rows: () => (string | number | null)[][]): HTMLElement {
  return el("button", {
    type: "button", class: "plain", "aria-label": `Save as CSV: ${title}`,
    click: () => save(`${file}.csv`, new Blob([csvText(rows())], { type: "text/csv" })),
  }, "CSV");
}
