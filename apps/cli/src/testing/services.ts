import type { HostedService } from "@appdb/contract/routes/control-services";
import { URI } from "./upload-project.ts";

export const ENDPOINT = "http://127.0.0.1:41000/ingest";

/** A service as a control plane returns it. */
export function hostedService(more: Partial<HostedService> = {}): HostedService {
  return {
    id: "s1",
    name: "ingest",
    uri: `${URI}/ingest`,
    organization: "acme",
    database: "main",
    state: "AVAILABLE",
    reason: null,
    endpoint: ENDPOINT,
    generation: 3,
    release: 3,
    desired_release: 3,
    app_file: "app.py",
    certificate: null,
    update_pending: false,
    workers: 1,
    failure: null,
    pods: [],
    operation: null,
    created_at: "2026-11-23T10:00:00.000Z",
    routes: [
      {
        method: "POST",
        path: "/docs",
        route_type: "insert",
        table: "docs",
        query: null,
        one_row: false,
        inputs: ["title"],
        outputs: ["id"],
      },
    ],
    ...more,
  };
}
