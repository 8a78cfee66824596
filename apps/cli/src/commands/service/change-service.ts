import { type AppError, appError } from "@appdb/contract/errors";
import { parseServiceName, type ServiceName } from "@appdb/contract/names";
import type { Operation } from "@appdb/contract/routes/control";
import type { HostedService } from "@appdb/contract/routes/control-services";
import type { ServiceRecord } from "@appdb/contract/routes/local";
import { waitForOperation } from "@appdb/system/control/wait-for-operation";
import type { Context, Control } from "../../context.ts";
import { commandLine } from "../../output/command-line.ts";

/** A local or hosted service in the form that its list prints. */
export type AnyService = ServiceRecord | HostedService;

type LocalClient = Awaited<ReturnType<Context["daemon"]["ensure"]>>;
export interface HostedAddress {
  readonly params: { readonly org: string; readonly db: string; readonly service: string };
}

interface ChangeInput {
  readonly local: (client: LocalClient, name: string) => Promise<ServiceRecord>;
  readonly hosted: "serviceStop" | "serviceRestart";
}

/**
 * Changes each named service in order, after parsing all names. Waits for hosted ones.
 * @throws invalid_target, service_not_found, the operation's error
 */
export async function changeServices(
  ctx: Pick<Context, "control" | "daemon" | "out" | "signal">,
  names: readonly string[],
  { hosted, local }: ChangeInput,
): Promise<AnyService[]> {
  const addresses = names.map((name) => parseServiceName(name));
  const services: AnyService[] = [];
  for (const address of addresses) {
    if (address.target.kind === "local") services.push(await local(await ctx.daemon.ensure(), address.text));
    else services.push(await changeHosted(ctx, address, hosted));
  }
  return services;
}

/** Requests one change of a hosted service and waits for it. @throws the operation's error; interrupted */
export async function changeHosted(
  ctx: Pick<Context, "control" | "out" | "signal">,
  address: ServiceName,
  route: "serviceStop" | "serviceRestart" | "serviceRetry",
): Promise<HostedService> {
  const control = await (await ctx.control()).open();
  const { params } = hostedAddress(address);
  const { operation, service } = await control.client.call(route, { params }, { signal: ctx.signal });
  if (operation === null) return service;
  await waitForChange(ctx, control, { org: params.org, id: operation.id });
  return await control.client.call("serviceShow", { params }, { signal: ctx.signal });
}

/** Waits for a requested change of a service and shows its progress. @throws the operation's error; interrupted */
export async function waitForChange(
  ctx: Pick<Context, "out" | "signal">,
  { client }: Pick<Control, "client">,
  operation: { readonly org: string; readonly id: string },
): Promise<Operation> {
  const ended = await waitForOperation(client, {
    ...operation,
    signal: ctx.signal,
    onRunning: ({ kind, state, target }) => ctx.out.status(`${kind} ${target}: ${state}`),
  });
  ctx.out.status("");
  return ended;
}

/** Address of a hosted service in the control plane's paths. */
export function hostedAddress({ service, target }: ServiceName): HostedAddress {
  if (target.kind === "local") throw new Error("A local service has no path of the control plane.");
  const { database, organization } = target.uri;
  return { params: { org: organization, db: database, service: [...target.folders, service].join("/") } };
}

/** Parses the service of a command for hosted services only. @throws invalid_target; usage for a local one */
export function requireHostedService(typed: string, verb: string): ServiceName {
  const address = parseServiceName(typed);
  if (address.target.kind === "hosted") return address;
  throw forHosted(address.text, verb);
}

function forHosted(name: string, verb: string): AppError {
  return appError("usage", {
    detail: `service ${verb} is for hosted services; ${name} is a local one without releases.`,
    hint:
      verb === "retry"
        ? `Restart it: ${commandLine(["service", "restart", name])}`
        : `Name a hosted one, for example: ${commandLine(["service", verb, "cloud://acme:main/ingest"])}`,
    meta: { service: name },
  });
}
