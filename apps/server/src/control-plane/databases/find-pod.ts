import { notAvailable } from "@appdb/contract/control/database-advice";
import { databaseUriOf } from "@appdb/contract/control/resource-names";
import type { DatabaseState } from "@appdb/contract/routes/control-databases";
import type { PodAccess } from "@appdb/pods/driver/pod-driver";
import type { ControlDatabase } from "../../database/pool.ts";
import type { AnswerMemory } from "../../pods/answer-memory.ts";
import { databasePod } from "../../pods/database-paths.ts";
import { findMemoryEnd } from "../../pods/find-memory-end.ts";
import { type DatabaseAddress, podUnreachable } from "../../pods/pod-client.ts";
import { findPodToken } from "../../pods/pod-token.ts";
import type { Envelope } from "../../secrets/envelope.ts";
import { type DatabaseRow, databaseNotFound, findRow, type OrgOfDatabases } from "./databases-store.ts";

export interface FindPodDeps {
  readonly db: ControlDatabase;
  readonly envelope: Envelope;
  readonly pod_access: Pick<PodAccess, "endpoints">;
  readonly answer_memory: AnswerMemory;
}

export interface FoundPod {
  readonly pod: DatabaseAddress;
  readonly row: DatabaseRow;
}

/** States in which a pod is asked. Tables change only while AVAILABLE; rows are served during an image build too. */
const STATES = {
  changed: ["AVAILABLE"],
  read: ["AVAILABLE", "UPDATING"],
  written: ["AVAILABLE", "UPDATING"],
} as const satisfies Record<string, readonly DatabaseState[]>;

/** The address of a database's pod. @throws database_not_found, database_not_available, database_not_reached */
export async function findPod(
  deps: FindPodDeps,
  org: OrgOfDatabases,
  name: string,
  what: keyof typeof STATES,
): Promise<FoundPod> {
  const row = await findRow(deps.db, org.id, name);
  if (row === undefined) throw databaseNotFound(org, name);
  const uri = databaseUriOf(org.name, row.name);
  const states: readonly DatabaseState[] = STATES[what];
  if (!states.includes(row.state)) throw notAvailable(uri, row.state, what);
  const token = await findPodToken(deps, row.id);
  if (token === undefined) throw podUnreachable(uri);
  const { api } = await deps.pod_access.endpoints(databasePod(row.id));
  const count: DatabaseAddress["count"] = (signal) => deps.answer_memory.open(org.id, signal);
  const askedMs = performance.now();
  const whyEnded = () => findMemoryEnd(deps.db, databasePod(row.id).id, performance.now() - askedMs);
  return { pod: { uri, endpoint: api, token, count, whyEnded }, row };
}
