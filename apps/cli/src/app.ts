import { VERSION } from "@appdb/contract/version";
import {
  type Application,
  buildApplication,
  buildCommand,
  buildRouteMap,
  type Command,
  type RouteMap,
  run,
} from "@stricli/core";
import { hasPlan, type Leaf, type Noun, wordsOf } from "./command-entry.ts";
import { LEAVES, NOUNS } from "./command-table.ts";
import type { Context, World } from "./context.ts";
import type { CompletedCommand } from "./output/completion-scripts.ts";
import { exitCodeOf } from "./output/exit-codes.ts";
import { collectUsageText, toKebab } from "./output/usage-text.ts";

/**
 * Runs one command line. Loads only the command that `argv` names; the others are listed by name for help and for "did
 * you mean".
 */
export async function runCommandLine(argv: readonly string[], world: World): Promise<void> {
  const ctx: Context = { ...world, has_plan: hasPlan({ leaves: LEAVES, nouns: NOUNS }, argv) };
  const usage = collectUsageText(argv, wordsOf({ leaves: LEAVES, nouns: NOUNS }, argv));
  const inputs = expandAliases(argv);
  const root = await buildTree(inputs);
  await run(buildCli(root, usage.text), inputs, ctx);
  if (usage.problem === undefined) return;
  ctx.out.problem(usage.problem, argv.includes("--json"));
  ctx.process.exitCode = exitCodeOf("usage", ctx.has_plan);
}

/**
 * Maps `cli help schema` and `cli schema help` to `cli schema --help`, and `cli -V` to `cli --version`, as other tools
 * do.
 */
function expandAliases(argv: readonly string[]): readonly string[] {
  const [first, second] = argv;
  if (first === undefined) return ["--help"];
  if (first === "help") return [...argv.slice(1), "--help"];
  if (first === "psql") return ["psql", ...splitPsqlWords(argv.slice(1))];
  if (second === "help" && Object.hasOwn(NOUNS, first)) return [first, ...argv.slice(2), "--help"];
  return first === "-V" && second === undefined ? ["--version"] : argv;
}

const PSQL_OPTIONS: ReadonlySet<string> = new Set(["--write", "--url", "--json", "--help", "--helpAll", "-h"]);

/** What follows the target of `cli psql` is for psql, from the first word that is not an option of ours. */
function splitPsqlWords(words: readonly string[]): readonly string[] {
  const target = words.findIndex((word) => !PSQL_OPTIONS.has(word));
  const own = words.slice(target + 1).findIndex((word) => !PSQL_OPTIONS.has(word));
  if (target < 0 || own < 0 || words.includes("--")) return words;
  const at = target + 1 + own;
  return [...words.slice(0, at), "--", ...words.slice(at)];
}

/** Every command with its options, for completions. Only this loads all command files. */
export async function listCommands(): Promise<CompletedCommand[]> {
  const leaves = Object.entries(LEAVES);
  for (const [noun, { verbs }] of Object.entries(NOUNS)) {
    for (const [verb, leaf] of Object.entries(verbs)) leaves.push([`${noun} ${verb}`, leaf]);
  }
  const commands: CompletedCommand[] = [];
  for (const [command, { brief, load }] of leaves) {
    const names = Object.keys((await load()).parameters.flags ?? {});
    commands.push({ command, brief, flags: [...names.map((name) => `--${toKebab(name)}`), "--help"] });
  }
  return commands;
}

function buildCli(root: RouteMap<Context>, text: ReturnType<typeof collectUsageText>["text"]): Application<Context> {
  return buildApplication(root, {
    name: "cli",
    versionInfo: { currentVersion: VERSION },
    scanner: { caseStyle: "allow-kebab-for-camel", allowArgumentEscapeSequence: true },
    documentation: { caseStyle: "convert-camel-to-kebab", disableAnsiColor: true },
    localization: { text },
  });
}

async function buildTree(argv: readonly string[]): Promise<RouteMap<Context>> {
  const [first = "", second = ""] = argv;
  const routes: Record<string, Command<Context> | RouteMap<Context>> = {};
  const noun = Object.hasOwn(NOUNS, first) ? NOUNS[first] : undefined;
  const leaf = Object.hasOwn(LEAVES, first) ? LEAVES[first] : undefined;
  if (noun !== undefined) routes[first] = await buildNoun(noun, second);
  else if (leaf !== undefined) routes[first] = await leaf.load();
  else {
    // the help and "did you mean" list all; building them takes some milliseconds
    for (const [name, noun] of Object.entries(NOUNS)) routes[name] = await buildNoun(noun, undefined);
    for (const [name, leaf] of Object.entries(LEAVES)) routes[name] = unloadedCommand(leaf);
  }
  return buildRouteMap<string, Context>({
    routes,
    docs: {
      brief: "Tables, computed columns and HTTP routes from one file, app.py",
      fullDescription: [
        "Tables, computed columns and HTTP routes from one file, app.py.",
        "",
        "EXAMPLES",
        "  cli init                             make this folder a project",
        "  cli service example --out app.py     write an application to start from",
        "  cli examples                         list whole applications to read and run",
        "  cli schema update app.py main        make its tables in the local database main",
        "  cli service run app.py main          serve its routes",
        "  cli login                            sign in to a hosted service",
      ].join("\n"),
    },
  });
}

async function buildNoun(noun: Noun, verbName: string | undefined): Promise<RouteMap<Context>> {
  const routes: Record<string, Command<Context>> = {};
  // `cli schema --help` shows the usage of each verb, so it loads all of them.
  const all = verbName !== undefined && !Object.hasOwn(noun.verbs, verbName);
  for (const [verb, leaf] of Object.entries(noun.verbs)) {
    routes[verb] = all || verbName === verb ? await leaf.load() : unloadedCommand(leaf);
  }
  const { default_verb: defaultCommand } = noun;
  return buildRouteMap<string, Context>({
    routes,
    docs: { brief: noun.brief },
    ...(defaultCommand === undefined ? {} : { defaultCommand }),
  });
}

/** A command that is only listed. `buildTree` loads the one that the command line names. */
function unloadedCommand(leaf: Leaf): Command<Context> {
  return buildCommand<Record<never, never>, [], Context>({
    docs: { brief: leaf.brief },
    parameters: {},
    func: () => new Error(`The command '${leaf.brief}' was not loaded.`),
  });
}
