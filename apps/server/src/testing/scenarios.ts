import type { ControlRouteName } from "@appdb/contract/routes/control-paths";
import { expect, test } from "vitest";
import type { Credential, SendInput, TestServer } from "./open-server.ts";
import type { TestPeople } from "./people.ts";

/** The caller: a role of the set-up's organization, the owner of another one, or a guest. */
export type Asker = "guest" | "member" | "admin" | "owner" | "outsider";

/** One row: caller, request and expected answer. */
export interface Scenario<S extends TestPeople = TestPeople> {
  readonly as: Asker | ((setup: S) => Credential);
  /** Names the row if `as` is not enough. */
  readonly named?: string;
  readonly route: ControlRouteName;
  /** Values of the path. `org` defaults to the set-up's organization. */
  readonly params?: Readonly<Record<string, string>> | ((setup: S) => Readonly<Record<string, string>>);
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown | ((setup: S) => unknown);
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  /** Texts that the body must contain. */
  readonly includes?: readonly (string | ((setup: S) => string))[];
  /** Texts that neither body nor headers may contain. */
  readonly excludes?: readonly (string | ((setup: S) => string))[];
  /** Checks the effects of the request. */
  readonly after?: (server: TestServer, setup: S) => Promise<void>;
}

/** Creates a test for each row. Each row has its own set-up on the server, so that rows are independent. */
export function testScenarios<S extends TestPeople>(
  server: () => TestServer,
  setUp: (server: TestServer) => Promise<S>,
  rows: readonly Scenario<S>[],
): void {
  const named = rows.map((row) => [titleOf(row), row] as const);
  test.each(named)("%s", async (_title, row) => {
    const setup = await setUp(server());
    const params = { org: setup.org.name, ...(typeof row.params === "function" ? row.params(setup) : row.params) };
    const body = typeof row.body === "function" ? row.body(setup) : row.body;
    const as = credentialOf(row.as, setup);
    const input = { as, body, headers: row.headers, query: row.query, params } as SendInput;
    const answer = await server().ask(row.route, input);
    expect.soft(answer.status, answer.text).toBe(row.status);
    const text = (part: string | ((setup: S) => string)) => (typeof part === "function" ? part(setup) : part);
    for (const part of row.includes ?? []) expect.soft(answer.text).toContain(text(part));
    const everything = `${answer.text}\n${JSON.stringify([...answer.headers])}`;
    for (const part of row.excludes ?? []) expect.soft(everything).not.toContain(text(part));
    await row.after?.(server(), setup);
  });
}

function titleOf<S extends TestPeople>(row: Scenario<S>): string {
  const who = row.named ?? (typeof row.as === "string" ? row.as : "somebody");
  return `${row.route} as ${who}: ${row.status}`;
}

function credentialOf<S extends TestPeople>(as: Scenario<S>["as"], setup: S): Credential | undefined {
  if (typeof as === "function") return as(setup);
  return as === "guest" ? undefined : { token: setup[as].token };
}
