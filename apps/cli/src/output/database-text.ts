import { describeFullServer } from "@appdb/contract/control/database-advice";
import type { Database, Pod } from "@appdb/contract/routes/control-databases";
import { alignColumns } from "./columns.ts";
import { count } from "./count.ts";
import type { Output } from "./output.ts";
import { showControls } from "./show-controls.ts";
import { formatAge, formatBytes } from "./sizes.ts";

/** Prints a database with all its details and pods. `now` is a time in milliseconds. */
export function printDatabase(database: Database, out: Output, now = Date.now()): void {
  const full = describeFullServer(database);
  const rows: [name: string, value: string | null][] = [
    ["uri", database.uri],
    ["writes", full === undefined ? null : `refused. ${full.what}`],
    ["hint", full?.hint ?? null],
    ...resourceRows(database, now),
    ["image", describeImage(database.image)],
    ["project", describeProject(database)],
    ["build", describeBuild(database)],
    ["generation", String(database.generation)],
    ["sleeps", describeSleep(database)],
    ["awake", database.awake_because],
    ["operation", database.operation && `${database.operation.kind}  ${database.operation.id}`],
    ["failure", database.failure && `${database.failure.detail} (${database.failure.code})`],
    ["hint", database.failure?.hint ?? null],
    ["deleted", describeDeletion(database)],
  ];
  out.line(`${database.name}  ${database.state}`);
  for (const [name, value] of rows) if (value !== null) out.line(`    ${name.padEnd(10)}  ${showControls(value)}`);
  if (database.pods.length === 0) return;
  out.line();
  const header = ["POD ID", "STATUS", "READY", "RESTARTS", "AGE", "MEMORY"];
  for (const line of alignColumns([header, ...database.pods.map((pod) => podCells(pod, now))])) out.line(line);
  for (const { id, reason } of database.pods) if (reason !== null) out.line(`    ${id}: ${showControls(reason)}`);
  for (const pod of database.pods) {
    const end = describeMemoryEnd(pod, database, now);
    if (end !== null) out.line(`    ${pod.id}: ${end.text}\n    hint: ${end.hint}`);
  }
}

/** A pod that ended because it needed too much memory; null for none, and once its database has more. */
export function describeMemoryEnd(
  { ended_by_memory: end }: Pod,
  { desired_resources: desired, uri }: Pick<Database, "desired_resources" | "uri">,
  now = Date.now(),
): { readonly text: string; readonly hint: string; readonly age_s: number } | null {
  if (end == null || desired.memory_mb > end.memory_mb) return null;
  const ageS = Math.max(0, (now - Date.parse(end.at)) / 1000);
  return {
    text: `it ended ${formatAge(ageS)} ago, because it needed more memory than its memory_mb of ${end.memory_mb}`,
    hint: `Give the database more memory_mb in its entry of service.toml: cli db update ${uri}`,
    age_s: ageS,
  };
}

/** A database in one line: address, state, resources and running operation. */
export function databaseCells({ operation, purged_at: purgedAt, resources, state, uri }: Database): string[] {
  const { cpu, disk_gb: diskGb, memory_mb: memoryMb } = resources;
  const doing = operation === null ? "" : operation.kind;
  return [
    uri,
    state,
    `cpu ${cpu}`,
    `${memoryMb} MiB`,
    `${diskGb} GiB`,
    purgedAt === null ? doing : `deleted permanently ${purgedAt}`,
  ];
}

/** Shown when a build failed although the database still runs. */
export function describeBuild({ last_build: lastBuild }: Database): string | null {
  if (lastBuild === null || lastBuild.state === "succeeded") return null;
  if (lastBuild.state === "running") return "running";
  const { error } = lastBuild;
  return error === null ? "failed" : `failed: ${error.detail} (${error.code})`;
}

