import { join } from "node:path";
import type { TestProject } from "@appdb/testkit/test-project";
import { makeOrganization } from "./hosted.ts";
import { expectExit } from "./served.ts";

/** A database of an organization, with the application's only service. */
export interface Post {
  readonly uri: string;
  readonly url: string;
  readonly key: string;
  /** Of the database. */
  readonly id: string;
  /** Of its media, on this machine. */
  readonly folder: string;
  upload(path: string, text: string): Promise<Answered>;
  insert(path: string, row: object): Promise<Answered>;
  /** Those of a table, as the control plane returns them. */
  rows(table: string): Promise<Answered>;
}

interface Answered {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests only read members of answers
  readonly json: any;
}

/** Creates an organization, and serves the application in its database. */
export async function openPost(project: TestProject, server: string, name: string): Promise<Post> {
  const uri = `cloud://${name}:main`;
  const json = async (...words: string[]) => JSON.parse((await expectExit(project, 0, ...words, "--json")).stdout);
  await makeOrganization(project, name);
  await expectExit(project, 0, "deploy", "app.py", uri, "-f");
  const { id } = await json("db", "status", uri);
  const { services } = await json("service", "list", uri);
  const { api_key: key } = await json("key", "create", "caller", "--org", name);
  const url: string = services[0].endpoint;
  const ask = async (path: string, init: RequestInit): Promise<Answered> => {
    const answer = await fetch(url + path, { ...init, method: "POST", headers: { ...init.headers, "x-api-key": key } });
    return { status: answer.status, json: await answer.json() };
  };
  return {
    uri,
    url,
    key,
    id,
    folder: join(project.home, "server", "media", id),
    async upload(path, text) {
      const form = new FormData();
      form.append("text", new File([text], "letter.txt"));
      return await ask(path, { body: form });
    },
    rows: async (table) => {
      const address = `${server}/v1/orgs/${name}/databases/main/tables/${table}/rows`;
      const answer = await fetch(address, { headers: { "x-api-key": key } });
      return { status: answer.status, json: await answer.json() };
    },
    insert: (path, row) => ask(path, { body: JSON.stringify(row), headers: { "content-type": "application/json" } }),
  };
}
