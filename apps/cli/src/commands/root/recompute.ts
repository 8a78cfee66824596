import { AppError, appError } from "@appdb/contract/errors";
import type { OnError, RecomputePlan, RecomputeResult } from "@appdb/contract/jobs";
import { isHosted, parseTablePath, shownTablePath } from "@appdb/contract/names";
import type { RecomputePlanRequest } from "@appdb/contract/routes/local";
import { confirm } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { describeOutdated } from "../../output/outdated-text.ts";
import type { Output } from "../../output/output.ts";
import { showProgress } from "../../output/progress.ts";
import { findProject } from "../../project/find-project.ts";
import { followJobs, isBroken, wasCancelled } from "../broken-work.ts";
import { DRY_RUN_FLAG, FORCE_FLAG, PYTHON_FLAG, text } from "../parameters.ts";
import { openWork } from "../work-target.ts";

interface Flags extends JsonFlag {
  readonly app?: string;
  readonly python?: string;
  readonly errorsOnly: boolean;
  readonly noCascade: boolean;
  readonly onError?: OnError;
  readonly force: boolean;
  readonly dryRun: boolean;
}

/** With `abort`, a failing cell restores every row. With `--errors-only`, there is nothing to restore. */
export const recompute = defineCommand<Flags, string[], RecomputePlan | RecomputeResult>({
  brief: "Recompute columns of existing rows",
  examples: [
    ["cli recompute main/docs summary", "the column summary and the columns that read it"],
    ["cli recompute main/docs summary --errors-only", "only cells that failed"],
    ["cli recompute cloud://acme:main/docs summary", "the same of a hosted database"],
    ["cli recompute main/docs --on-error ignore", "all computed columns; failing cells become null"],
  ],
  parameters: {
    positional: {
      kind: "array",
      parameter: {
        brief: "The table, then columns; defaults to all computed ones",
        placeholder: "TABLE COLUMN",
        parse: text,
      },
      minimum: 1,
    },
    flags: {
      app: {
        kind: "parsed",
        parse: text,
        optional: true,
        brief: "Use this file's Python and this terminal's environment instead of those of the last update",
        placeholder: "file",
      },
      python: PYTHON_FLAG,
      errorsOnly: { kind: "boolean", brief: "Only rows with a failing cell in these columns", default: false },
      noCascade: {
        kind: "boolean",
        brief: "Do not recompute the columns that read them",
        default: false,
        withNegated: false,
      },
      onError: {
        kind: "enum",
        values: ["abort", "ignore"],
        optional: true,
        brief:
          "For a failing cell, restore everything (abort), or store null with the error (ignore; the default with --errors-only)",
      },
      force: FORCE_FLAG,
      dryRun: DRY_RUN_FLAG,
    },
    aliases: { f: "force", n: "dryRun" },
  },
  run: async (ctx, flags, table = "", ...columns) => {
    refuseOrder([table, ...columns]);
    const path = parseTablePath(table);
    if (path.target.kind === "hosted") refuseRuntime(flags, path.target.text);
    const request: RecomputePlanRequest = {
      table: path.text,
      columns,
      cascade: !flags.noCascade,
      on_error: flags.onError ?? (flags.errorsOnly ? "ignore" : "abort"),
      errors_only: flags.errorsOnly,
    };
    const [app, work] = await Promise.all([
      flags.app === undefined ? undefined : ctx.readApplication({ file: flags.app, python: flags.python }),
      openWork(ctx, path.target),
    ]);
    const asTyped = <T extends RecomputePlan>(of: T): T => ({ ...of, table: shownTablePath(table, of.table) });
    const plan = asTyped(await work.recomputePlan(request));
    if (!flags.json) printPlan(plan, ctx.out);
    if (flags.dryRun || plan.columns.length === 0) return plan;
    await confirm(ctx, {
      question: `Compute ${describe(plan)} again?`,
      force: flags.force,
      again: commandLine([...commandWords(flags, table, columns), "-f"]),
    });
    const recomputeRequest = { ...request, runtime: app?.runtime ?? null, manifest: app?.manifest ?? null };
    const jobs = followJobs(path.target.text, showProgress(ctx.out, flags.json, "computing"));
    const result = await work.recompute(recomputeRequest, jobs.onProgress).catch((error: unknown) => {
      if (ctx.signal.aborted) throw jobContinues(path.target.text, work.worker, error);
      if (error instanceof AppError && error.code === "job_cancelled")
        throw wasCancelled(error, commandLine(commandWords(flags, table, columns)));
      if (!isBroken(error)) throw error;
      const explained = jobs.explain(error);
      if (explained !== undefined) throw explained;
      throw error.code === "daemon_failed" ? isResumed(path.target.text, error) : error;
    });
    ctx.out.status("");
    const services = result.outdated ?? [];
    const root = services.length === 0 ? undefined : findProject(ctx.cwd)?.root;
    for (const outdated of services) ctx.out.note(`warning: ${describeOutdated(outdated, root)}`);
    return asTyped(result);
  },
  exitCode: (result, { dryRun }) => (dryRun && result.columns.length > 0 && result.rows > 0 ? EXIT.pending : EXIT.done),
  render: (result, out, flags) => {
    if (!("job" in result)) return;
    out.line(
      `recomputed ${describe(result)}: ${count(result.rows_done, "row")}, ${count(result.errors, "cell")} failed`,
    );
    if (result.errors > 0) out.note(`hint: See them: ${commandLine(["errors", result.table])}`);
    if (flags.errorsOnly && result.rows_done === 0) out.note("No row has a failing cell in these columns.");
  },
});