function resourceRows(
  { desired_resources: desiredResources, resources, usage, used }: Database,
  now: number,
): [string, string][] {
  const row = (name: string, is: number, desired: number, unit: string, used = ""): [string, string] => {
    const suffix = is === desired ? "" : `   desired ${desired}${unit}`;
    return [name, `${is}${unit}${suffix}${used}`];
  };
  const disk =
    // 0 bytes means not measured yet: every cluster has some
    usage === null || usage.disk_bytes === 0
      ? ""
      : `   ${formatBytes(usage.disk_bytes)} used${describeAge(usage.measured_at, now)}${usage.is_disk_full ? "; FULL: writes are refused until disk_gb is increased" : ""}`;
  const isInBucket = usage?.is_media_in_bucket === true;
  const media =
    isInBucket || !usage?.media_objects
      ? ""
      : `; ${formatBytes(usage.media_bytes ?? 0)} of it in ${count(usage.media_objects, "media file")}`;
  const memory = usage?.memory_bytes == null ? "" : `   ${formatBytes(usage.memory_bytes)} used`;
  return [
    row("cpu", resources.cpu, desiredResources.cpu, ""),
    row("memory", resources.memory_mb, desiredResources.memory_mb, " MiB", memory),
    row("disk", resources.disk_gb, desiredResources.disk_gb, " GiB", disk + media),
    ...(isInBucket ? [["media", describeBucket(usage, now)] as [string, string]] : []),
    row("workers", resources.workers, desiredResources.workers, ""),
    ["used", `${formatAge(used.cpu_seconds)} of processors, awake ${formatAge(used.awake_seconds)}`],
  ];
}

/** When the usage was counted: what was written since then is not part of it. */
function describeAge(measuredAt: string | null | undefined, now: number): string {
  return measuredAt == null ? "" : `, counted ${formatAge(Math.max(0, (now - Date.parse(measuredAt)) / 1000))} ago`;
}

/** What a media store holds in the bucket of the server's operator. */
function describeBucket(usage: NonNullable<Database["usage"]>, now: number): string {
  const { media_bytes: bytes = 0, media_limit_bytes: limit, media_objects: objects = 0 } = usage;
  const used = `${formatBytes(bytes)} in ${count(objects, "media file")}, in the bucket of the server`;
  const full = limit != null && bytes >= limit ? "; FULL: files are refused until media_gb is increased" : "";
  return `${limit == null ? "" : `${limit / 1024 ** 3} GiB   `}${used}${describeAge(usage.measured_at, now)}${full}`;
}

function describeImage({ bytes, hash, packages, python, source }: Database["image"]): string {
  const version = python === null ? "" : `, Python ${python}`;
  if (hash === null) return `base library alone${version}`;
  const packed = packages === 1 ? "1 package" : `${packages} packages`;
  return `${source ?? "base library"}  ${hash.slice(0, 8)}${version}, ${packed}, ${formatBytes(bytes)}`;
}

function describeProject({ project }: Database): string {
  if (project === null) return "no files";
  const files = project.files === 1 ? "1 file" : `${project.files} files`;
  return `${files}, ${formatBytes(project.bytes)}  ${project.digest.slice(0, 8)}  of ${project.uploaded_at}`;
}

function describeSleep({ sleep_after: sleepAfter, wake_on_request: wakeOnRequest }: Database): string {
  const wakes = wakeOnRequest ? "a request wakes it" : "no request wakes it";
  return sleepAfter === "never" ? "never automatically" : `after ${sleepAfter} idle; ${wakes}`;
}

function describeDeletion({ purged_at: purgedAt, uri }: Database): string | null {
  return purgedAt === null
    ? null
    : `deleted permanently at ${purgedAt}; restore it before with: cli db undelete ${uri}`;
}

function podCells(pod: Pod, now: number): string[] {
  const age = pod.started_at === null ? "" : formatAge((now - Date.parse(pod.started_at)) / 1000);
  const memory = pod.memory_bytes === null ? "" : formatBytes(pod.memory_bytes);
  return [pod.id, pod.state, pod.state === "READY" ? "1/1" : "0/1", String(pod.restarts), age, memory];
}
