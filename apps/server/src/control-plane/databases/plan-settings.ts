import { appError, type FieldError } from "@appdb/contract/errors";
import { HOME_STORE } from "@appdb/contract/media-place";
import type { DatabaseOp, databaseSettingsSchema } from "@appdb/contract/routes/control-databases";
import {
  HOSTED_STORE_FORMS,
  isCloud,
  parseStoreAddress,
  readStoreAddress,
  SOURCE_FORMS,
  type StoreAddress,
} from "@appdb/media/stores/media-address";
import type * as z from "zod";
import type { DesiredDatabase } from "../../database/desired.ts";
import { homeAddress } from "../../pods/media-place.ts";

type Settings = DesiredDatabase["settings"];
type WantedSettings = z.output<typeof databaseSettingsSchema>;

/** Stores of media. Pods read them at start. */
const STORES = ["db_input_media_dest", "db_output_media_dest"] as const;
/** Settings that pods read at start. */
const RESTARTS = [...STORES, "db_media_sources"] as const;
const LIVE = ["sleep_after", "wake_on_request"] as const;

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const MAX_VARIABLES = 200;
/** All variables are in the environment of one process, which the system limits. */
const MAX_BYTES = 65_536;
const MAX_DESTINATION = 2_000;

/** The current settings of the database `uri` with those of an entry. Missing ones stay. */
export function mergeSettings(current: Settings, requested: WantedSettings, uri: string): Settings {
  const storeOf = (name: (typeof STORES)[number]): string | null => {
    const address = requested[name]?.replace(/\/$/, "");
    if (address !== homeAddress(uri)) return address ?? current[name];
    return current[name] === null ? null : HOME_STORE;
  };
  const sources = requested.db_media_sources ?? current.db_media_sources;
  const mediaGb = requested.media_gb ?? current.media_gb;
  return {
    sleep_after: requested.sleep_after ?? current.sleep_after,
    wake_on_request: requested.wake_on_request ?? current.wake_on_request,
    vars: requested.vars ?? current.vars,
    db_input_media_dest: storeOf("db_input_media_dest"),
    db_output_media_dest: storeOf("db_output_media_dest"),
    ...(sources === undefined ? {} : { db_media_sources: [...new Set(sources)] }),
    ...(mediaGb === undefined ? {} : { media_gb: mediaGb }),
  };
}

/** @throws invalid_request for variables that no process can have, and for media stores that the database cannot use */
export function checkSettings(requested: WantedSettings, uri: string): void {
  const errors = [
    ...findVariableProblems(requested.vars ?? {}),
    ...STORES.flatMap((name) => findStoreProblem(requested, name, uri)),
    ...findSourceProblems(requested.db_media_sources ?? []),
  ];
  if (errors.length === 0) return;
  throw appError("invalid_request", {
    detail: `The database's entry does not fit: ${errors.map(({ detail }) => detail).join("; ")}.`,
    hint: "Correct the database's entry in service.toml.",
    errors,
  });
}

/** One operation for each setting that changes. Values of variables are hidden: they may be secret. */
export function planSettings(before: Settings, after: Settings): DatabaseOp[] {
  const changes = [...LIVE, ...RESTARTS].filter((name) => printSetting(before, name) !== printSetting(after, name));
  const ops = changes.map((name): DatabaseOp => {
    const restarts = (RESTARTS as readonly string[]).includes(name);
    const [previous, next] = [printSetting(before, name), printSetting(after, name)];
    const previousText = previous === null ? "" : ` rather than ${previous}`;
    return {
      target: "settings",
      op: "change",
      severity: "additive",
      lines: [],
      requires_restart: restarts,
      description: `${name} will be ${next ?? "empty"}${previousText}${restarts ? ", which restarts the database" : ""}`,
      details: { name, from: before[name] ?? null, to: after[name] ?? null },
    };
  });
  const vars = planVariables(before.vars, after.vars);
  return vars === undefined ? ops : [...ops, vars];
}

/** A setting for people; null for one without a value. */
function printSetting(settings: Settings, name: (typeof LIVE)[number] | (typeof RESTARTS)[number]): string | null {
  const value = settings[name] ?? null;
  if (value === null || (Array.isArray(value) && value.length === 0)) return null;
  return Array.isArray(value) ? value.join(", ") : String(value);
}

function planVariables(before: Settings["vars"], after: Settings["vars"]): DatabaseOp | undefined {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const lines = names.flatMap((name) => {
    if (!Object.hasOwn(before, name)) return [`+ ${name}`];
    if (!Object.hasOwn(after, name)) return [`- ${name}`];
    return before[name] === after[name] ? [] : [`~ ${name}`];
  });
  if (lines.length === 0) return undefined;
  return {
    target: "settings",
    op: "change",
    severity: "additive",
    requires_restart: true,
    description: "variables of the application will change, which restarts the database",
    lines,
    details: { name: "vars", names: lines.map((line) => line.slice(2)) },
  };
}

function findVariableProblem(name: string, value: string): string | undefined {
  if (!VARIABLE.test(name)) return "is not a valid variable name: expected letters, digits and '_', no digit first";
  return value.includes("\0") || !value.isWellFormed() ? "has a value that an environment cannot hold" : undefined;
}

function findVariableProblems(vars: Readonly<Record<string, string>>): FieldError[] {
  const entries = Object.entries(vars);
  const bytes = entries.reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
  const errors = entries.flatMap(([name, value]): FieldError[] => {
    const what = findVariableProblem(name, value);
    const shown = JSON.stringify(name.slice(0, 60));
    return what === undefined ? [] : [{ pointer: "/settings/vars", detail: `${shown} ${what}` }];
  });
  if (entries.length > MAX_VARIABLES) {
    errors.push({
      pointer: "/settings/vars",
      detail: `there are ${entries.length} variables; the maximum is ${MAX_VARIABLES}`,
    });
  }
  if (bytes > MAX_BYTES) {
    errors.push({
      pointer: "/settings/vars",
      detail: `the variables have ${bytes} bytes; the maximum is ${MAX_BYTES}`,
    });
  }
  return errors.slice(0, 20);
}

function findSourceProblems(sources: readonly string[]): FieldError[] {
  const isSource = (text: string): boolean => {
    const address = text.length > MAX_DESTINATION ? undefined : readStoreAddress(text);
    return address !== undefined && isCloud(address);
  };
  const wrong = sources.filter((text) => !isSource(text)).slice(0, 20);
  return wrong.map((text) => ({
    pointer: "/settings/db_media_sources",
    detail: `db_media_sources: ${JSON.stringify(text.slice(0, 200))} is not the address of a store: ${SOURCE_FORMS}`,
  }));
}

function findStoreProblem(requested: WantedSettings, name: (typeof STORES)[number], uri: string): FieldError[] {
  const text = requested[name];
  if (text === undefined) return [];
  const problem = (detail: string) => [{ pointer: `/settings/${name}`, detail: `${name}: ${detail}` }];
  if (text.length > MAX_DESTINATION || /\p{Cc}/u.test(text)) {
    return problem(`it has control characters or more than ${MAX_DESTINATION}`);
  }
  let address: StoreAddress;
  try {
    address = parseStoreAddress(text);
  } catch {
    return problem(`${JSON.stringify(text)} is not the address of a media store: ${HOSTED_STORE_FORMS}`);
  }
  const home = homeAddress(uri);
  if (address.kind === "file") return problem(`${text} is a folder, which a hosted database cannot use`);
  if (address.kind !== "mediafs" || text.replace(/\/$/, "") === home) return [];
  return problem(`${text} is not supported: of the mediafs stores a database uses only its own, ${home}`);
}
