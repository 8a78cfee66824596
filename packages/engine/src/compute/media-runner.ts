import { AppError } from "@appdb/contract/errors";
import { printReference, readDescription, readReference } from "@appdb/contract/media";
import type { EngineValue } from "@appdb/contract/types";
import { iteratedOutputs, type MadeOutput, type RowsText } from "../expressions/made-rows.ts";
import { referencedColumns, udfsOf } from "../expressions/needs-python.ts";
import { isMedia } from "../kinds/media.ts";
import type {
  MediaFiles,
  UdfAggregation,
  UdfError,
  UdfFold,
  UdfFolded,
  UdfGraph,
  UdfResult,
  UdfRunner,
} from "../ports.ts";
import { runRowWise } from "./batch-results.ts";
import { limited } from "./limited.ts";

/** The places of a graph's media: inputs that are files, steps that make some. */
interface MediaPlaces {
  readonly inputs: readonly number[];
  readonly steps: readonly number[];
  /** Steps that run an iterator, with the outputs of its rows that are files. */
  readonly rows: readonly {
    readonly at: number;
    readonly files: readonly MadeOutput[];
  }[];
}

type Errors = Record<string, UdfError>;

/** What a worker gives for a file: one that it made, a given one with what it knows of it, or why there is none. */
interface WorkerFile {
  readonly path?: string;
  readonly checked?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly type: string; readonly message: string };
}

const CHANGED = "the function changed or removed its input file. Copy the file, and change the copy";

/** Files of an aggregation that are compared together. More rows than that are never on their way to a worker. */
const HELD_FILES = 10_000;
/** Maximum rows of one batch whose files are on their way at once. */
const ROWS_AT_ONCE = 32;

/**
 * The same runner for graphs that read or make media: workers get files by their paths, and what they make is stored before
 * the row has its result. A file that cannot be had is an error of the cells that read it.
 */
export function withMedia(runner: UdfRunner, media: MediaFiles): UdfRunner {
  const found = new WeakMap<UdfGraph, MediaPlaces | null>();
  const placesOf = (graph: UdfGraph): MediaPlaces | null => {
    let places = found.get(graph);
    if (places === undefined) {
      places = findPlaces(graph);
      found.set(graph, places);
    }
    return places;
  };
  const run: UdfRunner["run"] = async (graph, row, signal) => {
    const places = placesOf(graph);
    if (places === null) return runner.run(graph, row, signal);
    const { values, missing } = await locateInputs(media, graph, places, row, signal);
    const result = withMissing(graph, await runner.run(graph, values, signal), missing);
    const kept = withChanged(graph, result, await findChanged(media, graph, places, values));
    return storeResults({ media, graph, places, row, located: values }, kept, signal);
  };
  const runSome = limited(run, ROWS_AT_ONCE);
  return {
    run,
    runBatch: (graph, columns, rows) =>
      placesOf(graph) === null ? runner.runBatch(graph, columns, rows) : runRowWise(runSome, graph, columns, rows),
    start: () => runner.start(),
    fold: async (aggregation) => foldWithMedia(media, aggregation, await runner.fold(aggregation)),
    stats: () => runner.stats(),
    [Symbol.asyncDispose]: () => runner[Symbol.asyncDispose](),
  };
}

/** An aggregation that gets files by their paths, and whose results are stored. It has no value for a group whose files it
 *  changed. */
function foldWithMedia(media: MediaFiles, { function: fn, inputs, result }: UdfAggregation, fold: UdfFold): UdfFold {
  const files = inputs.map(({ type }) => isMedia(type.kind));
  if (!files.includes(true) && !isMedia(result.kind)) return fold;
  const locate = limited(
    async (cell: EngineValue) => (cell === null ? null : media.locate(String(cell))),
    ROWS_AT_ONCE,
  );
  const read = new ReadFiles(media);
  const changed: UdfFolded = {
    value: null,
    error: { kind: "raised", function: fn.id, type: "PermissionError", message: CHANGED, at: null },
  };
  const store = async ({ value, error }: UdfFolded): Promise<UdfFolded> => {
    if (typeof value !== "string" || !isMedia(result.kind)) return { value, error };
    const { error: failure } = JSON.parse(value) as WorkerFile;
    if (failure !== undefined)
      return { value: null, error: { kind: "raised", function: "result", ...failure, at: null } };
    return { value: await media.store(value, result), error };
  };
  return {
    async add(groups, columns) {
      const isFile = (at: number) => files[at] === true;
      const located = await Promise.all(
        columns.map((cells, at) => (isFile(at) ? Promise.all(cells.map(locate)) : cells)),
      );
      const running = await fold.add(groups, located);
      for (const [at, cells] of located.entries()) if (isFile(at)) await read.note(groups, cells);
      return Promise.all(running.map(store));
    },
    async finish(groups) {
      const folded = await fold.finish(groups);
      const spoiled = await read.findChanged();
      const kept = ([group, one]: readonly [number, UdfFolded]) => (spoiled.has(group) ? changed : store(one));
      return new Map(await Promise.all([...folded].map(async (one) => [one[0], await kept(one)] as const)));
    },
    [Symbol.asyncDispose]: () => fold[Symbol.asyncDispose](),
  };
}

