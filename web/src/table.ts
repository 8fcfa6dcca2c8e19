// A table that sorts by any column and saves as CSV.
import { el, freshId } from "./dom";
import { csvButton } from "./save";

export interface Column<T> {
  name: string;
  help?: string; // what the column holds, in a sentence
  value: (row: T) => string | number | null; // sorted by, and in the CSV in full
  text?: (row: T) => string; // shown; else the value
  csv?: string; // the column's name in the CSV; else its name
  more?: Record<string, (row: T) => string | number | null>; // further columns of the CSV
  mark?: (row: T) => string; // a class
}

const MANY = 30; // rows, beyond which a table scrolls

function compare(a: string | number | null, b: string | number | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1; // what is missing comes last
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

export function table<T>(title: string, file: string, columns: Column<T>[], rows: T[], note = "", footnotes: string[] = [], controls: HTMLElement[] = []): HTMLElement {
  return liveTable(title, file, columns, rows, note, footnotes, controls).element;
}

/// A table whose rows change; they stay sorted as the reader wants them.
export function liveTable<T>(title: string, file: string, columns: Column<T>[], rows: T[], note = "", footnotes: string[] = [], controls: HTMLElement[] = []): { element: HTMLElement; update: (rows: T[]) => void } {
  const name = freshId();
  let [by, rising] = [-1, true];
  let order = [...rows];
  const body = el("tbody");
  const isText = (column: Column<T>) => rows.some((row) => typeof column.value(row) === "string");
  const fillRows = () => body.replaceChildren(...order.map((row) => el("tr", {}, ...columns.map((column, c) => {
    const value = column.value(row);
    const text = column.text ? column.text(row) : value === null ? "–" : String(value);
    const mark = [isText(column) ? "text" : "", column.mark?.(row) ?? ""].join(" ").trim();
    return c === 0 ? el("th", { scope: "row" }, text) : el("td", mark === "" ? {} : { class: mark }, text);
  }))));
  const heads = columns.map((column, c) => el("th", { scope: "col" },
    el("button", { type: "button", title: column.help ?? false, click: () => sort(c) }, column.name)));
  const fill = () => {
    heads.forEach((head, c) => head.setAttribute("class", isText(columns[c] as Column<T>) ? "text" : ""));
    fillRows();
  };
  const arrange = () => {
    order = [...rows];
    if (by < 0) return;
    const value = (columns[by] as Column<T>).value;
    order.sort((a, b) => {
      const missing = value(a) === null || value(b) === null;
      return compare(value(a), value(b)) * (rising || missing ? 1 : -1);
    });
  };
  const sort = (c: number) => {
    [by, rising] = [c, by === c ? !rising : true];
    arrange();
    heads.forEach((head, i) => i === by ? head.setAttribute("aria-sort", rising ? "ascending" : "descending") : head.removeAttribute("aria-sort"));
    fill();
  };
  fill();
  const csv = () => {
    const wide = columns.flatMap((column) => [[column.csv ?? column.name, column.value] as const, ...Object.entries(column.more ?? {})]);
    return [wide.map(([head]) => head), ...order.map((row) => wide.map(([, value]) => value(row)))];
  };
  const scroll = el("div", { tabindex: 0, role: "region", "aria-labelledby": name },
    el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body));
  const size = () => {
    const more = scroll.scrollLeft + scroll.clientWidth < scroll.scrollWidth - 1; // to the right
    scroll.setAttribute("class", `scroll${rows.length > MANY ? " tall" : ""}${more ? " more" : ""}`);
  };
  size();
  scroll.addEventListener("scroll", size);
  new ResizeObserver(size).observe(scroll);
  const update = (fresh: T[]) => {
    rows = fresh;
    arrange();
    fill();
    size();
  };
  const element = el("section", { class: "card", "aria-labelledby": name },
    el("div", { class: "head" }, el("h3", { id: name }, title), el("span", { class: "tools" }, csvButton(title, file, csv))),
    note === "" ? null : el("p", { class: "summary" }, note),
    controls.length === 0 ? null : el("div", { class: "controls" }, ...controls),
    scroll,
    footnotes.length === 0 ? null : el("ol", { class: "notes" }, ...footnotes.map((text) => el("li", {}, text))));
  return { element, update };
}
