import { describeApplied } from "@appdb/contract/applied-plan";
import { appError } from "@appdb/contract/errors";
import type { HostedTarget } from "@appdb/contract/names";
import type { ServicePlanItem } from "@appdb/contract/plan";
import type { HostedService } from "@appdb/contract/routes/control-services";
import type { Context, Control } from "../../context.ts";
import { commandLine } from "../../output/command-line.ts";
import { findApplication } from "../../project/find-project.ts";
import { readProject } from "../../project/read-project.ts";
import { takeAll } from "../account.ts";
import { notSelected, pythonDigests } from "../sent-files.ts";
import { waitForChange } from "./change-service.ts";
import type { ServiceTarget, ServiceTargetInput } from "./service-target.ts";

/**
 * Opens a hosted database, whose own Python reads its files. They must equal the project's where the application
 * imports them.
 * @throws usage for options of local services; app_outside_project
 */
export async function openHostedServices(
  ctx: Context,
  input: ServiceTargetInput,
  target: HostedTarget,
): Promise<ServiceTarget> {
  refuseLocalOptions(input, target);
  const { app_file: appFile, project } = findApplication(ctx.cwd, input.file);
  const read = await readProject(ctx, project.root, target.uri.text);
  if (!read.tree.digests.has(appFile)) throw notSelected(appFile, read);
  const control = await (await ctx.control()).open();
  const { client } = control;
  const { signal } = ctx;
  const params = { org: target.uri.organization, db: target.uri.database };
  const app = { app_file: appFile, folders: [...target.folders], file_digests: pythonDigests(read) };
  const request = { ...app, service: input.service ?? null };
  const sent = read.tree.entries.map((entry) => ({ ...entry, chunks: [...entry.chunks] }));
  const { preparation } = input;
  const of =
    preparation === undefined
      ? { files: input.files === "here" ? sent : null }
      : { files: null, file_digests: null, preparation };
  const plan = async () => await client.call("servicePlan", { params, body: { ...request, ...of } }, { signal });
  let planned: Awaited<ReturnType<typeof plan>> | undefined;
  return {
    plan: async () => {
      planned = await plan();
      return planned.plan;
    },
    async apply({ allow_destructive: allowDestructive }) {
      planned ??= await plan();
      const { version } = planned;
      const body = { ...request, expected_version: version, allow_destructive: allowDestructive };
      const answer = await client.call("serviceUpdate", { params, body }, { signal });
      await waitForAll(ctx, control, params.org, answer.operations);
      const services = await listHostedServices(control, params, signal);
      return describeApplied(answer.plan, (item) => services.find(({ name }) => name === nameWithinDatabase(item)));
    },
    async prune(dryRun) {
      const answer = await client.call("servicePrune", { params, body: { ...app, dry_run: dryRun } }, { signal });
      await waitForAll(ctx, control, params.org, answer.operations);
      return answer.plan;
    },
  };
}

/**
 * Waits until all operations have ended, so that nothing is running after a failure.
 * @throws the first failure; interrupted
 */
async function waitForAll(
  ctx: Context,
  control: Control,
  org: string,
  operations: readonly { readonly id: string; readonly service: string }[],
): Promise<void> {
  const failures: { readonly service: string; readonly error: unknown }[] = [];
  const done: string[] = [];
  for (const { id, service } of operations) {
    try {
      await waitForChange(ctx, control, { org, id });
      done.push(service);
    } catch (error) {
      if (ctx.signal.aborted) throw error;
      failures.push({ service, error });
    }
  }
  const [first, ...others] = failures;
  if (first === undefined) return;
  if (done.length > 0) ctx.out.note(`done: ${done.join(", ")}`);
  if (others.length > 0) ctx.out.note(`failed as well: ${others.map(({ service }) => service).join(", ")}`);
  throw first.error;
}

/** All services of a hosted database. */
export async function listHostedServices(
  { client }: Pick<Control, "client">,
  params: { readonly org: string; readonly db: string },
  signal: AbortSignal,
): Promise<HostedService[]> {
  const { db, org } = params;
  return await takeAll(client.each("serviceList", { params: { org }, query: { database: db } }, { signal }));
}

/** A planned service's name in the form of `service list`. */
function nameWithinDatabase({ catalog_path: catalogPath, name }: ServicePlanItem): string {
  return [...catalogPath.split("/").slice(3), name].join("/");
}

function refuseLocalOptions({ file, port, python }: ServiceTargetInput, target: HostedTarget): void {
  if (port === undefined && python === undefined) return;
  const option = port === undefined ? "--python" : "--port";
  const reason =
    option === "--port"
      ? "the server chooses the address of a hosted service"
      : `${target.text} uses the Python of its image`;
  throw appError("usage", {
    detail: `${option} is for local services: ${reason}.`,
    hint: `Omit it: ${commandLine(["service", "update", file, target.text])}`,
  });
}
