import { isHosted } from "@appdb/contract/names";
import { nearestName } from "@appdb/contract/nearest";
import type { BrokenService, SchemaPlan, TablePlan } from "@appdb/contract/plan";
import { describeOp } from "@appdb/contract/plan-op-text";
import { commandLine, shellLine } from "./command-line.ts";
import { describeOutdated } from "./outdated-text.ts";
import type { Output } from "./output.ts";
import { recomputeLines } from "./recompute-text.ts";

/** Undeclared tables with a line of their own. */
const MAX_EXTRAS = 3;

const VERDICTS = {
  up_to_date: ["=", "no change"],
  create: ["+", "create"],
  update_additive: ["~", "update"],
  update_destructive: ["~", "update"],
  unsupported: ["!", "cannot be updated"],
} as const satisfies Record<TablePlan["resolution"], readonly [string, string]>;

/** Prints the plan of a schema update by table, and a summary. */
export function printSchemaPlan(plan: SchemaPlan, out: Output): void {
  const width = widest(plan);
  for (const table of plan.tables) {
    const [sign, verdict] = VERDICTS[table.resolution];
    out.line(`${sign} ${table.path.padEnd(width)}  ${verdict}${failures(table)}`);
    if (table.project !== undefined) {
      // What would change in it does not matter: the update is refused.
      out.line(`    belongs to the project ${table.project}`);
      continue;
    }
    for (const op of table.ops) {
      out.line(`    ${describeOp(op)}`);
      for (const line of recomputeLines(op)) out.line(`        ${line}`);
    }
  }
  for (const line of extraLines(plan, width)) out.line(line);
  for (const { table, columns, rows_done: rowsDone, rows_total: rowsTotal } of plan.jobs) {
    const rows = rowsTotal === null ? "" : ` (${rowsDone} of ${rowsTotal} rows)`;
    out.line(`* ${plan.target}/${table}: ${columns.join(", ")} still being computed${rows}; an update waits for it`);
  }
  for (const { table, column, functions, command } of plan.stale) {
    const what = column === null ? "the view has rows" : `'${column}' has values`;
    out.line(`* ${table}: ${what} from previous code of ${functions.join(", ")}; compute them again: ${command}`);
  }
  for (const outdated of plan.outdated ?? []) out.line(`* ${describeOutdated(outdated)}`);
  for (const broken of plan.breaks ?? []) {
    out.line(
      `! ${broken.service} cannot use ${broken.tables.join(", ")} from then on, until: ${commandThatMends(broken, plan)}`,
    );
  }
  for (const line of sharedTables(plan)) out.line(line);
  if (plan.other_databases !== undefined) out.line(`+ ${newDatabase(plan.target, plan.other_databases)}`);
  out.line();
  out.line(describeSum(plan));
}

/** Tables that need no change are another project's too: its rows may be meant, or the same name may be a coincidence. */
function sharedTables({ app_file: appFile, tables, target }: SchemaPlan): string[] {
  const shared = tables.filter(({ ops, project }) => project !== undefined && ops.length === 0);
  if (shared.length === 0) return [];
  const [database = ""] = target.split("/");
  const own = commandLine(["schema", "update", appFile, `${database}_2`]);
  return [
    `! ${shared.map(({ path }) => path).join(", ")}: the rows are those of another project, and ${appFile} would share them; for rows of its own: ${own}`,
  ];
}

/** A line for each undeclared table, or one for many. */
function extraLines({ app_file: appFile, extras }: SchemaPlan, width: number): readonly string[] {
  if (extras.length <= MAX_EXTRAS) {
    return extras.map((extra) => `! ${extra.padEnd(width)}  not declared in ${appFile}; left alone`);
  }
  const some = extras.slice(0, MAX_EXTRAS).join(", ");
  return [
    `! ${extras.length} tables not declared in ${appFile}; left alone: ${some} and ${extras.length - MAX_EXTRAS} more`,
  ];
}

function commandThatMends(broken: BrokenService, { target }: SchemaPlan): string {
  const { app_file: appFile, is_defined: isDefined, is_destructive: isDestructive, project_root: root } = broken;
  if (!isDefined) return commandLine(["service", "prune", appFile, target]);
  const update = commandLine(["service", "update", appFile, target, ...(isDestructive ? ["--allow-destructive"] : [])]);
  return root === null ? update : `${shellLine(["cd", root])} && ${update}`;
}

/** A new database may be a typing mistake. */
function newDatabase(target: string, others: readonly string[]): string {
  const [database = ""] = target.split("/");
  const suggestion = nearestName(database, others);
  const question = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
  return `${database} is a new local database${question}`;
}

/** Prints the result of an update from the plan before it. */
export function printAppliedSchema(plan: SchemaPlan, out: Output): void {
  const words = {
    create: "created",
    up_to_date: "unchanged",
    update_additive: "updated",
    update_destructive: "updated",
  };
  for (const table of plan.tables) {
    if (table.resolution === "unsupported") continue;
    out.line(`${words[table.resolution].padEnd(9)}  ${table.path}`);
  }
}

function failures({ path, error_count: errorCount }: TablePlan): string {
  if (errorCount === 0) return "";
  const show = isHosted(path) ? "" : `: cli errors ${path}`;
  return `  (${errorCount} failing cell${errorCount === 1 ? "" : "s"}${show})`;
}

function describeSum(plan: SchemaPlan): string {
  const { summary } = plan;
  const parts = [
    `${summary.create} to create`,
    `${summary.update_additive + summary.update_destructive} to update`,
    `${summary.up_to_date} unchanged`,
    ...(summary.extras > 0 ? [`${summary.extras} not declared`] : []),
    ...(summary.unsupported > 0 ? [`${summary.unsupported} that cannot be updated`] : []),
  ];
  const danger = summary.destructive > 0 ? `  |  ${summary.destructive} DESTRUCTIVE` : "";
  return `${plan.target}: ${plan.in_agreement ? "up to date; " : ""}${parts.join(", ")}${danger}`;
}

function widest(plan: SchemaPlan): number {
  return Math.max(16, ...plan.tables.map((table) => table.path.length), ...plan.extras.map((extra) => extra.length));
}
