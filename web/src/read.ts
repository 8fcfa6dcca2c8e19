// From the text in the page to groups of runs. The program checked every field before it wrote the page, and wrote the
// schema beside the results; a file changed since gives an error that names the field, never an empty page.
import { colorRuns, type Label, labelRuns } from "./labels";
import type { Comparison, Data, Group, Run, Source } from "./model";
import { rankRuns } from "./ranking";

type Json = Record<string, unknown>;

interface Field {
  type: "text" | "number" | "truth" | "object";
  object?: string; // what an object holds
  null?: "may be" | "if diverged" | "items";
  shape?: string[]; // of lists: the fields whose lists are as long
  optional?: true;
}
type Schema = Record<string, { fields: Record<string, Field> }>;

const TYPES = { text: "string", number: "number", truth: "boolean", object: "object" };

function need(right: boolean, path: string, what: string): void {
  if (!right) throw new Error(`'${path}' ${what}`);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/// A field's value or, at `level`, an item of its lists.
function checkValue(schema: Schema, object: Json, field: Field, value: unknown, level: number, path: string): void {
  const length = field.shape?.[level];
  if (value === null) {
    const may = field.null === "items" ? length === undefined : level === 0 && (field.null === "may be" || (field.null === "if diverged" && "diverged" in object));
    return need(may, path, "must not be null");
  }
  if (length !== undefined) {
    const list = Array.isArray(value) ? value : [];
    need(Array.isArray(value) && list.length === (object[length] as unknown[]).length, path, `must be a list as long as ${length}`);
    return list.forEach((item, i) => checkValue(schema, object, field, item, level + 1, `${path}[${i}]`));
  }
  need(typeof value === TYPES[field.type], path, `must be: ${field.type}`);
  if (field.object !== undefined) check(schema, value, field.object, path);
}

/// Throws unless a value is an object as the schema has it.
function check(schema: Schema, object: unknown, type: string, path: string): void {
  if (!isObject(object)) throw new Error(`'${path}' must be an object`);
  for (const [name, field] of Object.entries((schema[type] as Schema[string]).fields)) {
    const at = `${path}.${name}`;
    if (name in object) checkValue(schema, object, field, object[name], 0, at);
    else need(field.optional === true, at, "is missing");
  }
}

function textOf(value: unknown, path: string): string {
  need(typeof value === "string", path, "must be a text");
  return value as string;
}

function listOf(value: unknown, path: string): unknown[] {
  need(Array.isArray(value), path, "must be a list");
  return value as unknown[];
}

function checked<T>(schema: Schema, type: string, list: unknown[], path: string): T[] {
  list.forEach((one, i) => check(schema, one, type, `${path}[${i}]`));
  return list as T[];
}

function groupOf(groups: Map<string, Group>, data: Data, source: Source): Group {
  const key = JSON.stringify([data.name, data.target]);
  const group = groups.get(key) ?? { name: data.name, data: [], sources: [], runs: [], paper: [] };
  groups.set(key, group);
  if (!group.sources.includes(source)) {
    group.sources.push(source);
    group.data.push(data);
  }
  return group;
}

export function readGroups(text: string): Group[] {
  const content: unknown = JSON.parse(text);
  if (!isObject(content) || !isObject(content.schema)) throw new Error("there is no result in this page");
  const schema = content.schema as unknown as Schema;
  const results = listOf(content.results, "results");
  if (results.length === 0) throw new Error("there is no result in this page");
  const groups = new Map<string, Group>();
  results.forEach((entry, r) => {
    const at = `results[${r}]`;
    if (!isObject(entry) || !isObject(entry.result)) throw new Error(`'${at}' must be an object with a result`);
    const { polykern, command, data, runs, reproduction } = entry.result;
    const source: Source = { name: textOf(entry.name, `${at}.name`), version: textOf(polykern, `${at}.polykern`), command: textOf(command, `${at}.command`) };
    const sets = checked<Data>(schema, "Data", Array.isArray(data) ? data : [data], `${at}.data`);
    const comparisons = checked<Comparison>(schema, "Comparison", listOf(reproduction ?? [], `${at}.reproduction`), `${at}.reproduction`);
    checked<Run & { data?: string }>(schema, "Run", listOf(runs, `${at}.runs`), `${at}.runs`).forEach((run, i) => {
      const own = run.data === undefined ? sets[0] : sets.find((one) => one.name === run.data);
      if (own === undefined) throw new Error(`'${at}.runs[${i}].data' names no data set of this result`);
      run.of = own;
      run.source = source.name;
      groupOf(groups, own, source).runs.push(run);
    });
    for (const comparison of comparisons) {
      for (const group of groups.values()) {
        if (group.sources.includes(source) && group.name === comparison.data) group.paper.push(comparison);
      }
    }
  });
  const list = [...groups.values()];
  for (const group of list) {
    labelRuns(group.runs, listOf(content.labels, "labels") as Label[]);
    colorRuns(group.runs);
    rankRuns(group.runs);
  }
  return list;
}
