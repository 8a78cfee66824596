import { describeFullServer } from "@appdb/contract/control/database-advice";
import { AppError } from "@appdb/contract/errors";
import { parseTarget, type Target } from "@appdb/contract/names";
import { VERSION } from "@appdb/contract/version";
import type { Context, MachineCheck } from "../../context.ts";
import { findOrHung } from "../../daemon/find-or-hung.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { printChecks } from "../../output/checks-text.ts";
import { describeMemoryEnd } from "../../output/database-text.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { formatBytes } from "../../output/sizes.ts";
import { takeAll } from "../account.ts";
import { openData } from "../data/data-target.ts";
import { OPTIONAL_TARGET } from "../parameters.ts";
import { diskCheck, isNoAnswer, unwritableHome } from "./home-disk.ts";
import { hostedDatabaseCheck, hostedServiceCheck, localServiceCheck } from "./service-checks.ts";

interface Health {
  readonly ok: boolean;
  readonly checks: readonly MachineCheck[];
}

/** Exits with 1 when something does not work. */
export const health = defineCommand<JsonFlag, [target?: string], Health>({
  brief: "Check that this machine's databases, or one database, work",
  examples: [
    ["cli health", "the daemon, its PostgreSQL and its services"],
    ["cli health main", "the same, and that the database exists"],
    ["cli health cloud://acme:main --json", "a hosted database and its pods, for a monitor"],
  ],
  parameters: { positional: { kind: "tuple", parameters: [OPTIONAL_TARGET] } },
  run: async (ctx, _flags, typed) => {
    const target = typed === undefined ? undefined : parseTarget(typed);
    const checks = target?.kind === "hosted" ? await checkHosted(ctx, target) : await checkLocal(ctx, target);
    return { ok: checks.every(({ ok }) => ok), checks };
  },
  render: ({ checks, ok }, out) => {
    printChecks(checks, out, "FAILED");
    out.line();
    out.line(ok ? "Everything works." : "Something does not work; the lines above say what to do.");
  },
  exitCode: ({ ok }) => (ok ? EXIT.done : EXIT.failed),
});

/** A pod that lacked memory within this time is not healthy, although it runs again. */
const MEMORY_END_S = 600;

/** The daemon restarts a PostgreSQL that has ended. */
const POSTGRES_AWAY = "Wait half a minute. If it stays so, restart it: cli daemon restart";

async function checkLocal(ctx: Context, target: Target | undefined): Promise<MachineCheck[]> {
  const { home } = ctx.config;
  const [found, space] = await Promise.all([findOrHung(ctx), ctx.readDisk(home)]);
  const disk = space === undefined ? [] : [diskCheck(space, home)];
  if (found === undefined) {
    const refused = await unwritableHome(home);
    if (refused !== undefined) {
      const detail = `does not run. ${refused.message}`;
      return [{ name: "daemon", ok: false, detail, hint: refused.hint ?? null }, ...disk];
    }
    return [{ name: "daemon", ok: false, detail: "does not run", hint: "Start it: cli daemon start" }, ...disk];
  }
  if (found instanceof AppError)
    return [{ name: "daemon", ok: false, detail: found.message, hint: found.hint ?? null }, ...disk];
  const { client } = found;
  const { pid, version } = found.health;
  const isCurrent = version === VERSION;
  const checks: MachineCheck[] = [
    {
      name: "daemon",
      ok: isCurrent,
      detail: `process ${pid}, version ${version}`,
      hint: isCurrent ? null : "Replace it: cli daemon restart",
    },
    ...disk,
  ];
  const listed = await client.call("databaseList", {}, { signal: ctx.signal }).catch((error: unknown) => {
    if (!isNoAnswer(error)) throw error;
    return error;
  });
  if (listed instanceof AppError) {
    const isKnown = listed.code === "disk_full" || found.health.postgres_failure != null;
    const hint = (isKnown ? listed.hint : undefined) ?? POSTGRES_AWAY;
    return [...checks, { name: "postgres", ok: false, detail: listed.message, hint }];
  }
  checks.splice(1, 0, { name: "postgres", ok: true, detail: "up", hint: null });
  const { databases } = listed;
  if (target?.kind === "local") {
    const exists = databases.some(({ name }) => name === target.database);
    checks.push({
      name: "database",
      ok: exists,
      detail: exists ? target.database : `${target.database} does not exist`,
      hint: exists ? null : "List those that exist: cli ls",
    });
  }
  for (const { name, services, views } of databases) {
    if (target?.kind === "local" && name !== target.database) continue;
    if (views !== 0) checks.push(...(await brokenViews(ctx, parseTarget(name))));
    checks.push(...services.map(localServiceCheck));
  }
  return checks;
}

