import { endOf } from "@appdb/http/mount-api";
import { actorOf, type RecordEvent } from "../../audit/event.ts";
import { podClient } from "../../pods/pod-client.ts";
import { type Call, type ControlRoutes, recheckCaller } from "../../requests/checked-route.ts";
import { type FindPodDeps, type FoundPod, findPod } from "../databases/find-pod.ts";

export interface ProgramRouteDeps extends FindPodDeps {
  readonly recordEvent: RecordEvent;
}

type Stored = Call<"programStore"> | Call<"programRenew">;

/** Passes functions of programs on to the database's pod, and never reads their content. */
export function addProgramRoutes(routes: ControlRoutes, deps: ProgramRouteDeps): void {
  routes.add("programStore", async (call) => {
    const { pod, row } = await findChanged(deps, call);
    const body = { ...call.body, files: row.observed?.tree ?? null };
    return await recorded(deps, call, pod.uri, () =>
      podClient(pod).call("programStore", { body }, { signal: endOf(call.reply) }),
    );
  });
  routes.add("programRenew", async (call) => {
    const { pod, row } = await findChanged(deps, call);
    const { program } = call.params;
    const body = { ...call.body, files: row.observed?.tree ?? null };
    return await recorded(deps, call, pod.uri, () =>
      podClient(pod).call("programRenew", { params: { program }, body }, { signal: endOf(call.reply) }),
    );
  });
  routes.add("programEnd", async ({ org, params: { db, program } }) => {
    const { pod } = await findPod(deps, org, db, "read");
    await podClient(pod).call("programEnd", { params: { program } });
    return undefined;
  });
}

/** The caller may have lost the permission while the body was read. */
async function findChanged(deps: ProgramRouteDeps, { org, params, principal }: Stored): Promise<FoundPod> {
  const checked = await recheckCaller(deps.db, { principal, org, permission: "database.update" });
  return await findPod(deps, checked, params.db, "read");
}

/** Records that code is stored: how much, not which. A renewal alone stores nothing. */
async function recorded<T>(
  deps: ProgramRouteDeps,
  { body: { functions, modules }, client, org, params, principal }: Stored,
  uri: string,
  work: () => Promise<T>,
): Promise<T> {
  const isRenewal = "program" in params;
  if (isRenewal && functions.length + modules.length === 0) return await work();
  const record = (outcome: "pending" | "succeeded" | "failed") =>
    deps.recordEvent(deps.db, {
      action: "program.store",
      target: uri,
      org_id: org.id,
      outcome,
      actor: actorOf(principal),
      principal,
      ...client,
      detail: { functions: functions.length, modules: modules.length },
    });
  await record("pending");
  try {
    const answer = await work();
    await record("succeeded");
    return answer;
  } catch (error) {
    await record("failed");
    throw error;
  }
}
