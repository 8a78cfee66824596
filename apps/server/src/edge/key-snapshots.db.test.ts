import { randomUUID } from "node:crypto";
import { openSnapshot } from "@appdb/system/keys/key-snapshot";
import { createKeyVerifier, keyAllows } from "@appdb/system/keys/key-verifier";
import { eventually } from "@appdb/testkit/eventually";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer, testMasterKey } from "../testing/open-server.ts";
import { makeKey, makePeople, type TestPeople } from "../testing/people.ts";
import { createKeySnapshots, type SnapshotDatabase } from "./key-snapshots.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const CLOCK = { now: Date.now, monotonic: () => performance.now() };

/** A pod of the database, connected to a control plane. */
async function openPod(at: TestServer, setup: TestPeople, database = "main") {
  const of: SnapshotDatabase = { org_id: setup.org.id, organization: setup.org.name, database };
  const snapshots = createKeySnapshots({ ...at.deps, master_key: testMasterKey(at.deps.config) });
  const publicKey = await snapshots.publicKey();
  const verifier = createKeyVerifier({ public_key: publicKey, organization: setup.org.name, database, clock: CLOCK });
  const pushed: string[] = [];
  const stop = await snapshots.follow(of, (text) => {
    pushed.push(text);
    verifier.apply(text, "live");
  });
  return {
    verifier,
    pushed,
    public_key: publicKey,
    snapshots,
    of,
    stop,
    outcome: (text: string) => verifier.verify(text).outcome,
  };
}

/** Counts notifications about keys. `everything` resolves after all earlier writes were notified. */
async function openListener(at: TestServer) {
  const heard: (string | undefined)[] = [];
  const stop = await at.deps.notifications.listen("control_keys", (orgId) => heard.push(orgId));
  return {
    told: (orgId: string) => heard.filter((one) => one === orgId || one === undefined).length,
    async everything() {
      const mark = randomUUID();
      await at.deps.pool.query("select pg_notify('control_keys', $1)", [mark]);
      await eventually(() => expect(heard).toContain(mark));
    },
    [Symbol.asyncDispose]: async () => stop(),
  };
}

describe("snapshots of keys", () => {
  test("accept new keys and refuse revoked ones at once, also at another server", async () => {
    const setup = await makePeople(server);
    await using other = await openServer({ beside: server });
    const pod = await openPod(other, setup);
    const text = await makeKey(server, setup.org, setup.member, { name: "ci" });
    await eventually(() => expect(pod.outcome(text)).toBe("good"));
    await server.ask("keyDelete", { as: setup.member, params: { org: setup.org.name, name: "ci" } });
    await eventually(() => expect(pod.outcome(text)).toBe("bad"));
    pod.stop();
  });

  test("reflect the end of a membership, a change of role, a rotation and its overlap", async () => {
    const setup = await makePeople(server);
    const pod = await openPod(server, setup);
    const text = await makeKey(server, setup.org, setup.member, { name: "ci" });
    const role = () => {
      const found = pod.verifier.verify(text);
      return found.outcome === "good" ? found.key.role : found.outcome;
    };
    await eventually(() => expect(role()).toBe("member"));
    const { db } = server.deps;
    await db.updateTable("control.members").set({ role: "admin" }).where("user_id", "=", setup.member.id).execute();
    await eventually(() => expect(role()).toBe("admin"));
    const params = { org: setup.org.name, name: "ci" };
    const rotated = await server.ask("keyRotate", { as: setup.member, params, body: { overlap_s: 600 } } as never);
    await eventually(() => expect([pod.outcome(text), pod.outcome(rotated.json.api_key)]).toEqual(["good", "good"]));
    await db.deleteFrom("control.members").where("user_id", "=", setup.member.id).execute();
    await eventually(() => expect([pod.outcome(text), pod.outcome(rotated.json.api_key)]).toEqual(["bad", "bad"]));
    pod.stop();
  });

  test("contain only keys of their database, and no secrets", async () => {
    const setup = await makePeople(server);
    const grant = (database: string) => `access:cloud://${setup.org.name}:${database}/services/ingest`;
    const here = await makeKey(server, setup.org, setup.owner, {
      name: "here",
      grants: [grant("main")],
      expires_in_s: 600,
    });
    const there = await makeKey(server, setup.org, setup.owner, { name: "there", grants: [grant("other")] });
    const pod = await openPod(server, setup);
    const found = pod.verifier.verify(here);
    if (found.outcome !== "good") throw new Error(found.outcome);
    const need = { verb: "access", organization: setup.org.name, database: "main", service: "ingest" } as const;
    expect([keyAllows(found.key, need), keyAllows(found.key, { ...need, service: "x" })]).toEqual([true, false]);
    expect(pod.outcome(there)).toBe("bad");
    const shown = openSnapshot(pod.pushed[0] ?? "", pod.public_key);
    expect(shown?.keys.map((key) => key.name)).toEqual(["here"]);
    expect(shown?.keys[0]?.expires_ms).toBeGreaterThan(shown?.issued_ms ?? 0);
    expect(JSON.stringify(shown)).not.toContain(here.slice(-43));
    pod.stop();
  });

  test("are not pushed when a key is used", async () => {
    const setup = await makePeople(server);
    const text = await makeKey(server, setup.org, setup.member, { name: "ci" });
    await using heard = await openListener(server);
    await heard.everything();
    const before = heard.told(setup.org.id);
    const pod = await openPod(server, setup);
    await server.ask("whoami", { as: { api_key: text } });
    await server.deps.key_uses.flush();
    await heard.everything();
    expect(heard.told(setup.org.id)).toBe(before);
    await makeKey(server, setup.org, setup.member, { name: "next" });
    await eventually(() => expect(pod.pushed).toHaveLength(2));
    expect(pod.pushed.map((one) => openSnapshot(one, pod.public_key)?.version)).toEqual([1, 2]);
    pod.stop();
  });

  test("include changes during a lost connection after the reconnect", async () => {
    const setup = await makePeople(server);
    const pod = await openPod(server, setup);
    const text = await makeKey(server, setup.org, setup.member, { name: "ci" });
    await eventually(() => expect(pod.outcome(text)).toBe("good"));
    await server.deps.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'appdb notifications' and datname = current_database()",
    );
    await server.ask("keyDelete", { as: setup.member, params: { org: setup.org.name, name: "ci" } });
    await eventually(() => expect(pod.outcome(text)).toBe("bad"));
    pod.stop();
  });
});
