import { existsSync, readdirSync } from "node:fs";
import { type Context, confirm } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { FORCE_FLAG } from "../parameters.ts";
import { stopDaemon } from "./stop.ts";

interface Flags extends JsonFlag {
  readonly force: boolean;
}

interface ResetResult {
  readonly home: string;
  /** Names of the removed local databases, if the daemon could list them. */
  readonly databases: readonly string[] | null;
  /** Names in the home. */
  readonly removed: readonly string[];
  readonly kept: readonly string[];
}

/** Also works when no daemon responds; processes of the home are then ended by pid. */
export const reset = defineCommand<Flags, [], ResetResult>({
  brief: "Empty the home: end the daemon and remove all local databases and services",
  examples: [
    ["cli daemon reset", "show what is deleted, ask, and start from an empty home"],
    ["SERVICE_HOME=/data/home cli daemon reset -f", "another home, without asking"],
  ],
  parameters: { flags: { force: FORCE_FLAG }, aliases: { f: "force" } },
  run: async (ctx, flags) => {
    const { home } = ctx.config;
    const { emptyHome, findLocalData } = await import("@appdb/postgres/homes/empty-home");
    const removed = findLocalData(home);
    const present = existsSync(home) ? readdirSync(home).filter((name) => !removed.includes(name)) : [];
    if (removed.length === 0) return { home, databases: [], removed, kept: present };
    const databases = await namesOfDatabases(ctx);
    describe(ctx, { home, databases, removed, kept: present });
    await confirm(ctx, {
      question: "Remove all of this permanently?",
      force: flags.force,
      again: commandLine(["daemon", "reset", "-f"]),
    });
    await stopDaemon(ctx).catch((error: unknown) => {
      // a daemon that hangs is ended by its pid, with the home locked
      ctx.out.note(`The daemon did not stop on request: ${error instanceof Error ? error.message : error}`);
    });
    const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
    await emptyHome({ home, runtime_base: ctx.config.daemon_env["XDG_RUNTIME_DIR"], log });
    return { home, databases, removed, kept: present };
  },
  render: ({ home, removed }, out) => {
    out.line(
      removed.length === 0
        ? `${home} has no local data.`
        : `Removed the local data of ${home}. The next command starts from nothing.`,
    );
  },
});

function describe(ctx: Pick<Context, "out" | "config">, { databases, home, kept, removed }: ResetResult): void {
  const named = databases === null || databases.length === 0 ? "" : `: ${databases.join(", ")}`;
  ctx.out.note(`In ${home} this is deleted, with every local database${named}`);
  ctx.out.note(`    ${removed.join(", ")}`);
  if (kept.length > 0) ctx.out.note(`These stay: ${kept.join(", ")}`);
  if (ctx.config.daemon_env["SERVICE_LOCAL_DATABASE_URL"]) {
    ctx.out.note("Databases of the server that SERVICE_LOCAL_DATABASE_URL names are kept too.");
  }
}

/** Null when the daemon or its PostgreSQL does not respond, which may be the reason for the reset. */
async function namesOfDatabases(ctx: Pick<Context, "daemon" | "signal">): Promise<string[] | null> {
  try {
    const found = await ctx.daemon.find();
    const all = (
      await found?.client.call(
        "databaseList",
        {},
        { signal: AbortSignal.any([ctx.signal, AbortSignal.timeout(5_000)]) },
      )
    )?.databases;
    return all?.map(({ name }) => name) ?? null;
  } catch {
    return null;
  }
}

function ignore(): void {}
