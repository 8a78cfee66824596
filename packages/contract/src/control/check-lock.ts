import { parse } from "smol-toml";
import * as z from "zod";

/** A requirement of which everything counts here: `tiny>=0.5, <2`. */
const PLAIN = /^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*\(?([^;@()]*)\)?$/;
/** A condition that uv writes as it stands. */
const CONDITION = /^(==|>=|<=|<|>|!=)(0|[1-9]\d*)(\.(0|[1-9]\d*))*(\.\*)?$/;
const ROOT = /^source = \{ (virtual|editable) = "\." \}$/m;

const pyprojectSchema = z.object({
  project: z.object({
    name: z.string().optional(),
    dynamic: z.array(z.string()).default([]),
    dependencies: z.array(z.string()).default([]),
    "optional-dependencies": z.record(z.string(), z.array(z.string())).default({}),
  }),
});
const rootSchema = z.object({
  package: z.tuple([
    z.object({
      name: z.string(),
      metadata: z
        .object({ "requires-dist": z.array(z.looseObject({ name: z.string() })).default([]) })
        .default({ "requires-dist": [] }),
    }),
  ]),
});
type Locked = z.output<typeof rootSchema>["package"][0]["metadata"]["requires-dist"];

/**
 * What tells that a uv.lock was not made for a pyproject.toml: a build takes what the lock says, and would lack a package that was added
 * since. Undefined when nothing does; what is not understood, or written anew by uv, tells nothing.
 */
export function findStaleLock(lock: string, pyproject: string): string | undefined {
  const project = pyprojectSchema.safeParse(parseQuietly(pyproject)).data?.project;
  const block = lock.split(/^(?=\[\[package\]\]$)/m).find((text) => text.startsWith("[[package]]") && ROOT.test(text));
  const root = block === undefined ? undefined : rootSchema.safeParse(parseQuietly(block)).data?.package[0];
  if (project === undefined || root === undefined) return undefined;
  if (project.dynamic.some((name) => name === "dependencies" || name === "optional-dependencies")) return undefined;
  if (project.name !== undefined && nameOf(project.name) !== root.name) {
    return `it is of the project ${root.name}, and pyproject.toml is of ${nameOf(project.name)}`;
  }
  const locked = root.metadata["requires-dist"];
  const wanted = [...project.dependencies, ...Object.values(project["optional-dependencies"]).flat()];
  const names = wanted.map((text) => nameOf(/^\s*([A-Za-z0-9._-]+)/.exec(text)?.[1] ?? ""));
  const lacks = names.find((name) => !locked.some((one) => one.name === name));
  if (lacks !== undefined) return `pyproject.toml asks for ${lacks}, of which it knows nothing`;
  const left = locked.find(({ name }) => !names.includes(name));
  if (left !== undefined) return `it has ${left.name}, which pyproject.toml does not ask for any more`;
  return findOtherVersion(project.dependencies, locked);
}

function findOtherVersion(wanted: readonly string[], locked: Locked): string | undefined {
  for (const text of wanted) {
    const [, written = "", conditions = ""] = PLAIN.exec(text.trim()) ?? [];
    const name = nameOf(written);
    const same = wanted.filter((other) => nameOf(/^\s*([A-Za-z0-9._-]+)/.exec(other)?.[1] ?? "") === name);
    const [found, ...others] = locked.filter((one) => one.name === name && one["marker"] === undefined);
    if (written === "" || same.length > 1 || found === undefined || others.length > 0) continue;
    // one that comes from elsewhere than an index has no versions
    if (Object.keys(found).some((key) => !["name", "specifier", "extras"].includes(key))) continue;
    const is = splitConditions(String(found["specifier"] ?? ""));
    const shall = splitConditions(conditions);
    if (![...is, ...shall].every((one) => CONDITION.test(one)) || is.join() === shall.join()) continue;
    return `pyproject.toml asks for ${name}${shall.join(",")}, and it is of ${name}${is.join(",")}`;
  }
  return undefined;
}

function splitConditions(text: string): string[] {
  return text
    .split(",")
    .map((one) => one.replaceAll(/\s/g, ""))
    .filter((one) => one !== "")
    .sort();
}

/** As indexes know it. */
function nameOf(written: string): string {
  return written.toLowerCase().replaceAll(/[-_.]+/g, "-");
}

function parseQuietly(text: string): unknown {
  try {
    return parse(text);
  } catch {
    // whoever collects and builds says what is wrong with it
    return undefined;
  }
}