/** Views that have no rows. */
async function brokenViews(ctx: Context, target: Target): Promise<MachineCheck[]> {
  const listed = await (await openData(ctx, target)).list().catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
    return error;
  });
  if (listed instanceof AppError) {
    // the key of a monitor need not read data
    if (listed.code === "forbidden") return [];
    return [{ name: "tables", ok: false, detail: listed.message, hint: listed.hint ?? null }];
  }
  return listed.tables.flatMap(({ is_broken: isBroken, path }): MachineCheck[] => {
    if (!isBroken) return [];
    const name = `${target.kind === "hosted" ? target.uri.text : target.database}/${path}`;
    const detail = `${name} has no rows: a column that it reads is gone`;
    return [
      {
        name: "view",
        ok: false,
        detail,
        hint: `Correct its file, then: cli schema update; or drop it: cli drop ${name}`,
      },
    ];
  });
}

async function checkHosted(ctx: Context, target: Target & { readonly kind: "hosted" }): Promise<MachineCheck[]> {
  const { client, server } = await (await ctx.control()).open();
  const { uri } = target;
  const params = { org: uri.organization, db: uri.database };
  const database = await client.call("databaseShow", { params }, { signal: ctx.signal }).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== "server_unreachable") throw error;
    return error;
  });
  if (database instanceof AppError) {
    return [{ name: "server", ok: false, detail: database.message, hint: database.hint ?? null }];
  }
  const query = { database: uri.database };
  const services = await takeAll(client.each("serviceList", { params: { org: uri.organization }, query }));
  const { pods, state, usage } = database;
  const full = describeFullServer(database);
  const isFull = usage?.is_disk_full === true;
  // a sleeping database must not wake for its health
  const isAwake = state === "AVAILABLE" && pods.every((pod) => pod.state !== "FAILED" && pod.state !== "NOT_READY");
  const views = isAwake ? await brokenViews(ctx, target) : [];
  return [
    { name: "server", ok: true, detail: server.url, hint: null },
    ...(full === undefined ? [] : [{ name: "server disk", ok: false, detail: full.what, hint: full.hint }]),
    hostedDatabaseCheck(database),
    ...views,
    ...services.map(hostedServiceCheck),
    ...pods.map((pod): MachineCheck => {
      const end = describeMemoryEnd(pod, database);
      const lacksMemory = end !== null && end.age_s < MEMORY_END_S;
      const isRunning = pod.state !== "FAILED" && pod.state !== "NOT_READY";
      const reason = lacksMemory ? end.text : pod.reason;
      const detail = `${pod.id} ${pod.state}${reason === null ? "" : `: ${reason}`}`;
      if (lacksMemory) return { name: "pod", ok: false, detail, hint: end.hint };
      return { name: "pod", ok: isRunning, detail, hint: isRunning ? null : `See its log: cli db logs ${uri.text}` };
    }),
    // a disk of 0 B was not measured yet
    ...(usage === null || usage.disk_bytes === 0
      ? []
      : [
          {
            name: "disk",
            ok: !isFull,
            detail: `${formatBytes(usage.disk_bytes)} of ${formatBytes(usage.disk_limit_bytes)}`,
            hint: isFull ? "Increase disk_gb of its entry in service.toml, then: cli db update" : null,
          },
        ]),
  ];
}
