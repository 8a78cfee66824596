import type { LocalClient } from "@appdb/contract/clients/local-client";
import { serviceText } from "@appdb/contract/names";
import type { App, ServiceRecord } from "@appdb/contract/routes/local";
import { waitFor } from "./test-home.ts";

/** Creates the tables of an application and serves it, like `schema update` and `service update`. */
export async function serveExample(client: LocalClient, app: App): Promise<ServiceRecord> {
  const { catalog_version: catalogVersion } = (
    await client.call("schemaPlan", { body: { target: app.target, manifest: app.manifest } })
  ).plan;
  await client.call("schemaApply", { body: { ...app, catalog_version: catalogVersion, allow_destructive: false } });
  await client.call("serviceApply", { body: { ...app, service: null, port: null, allow_destructive: false } });
  return findService(client, `${app.target}/ingest`);
}

/** Finds a listed service. */
export async function findService(client: LocalClient, name: string): Promise<ServiceRecord> {
  const found = (await client.call("serviceList", {})).services.find((record) => serviceText(record) === name);
  if (found === undefined) throw new Error(`There is no service ${name}.`);
  return found;
}

/** Sends one row to the example's route. */
export async function insertDoc(endpoint: string | null, title: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${endpoint}/docs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ title, body: "World" }),
  });
  return { status: response.status, body: await response.json() };
}

/** Sends a row until it is accepted, like a client with retries. */
export async function insertUntilTaken(endpoint: string | null, title: string): Promise<void> {
  await waitFor(() =>
    insertDoc(endpoint, title).then(
      (answer) => answer.status === 200,
      () => false,
    ),
  );
}
