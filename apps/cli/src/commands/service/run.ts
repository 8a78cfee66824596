import { join } from "node:path";
import { AppError, appError, fromProblem, type Problem } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import type { Manifest } from "@appdb/contract/manifest";
import { localMediaPlace } from "@appdb/contract/media-place";
import { type HostedTarget, parseLocalTarget, parseTarget, serviceText } from "@appdb/contract/names";
import type { ServiceMessage } from "@appdb/contract/service-spec";
import type { Context, RunningService } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import { withHostedMedia } from "../hosted-media.ts";
import { FILE, PYTHON_FLAG, parsePort, SERVICE, TARGET, text } from "../parameters.ts";
import { readBoth } from "../read-both.ts";
import { chooseLocalServices } from "./local-services.ts";

interface Flags extends JsonFlag {
  readonly python?: string;
  readonly port: number;
  readonly host: string;
}

/** Services and address; `--json` prints this once the service listens. */
interface Serving {
  readonly endpoint: string;
  readonly docs: string;
  readonly target: string;
  readonly services: readonly string[];
  readonly routes: number;
}

/** Returns when the service has ended: 130 after Ctrl-C, 1 when it ended on its own. Records nothing. */
export const run = defineCommand<Flags, [file: string, target: string, service?: string], undefined>({
  brief: "Serve in this terminal until Ctrl-C; one service at the root, several each under its name",
  examples: [
    ["cli service run app.py main --port 8000", "all services of the file"],
    ["cli service run app.py main ingest --host 0.0.0.0", "one of them, for the whole network"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [FILE, TARGET, SERVICE] },
    flags: {
      python: PYTHON_FLAG,
      port: {
        kind: "parsed",
        parse: (input: string) => (input === "0" ? 0 : parsePort(input)),
        brief: "Port to listen on; 0 chooses a free one",
        placeholder: "number",
        default: "8000",
      },
      host: {
        kind: "parsed",
        parse: text,
        brief: "Address to listen on",
        placeholder: "address",
        default: "127.0.0.1",
      },
    },
  },
  run: async (ctx, flags, file, target, service) => {
    const local = parseTarget(target);
    if (local.kind === "hosted") throw notForHosted(file, local);
    const [read, client] = await readBoth(ctx, { file, python: flags.python });
    const app = await withHostedMedia(ctx, read);
    const services = chooseLocalServices(app.manifest, service);
    const body = { target: local.text, ...app, services: [...services], pid: process.pid };
    const { dsn } = await client.call("openTarget", { body }, { signal: ctx.signal });
    const { foregroundLimits } = await import("../../pod/service-limits.ts");
    const limits = foregroundLimits(ctx.config.daemon_env);
    const { host, port } = flags;
    const { database } = parseLocalTarget(local.text);
    const media = localMediaPlace(join(ctx.config.home, HOME_PATHS.media, database), app.runtime.env);
    const running = await ctx.startService(
      { dsn, target: local.text, ...app, services, host, port, limits, media },
      flags.json,
    );
    await serve(ctx, running, (message) => {
      const serving = describeServing(message, { manifest: app.manifest, services, target: local.text });
      if (flags.json) ctx.out.json(serving);
      else printServing(serving, ctx);
    });
    return undefined;
  },
  render: () => undefined,
});

type Listening = Extract<ServiceMessage, { event: "listening" }>;

/**
 * Waits for the service's first message, then for its end or for Ctrl-C.
 * @throws interrupted; port_taken and other problems of the service; service_failed when it ends on its own
 */
async function serve(ctx: Context, running: RunningService, onListening: (message: Listening) => void): Promise<void> {
  const interrupted = new Promise<"interrupted">((resolve) => {
    if (ctx.signal.aborted) resolve("interrupted");
    ctx.signal.addEventListener("abort", () => resolve("interrupted"), { once: true });
  });
  const first = await Promise.race([running.ready, interrupted]);
  if (first === "interrupted") return await stopInterrupted(running);
  if (first.event === "failed") {
    await running.ended;
    throw await explainPort(ctx, fromProblem(first.problem as unknown as Problem));
  }
  onListening(first);
  const end = await Promise.race([running.ended, interrupted]);
  if (end === "interrupted") return await stopInterrupted(running);
  throw appError("service_failed", {
    detail: `The service ended unexpectedly (${end === null ? "it was killed" : `code ${end}`}).`,
    hint: "See its last lines above.",
  });
}

/** Names the background service of this home that uses the port, if there is one. */
async function explainPort(ctx: Pick<Context, "daemon" | "signal">, error: AppError): Promise<AppError> {
  const port = error.code === "port_taken" ? error.meta?.["port"] : undefined;
  const daemon = port === undefined ? undefined : await ctx.daemon.find();
  const services = (await daemon?.client.call("serviceList", {}, { signal: ctx.signal }))?.services ?? [];
  const owner = services.find((service) => service.port === port && service.endpoint !== null);
  if (owner === undefined) return error;
  return appError("port_taken", {
    detail: `Port ${owner.port} is in use by your service ${serviceText(owner)}.`,
    hint: `Choose another port: --port <number>   or stop that service: cli service stop ${serviceText(owner)}`,
    meta: { port: owner.port, service: serviceText(owner) },
    cause: error,
  });
}

async function stopInterrupted(running: RunningService): Promise<never> {
  await running.stop();
  throw new AppError("interrupted", { detail: "The service has stopped." });
}

function describeServing(
  message: Listening,
  input: { readonly manifest: Manifest; readonly services: readonly string[]; readonly target: string },
): Serving {
  const { services, target } = input;
  const endpoint = `http://${hostForUrl(message.address)}:${message.port}`;
  const served = input.manifest.services.filter((service) => services.includes(service.name));
  const routes = served.reduce((sum, service) => sum + service.routes.length, 0);
  const [only] = services;
  const docs = services.length === 1 ? `${endpoint}/docs` : `${endpoint}/${only}/docs`;
  return { endpoint, docs, target, services, routes };
}

/** A host for browsers: loopback for a service on every interface, IPv6 in brackets. */
function hostForUrl(address: string): string {
  if (address === "0.0.0.0" || address === "::") return "127.0.0.1";
  return address.includes(":") ? `[${address}]` : address;
}

function printServing(serving: Serving, ctx: Context): void {
  const { docs, endpoint, routes, services, target } = serving;
  ctx.out.line(`${services.map((service) => `${target}/${service}`).join(", ")} at ${endpoint}`);
  ctx.out.line(`  Routes: ${routes}`);
  ctx.out.line(`  API docs: ${docs}`);
  if (services.length > 1) {
    ctx.out.line(
      `  ${count(services.length, "service")}, each under its name: ${services.map((name) => `/${name}`).join(", ")}`,
    );
  }
  ctx.out.note("Press Ctrl-C to stop.");
}

function notForHosted(file: string, { text: target }: HostedTarget): AppError {
  return appError("hosted_not_available", {
    detail: `service run serves in this terminal and is not for hosted databases; ${target} is one.`,
    hint: `Serve it there: ${commandLine(["service", "update", file, target])}   or here, from a local database: ${commandLine(["service", "run", file, "main"])}`,
    meta: { target },
  });
}