function printPlan(plan: RecomputePlan, out: Output): void {
  if (plan.columns.length === 0) {
    const whose = plan.views.length === 0 ? "" : " of its own";
    out.line(`${plan.table} has no computed column${whose} that could be recomputed.`);
    const folder = /^.*[/.]/.exec(plan.table)?.[0] ?? "";
    const only = plan.errors_only ? ["--errors-only"] : [];
    for (const view of plan.views)
      out.note(`hint: Its view ${view} has: ${commandLine(["recompute", folder + view, ...only])}`);
    return;
  }
  const readers =
    plan.cascade.length === 0
      ? ""
      : `, and ${plan.cascade.join(", ")}, which read${plan.cascade.length === 1 ? "s" : ""} them`;
  const which = `${count(plan.rows, "row")}${plan.errors_only ? " with failing cells" : ""}`;
  const failing = plan.on_error === "abort" ? "a failing cell restores everything" : "failing cells become null";
  out.line(`${plan.table}: ${plan.columns.join(", ")}${readers}; ${which}; ${failing}`);
}

function describe(plan: RecomputePlan): string {
  return `${[...plan.columns, ...plan.cascade].join(", ")} of ${plan.table}`;
}

function commandWords(flags: Flags, table: string, columns: readonly string[]): string[] {
  return [
    "recompute",
    table,
    ...columns,
    ...(flags.app === undefined ? [] : ["--app", flags.app]),
    ...(flags.python === undefined ? [] : ["--python", flags.python]),
    ...(flags.errorsOnly ? ["--errors-only"] : []),
    ...(flags.noCascade ? ["--no-cascade"] : []),
    ...(flags.onError === undefined ? [] : ["--on-error", flags.onError]),
  ];
}

/** Other commands take the file first, then the database. @throws usage */
function refuseOrder(words: readonly string[]): void {
  const file = words.find((word) => word.endsWith(".py"));
  const rest = words.filter((word) => word !== file);
  const isPath = (word: string) => isHosted(word) || /[/.]/.test(word);
  const [first = "", second] = rest;
  const path = rest.find(isPath);
  if (file === undefined && (path === first || second === undefined)) return;
  const isSpelledOut = file !== undefined || first === "main" || rest.length > 2;
  const bare = second !== undefined && isSpelledOut ? `${first}/${second}` : `main/${first || "docs"}`;
  const columns = path === undefined ? rest.slice(isSpelledOut ? 2 : 1) : rest.filter((word) => word !== path);
  const app = file === undefined ? [] : ["--app", file];
  throw appError("usage", {
    detail: `Expected a table and then its columns, got ${words.map((word) => `'${word}'`).join(" ")}.`,
    hint: `Write: ${commandLine(["recompute", path ?? bare, ...columns, ...app])}`,
  });
}

/** @throws usage: a hosted database has its own files, Python and secrets */
function refuseRuntime({ app, python }: Flags, target: string): void {
  if (app === undefined && python === undefined) return;
  throw appError("usage", {
    detail: `${app === undefined ? "--python" : "--app"} is for local databases: ${target} runs its functions with its own files and image.`,
    hint: `Leave it out. To change the code: cli db update ${target}`,
  });
}

/** Ctrl-C ends only the watching; the work continues where the tables are. */
/** After a daemon was killed or restarted, the next one continues its jobs. */
function isResumed(target: string, cause: AppError): AppError {
  return appError("daemon_failed", {
    detail: `${cause.message} The recompute is not lost. The next daemon continues it.`,
    hint: `Continue it, and check its progress: ${commandLine(["jobs", "list", target])}`,
    meta: cause.meta,
    cause,
  });
}

function jobContinues(target: string, worker: string, cause: unknown): AppError {
  return appError("interrupted", {
    detail: `The command was interrupted. The recompute continues in ${worker}.`,
    hint: `Check its progress, or cancel it: cli jobs list ${target}; cli jobs cancel ${target} <id>`,
    cause,
  });
}
