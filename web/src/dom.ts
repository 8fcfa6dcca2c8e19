// Elements. Text only ever becomes text: nothing here reads HTML.

type Child = Node | string | null;
type Properties = Record<string, string | number | boolean | ((event: Event) => void)>;

function fill<T extends Element>(element: T, properties: Properties, children: Child[]): T {
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child !== null) element.append(child);
  return element;
}

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Properties = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), properties, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(tag: K, properties: Properties = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

/// A labelled choice.
export function choice(label: string, names: string[], chosen: number, change: (index: number) => void): HTMLElement {
  const select = el("select", { change: () => change(select.selectedIndex) },
    ...names.map((name, i) => el("option", { selected: i === chosen }, name)));
  return el("label", { class: "choice" }, `${label} `, select);
}

let ids = 0;
export function freshId(): string {
  return `id${++ids}`;
}
