import { existsSync } from "node:fs";
import { join } from "node:path";
import { nameRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import { describe, expect, test } from "vitest";
import { send } from "../../support/hosted.ts";
import type { AttackTarget } from "./attack-target.ts";
import { TENANT_APP } from "./tenant-app.ts";

const LONG = process.env.APPDB_FAULTS === "long";
const NOTHING = "nothing";
/** `pg_catalog.lo_import(text)`, which the product never calls. 12 is its language, `internal`. */
const ROW = { oid: 764, prosrc: "be_lo_import", prolang: 12 };

/** Registers attacks that make the database's engine connect to its own cluster as its superuser. */
export function testExportAttacks(open: () => AttackTarget): void {
  describe("a member who exports rows to the database's own cluster socket", () => {
    const folderOf = ({ project, mallory }: AttackTarget) =>
      nameRuntimeFolder(join(project.home, "server", "databases", mallory.database_id), project.env.XDG_RUNTIME_DIR);
    const forms = (folder: string): Record<string, string> => ({
      "a parameter for the host": `postgresql:///main?host=${folder}&user=postgres`,
      "an encoded host": `postgresql://postgres@${encodeURIComponent(folder)}/main`,
      ...(LONG
        ? {
            "a parameter over a public host": `postgresql://postgres@192.0.2.1/main?host=${folder}`,
            "options that allow writes on a full disk": `postgresql:///main?host=${folder}&user=postgres&options=-c%20default_transaction_read_only%3Doff`,
          }
        : {}),
    });
    const names = Object.keys(forms("/"));

    test("an honest route stores a row, and the targeted socket exists", async () => {
      const target = open();
      const deployed = await target.mallory.deploy(TENANT_APP);
      expect(deployed, deployed.stderr).toMatchObject({ code: 0 });
      const row = { oid: 1, prosrc: "honest", prolang: 12 };
      expect(await send(`${target.mallory.tools}/loot`, target.mallory.key, "POST", row)).toMatchObject({
        status: 200,
      });
      expect(existsSync(join(folderOf(target), ".s.PGSQL.5432"))).toBe(true);
    });

    test.each(names)("changes no catalog function by %s", async (name) => {
      const target = open();
      const url = forms(folderOf(target))[name] ?? "";
      expect(await attack(target, JSON.stringify(url), name)).toBe(NOTHING);
    });

    test("changes no catalog function by an address in a secret", async () => {
      const target = open();
      const value = Object.values(forms(folderOf(target)))[0];
      const set = await target.mallory.ask("PUT", "/databases/main/secrets/WAREHOUSE_URL", { value });
      expect(set.status, set.text).toBeLessThan(300);
      expect(await attack(target, '"env:WAREHOUSE_URL"', "env")).toBe(NOTHING);
    });

    test("an honest application still works afterwards", async () => {
      const { mallory } = open();
      const deployed = await mallory.deploy(TENANT_APP);
      expect(deployed, deployed.stderr).toMatchObject({ code: 0 });
      expect(await send(`${mallory.tools}/whoami`, mallory.key, "GET")).toMatchObject({ status: 200 });
    });
  });
}

/** Deploys a route that exports to `pg_proc` and sends the catalog's own row. */
async function attack({ mallory }: AttackTarget, written: string, name: string): Promise<string> {
  const path = `/exported-${name.replaceAll(/\W/g, "-")}`;
  const target = `SqlExport(db_connect=${written}, table="pg_proc", db_schema="pg_catalog", method="update")`;
  const route = `tools.add_insert_route(Loot, path="${path}", export_sql=${target})`;
  const app = TENANT_APP.replace("import Request, Router", "import Request, Router, SqlExport");
  await mallory.deploy(`${app}\n\n${route}\n`);
  const row = { ...ROW, oid: ROW.oid };
  const answer = await send(`${mallory.tools}${path}`, mallory.key, "POST", row);
  return answer.status === 200 ? `pg_proc was updated as superuser: ${answer.text}` : NOTHING;
}
