import { POD_ROUTES } from "@appdb/contract/routes/pod-paths";
import * as z from "zod";
import { askDocument, notReached, type PodPlace } from "./pod-client.ts";

const answerSchema = z.object({ dsn: z.string() });
const DIGITS = 12;

/**
 * Has the database's pod make the role of PostgreSQL that a service connects as, if there is none, and answers how it connects.
 * @throws database_not_reached; what the pod refuses it with
 */
export async function askServiceRole(pod: PodPlace, service_id: string, signal: AbortSignal): Promise<string> {
  const { method, path } = POD_ROUTES.serviceRole;
  const answer = answerSchema.safeParse(
    await askDocument(pod, { method, path, body: { role: serviceRoleOf(service_id) }, signal }),
  );
  if (!answer.success) throw notReached(pod.uri, answer.error);
  return answer.data.dsn;
}

/** By the end of the id, which is chance: it begins with a time, which services that are made together share. */
export function serviceRoleOf(service_id: string): string {
  return `svc_${service_id.replaceAll("-", "").slice(-DIGITS)}`;
}
