import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { changeOf, DATABASE, DONE } from "../../testing/databases.ts";
import { NO_LOCK, openUploadProject, sha256, type UploadProject, URI } from "../../testing/upload-project.ts";

let at: UploadProject;
beforeEach(async () => {
  at = await openUploadProject();
  at.answers.databaseBuildImage = () => changeOf("database.build");
  at.answers.operationShow = () => ({ ...DONE, kind: "database.build" });
});
afterEach(() => at[Symbol.asyncDispose]());

describe("cli db build-image", () => {
  test("uploads the current project files and reports it", async () => {
    at.project();
    const ran = await at.run(`db build-image ${URI}`);
    expect(ran).toMatchObject({ exit: 0, stdout: `${URI}: uploaded the project files and rebuilt its image.\n` });
    expect(ran.stderr).toContain(`warning: ${NO_LOCK}\n`);
    expect(at.asked().slice(0, 4)).toEqual(["databaseShow", "blobMissing", "blobUpload", "databaseBuildImage"]);
    expect(at.stored.has(sha256("x = 1\n"))).toBe(true);
    expect(at.bodyOf("databaseBuildImage")).toMatchObject({
      settings: { cpu: 2 },
      files: [{ path: "app.py", chunks: [sha256("x = 1\n")] }],
      environment: { source: null },
    });
  });

  test("prints one JSON document for programs", async () => {
    at.project();
    const ran = await at.run(`db build-image ${URI} --json`);
    expect(JSON.parse(ran.stdout)).toMatchObject({ sent_files: true, operation: { state: "succeeded" } });
  });

  test("sends files of an unlisted project only after a failed build", async () => {
    at.write({ "service.toml": "[[service.database]]\n", "app.py": "x = 1\n" });
    const well = await at.run(`db build-image ${URI}`);
    expect(well).toMatchObject({ exit: 0, stdout: `${URI}: rebuilt its image.\n` });
    expect(well.stderr).toContain(`has no entry for ${URI}: the image is built from the files that the database has.`);
    expect(well.stderr).toContain(`To send these: cli db update ${URI}\n`);
    expect(at.bodyOf("databaseBuildImage")).toBeUndefined();
    at.answers.databaseShow = () => ({ ...DATABASE, state: "FAILED" });
    expect((await at.run(`db build-image ${URI}`)).stderr).toContain("service.toml has no entry for");
    expect(at.bodyOf("databaseBuildImage").files).toHaveLength(1);
  });

  test("without a project, builds from the database's files", async () => {
    const ran = await at.run(`db build-image ${URI}`);
    expect(ran).toMatchObject({ exit: 0, stdout: `${URI}: rebuilt its image.\n` });
    expect(ran.stderr).toContain("No project found here. ");
    expect(at.asked()).not.toContain("blobMissing");
  });

  test("sends nothing when the server refuses a build and reports why", async () => {
    at.project();
    at.answers.databaseShow = () => ({ ...DATABASE, state: "STOPPED" });
    await at.run(`db build-image ${URI}`);
    expect(at.asked().slice(0, 2)).toEqual(["databaseShow", "databaseBuildImage"]);
  });
});