/** Files that an aggregation reads, as it got them, with the groups of their rows. */
class ReadFiles {
  readonly #isUnchanged: MediaFiles["isUnchanged"];
  readonly #changed = new Set<number>();
  #recent = new Map<string, number[]>();
  #older = new Map<string, number[]>();

  constructor(media: MediaFiles) {
    this.#isUnchanged = limited((file) => media.isUnchanged(file), ROWS_AT_ONCE);
  }

  /** Notes the files of sent rows. Files that were sent long before are compared now, so that a bounded number is held. */
  async note(groups: readonly number[], cells: readonly EngineValue[]): Promise<void> {
    for (const [at, file] of cells.entries()) {
      const group = groups[at];
      if (typeof file !== "string" || group === undefined) continue;
      const known = this.#recent.get(file);
      if (known === undefined) this.#recent.set(file, [group]);
      else if (known.at(-1) !== group) known.push(group);
    }
    if (this.#recent.size < HELD_FILES) return;
    await this.#compare(this.#older);
    this.#older = this.#recent;
    this.#recent = new Map();
  }

  /** The groups with files that a function has changed or removed. */
  async findChanged(): Promise<ReadonlySet<number>> {
    await this.#compare(this.#older);
    await this.#compare(this.#recent);
    return this.#changed;
  }

  async #compare(files: ReadonlyMap<string, readonly number[]>): Promise<void> {
    await Promise.all(
      [...files].map(async ([file, groups]) => {
        if (!(await this.#isUnchanged(file))) for (const group of groups) this.#changed.add(group);
      }),
    );
  }
}

function findPlaces(graph: UdfGraph): MediaPlaces | null {
  const placesIn = (
    columns: readonly { readonly type: { readonly kind: UdfGraph["steps"][number]["type"]["kind"] } }[],
  ) => columns.flatMap(({ type }, at) => (isMedia(type.kind) ? [at] : []));
  const rows = graph.steps.flatMap(({ expr }, at) => {
    const files = (iteratedOutputs(expr) ?? []).filter(({ type }) => isMedia(type.kind));
    return files.length === 0 ? [] : [{ at, files }];
  });
  const places = { inputs: placesIn(graph.inputs), steps: placesIn(graph.steps), rows };
  return places.inputs.length + places.steps.length + rows.length === 0 ? null : places;
}

async function locateInputs(
  media: MediaFiles,
  graph: UdfGraph,
  { inputs }: MediaPlaces,
  row: readonly EngineValue[],
  signal: AbortSignal | undefined,
): Promise<{ values: readonly EngineValue[]; missing: ReadonlyMap<string, UdfError> }> {
  const values = [...row];
  const missing = new Map<string, UdfError>();
  await Promise.all(
    inputs.map(async (at) => {
      const cell = values[at];
      const kind = graph.inputs[at]?.type.kind;
      if (typeof cell !== "string" || kind === undefined || !isMedia(kind)) return;
      try {
        values[at] = await media.locate(cell, signal, kind);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        values[at] = null;
        missing.set(graph.inputs[at]?.name ?? "", mediaError(error, "media"));
      }
    }),
  );
  return { values, missing };
}

/** The cells that read a missing file fail, and with them what reads those. */
function withMissing(graph: UdfGraph, result: UdfResult, missing: ReadonlyMap<string, UdfError>): UdfResult {
  if (missing.size === 0) return result;
  const errors: Errors = { ...result.errors };
  const values = [...result.values];
  for (const [at, step] of graph.steps.entries()) {
    const reads = referencedColumns(step.expr);
    const own = reads.map((name) => missing.get(name)).find((error) => error !== undefined);
    const cause = own ?? skippedBy(reads, errors);
    if (cause === undefined) continue;
    values[at] = null;
    errors[step.name] = cause;
  }
  return { values, errors };
}

/** Names of the inputs whose files a function has changed or removed. */
async function findChanged(
  media: MediaFiles,
  { functions, inputs }: UdfGraph,
  places: MediaPlaces,
  located: readonly EngineValue[],
): Promise<ReadonlySet<string>> {
  const changed = new Set<string>();
  if (functions.length === 0) return changed;
  await Promise.all(
    places.inputs.map(async (at) => {
      const file = located[at];
      if (typeof file === "string" && !(await media.isUnchanged(file))) changed.add(inputs[at]?.name ?? "");
    }),
  );
  return changed;
}

/** The cells whose functions read a changed file fail with that reason, and all others that read it with them. */
function withChanged(graph: UdfGraph, result: UdfResult, changed: ReadonlySet<string>): UdfResult {
  if (changed.size === 0) return result;
  const errors: Errors = { ...result.errors };
  const values = [...result.values];
  for (const [at, { name, expr }] of graph.steps.entries()) {
    if (!referencedColumns(expr).some((read) => changed.has(read))) continue;
    const [own] = udfsOf(expr);
    const kind = own === undefined ? "skipped" : "raised";
    values[at] = null;
    errors[name] = { kind, function: own ?? name, type: "PermissionError", message: CHANGED, at: null };
  }
  return { values, errors };
}

/** A finished row, with the inputs that it was computed from. */
interface Computed {
  readonly media: MediaFiles;
  readonly graph: UdfGraph;
  readonly places: MediaPlaces;
  readonly row: readonly EngineValue[];
  /** The row as the worker got it: files with their paths. */
  readonly located: readonly EngineValue[];
}

async function storeResults(
  computed: Computed,
  result: UdfResult,
  signal: AbortSignal | undefined,
): Promise<UdfResult> {
  const { graph, places } = computed;
  if (places.steps.length + places.rows.length === 0) return result;
  const values = [...result.values];
  const errors: Errors = { ...result.errors };
  for (const { at, files } of places.rows) {
    const [step, made] = [graph.steps[at], values[at]];
    if (step === undefined || typeof made !== "string") continue;
    const stored = await storeRows(computed, step, { made, files }, signal);
    if (typeof stored === "string") values[at] = stored;
    else [values[at], errors[step.name]] = [null, stored];
  }
  await Promise.all(
    places.steps.map(async (at) => {
      const [step, made] = [graph.steps[at], values[at]];
      if (step === undefined || typeof made !== "string") return;
      const stored = await storeResult(computed, step, made, signal);
      if (typeof stored === "string") {
        values[at] = stored;
      } else {
        values[at] = null;
        errors[step.name] = stored;
      }
    }),
  );
  for (const [at, step] of graph.steps.entries()) {
    const cause = errors[step.name] === undefined ? skippedBy(referencedColumns(step.expr), errors) : undefined;
    if (cause === undefined) continue;
    values[at] = null;
    errors[step.name] = cause;
  }
  return { values, errors: Object.keys(errors).length === 0 ? null : errors };
}

/** Stores the files of an iterator's rows. Returns the rows with their cells, or the first error. */
async function storeRows(
  computed: Computed,
  step: UdfGraph["steps"][number],
  { made, files }: { readonly made: string; readonly files: MediaPlaces["rows"][number]["files"] },
  signal: AbortSignal | undefined,
): Promise<string | UdfError> {
  const rows = JSON.parse(made) as RowsText;
  for (let pos = 0; pos < rows.rows; pos++) {
    for (const { name, type } of files) {
      const column = rows.given[name];
      const file = column?.[pos];
      if (column === undefined || typeof file !== "string") continue;
      const stored = await storeResult(computed, { ...step, type }, file, signal);
      if (typeof stored !== "string") return stored;
      column[pos] = stored;
    }
  }
  return JSON.stringify(rows);
}

/** Returns the cell of one result, or its error. */
async function storeResult(
  computed: Computed,
  step: UdfGraph["steps"][number],
  made: string,
  signal: AbortSignal | undefined,
): Promise<string | UdfError> {
  const { checked, error, path } = JSON.parse(made) as WorkerFile;
  if (error !== undefined) return { kind: "raised", function: step.name, ...error, at: null };
  const given = givenFile(computed, step.name, path);
  if (given !== undefined && checked !== undefined) {
    return printReference({ ...readReference(given), ...readDescription(checked) });
  }
  const { media } = computed;
  try {
    return await (given === undefined ? media.store(made, step.type, signal) : media.keep(given, step.type, signal));
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    return mediaError(cause, step.name);
  }
}

/** The cell of the input that a result is, unchanged; undefined for a new file. Equal files may have different names. */
function givenFile({ graph, places, row, located }: Computed, step: string, path: string | undefined) {
  const isFile = (at: number): boolean => {
    const file = located[at];
    return typeof file === "string" && (JSON.parse(file) as WorkerFile).path === path;
  };
  const own = places.inputs.find((at) => graph.inputs[at]?.name === step && isFile(at));
  const cell = row[own ?? places.inputs.find(isFile) ?? -1];
  return typeof cell === "string" ? cell : undefined;
}

function skippedBy(reads: readonly string[], errors: Errors): UdfError | undefined {
  const cause = reads.map((name) => errors[name]).find((error) => error !== undefined);
  return cause === undefined ? undefined : { ...cause, kind: "skipped" };
}

function mediaError({ code, message, hint }: AppError, name: string): UdfError {
  // An error of a cell has no hint, and these name the setting to correct.
  const isNamed = code === "media_denied" || code === "media_source_not_allowed";
  const named = isNamed && hint !== undefined ? `${message} ${hint}` : message;
  return { kind: "raised", function: name, type: code, message: named, at: null };
}
