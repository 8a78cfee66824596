import { pathToFileURL } from "node:url";
import { aComputed, aManifest, aTable } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { checkDestinations } from "./check-destinations.ts";

const HOSTED = "cloud://acme:main/reports";
const OWN = "mediafs://acme:main/home";

function manifestOf(destination: string) {
  const column = aComputed("thumb", { op: "const", type: { kind: "image" }, nullable: false, value: null } as never);
  return aManifest({ tables: [aTable("photos", [{ ...column, type: { ...column.type, destination } }])] });
}

test.each([
  ["main", "s3://bucket/thumbs"],
  ["main", pathToFileURL(import.meta.dirname).href],
  [undefined, pathToFileURL(import.meta.dirname).href],
  ["main", OWN],
  ["main", `${OWN}/thumbs`],
  [HOSTED, "s3://bucket/thumbs"],
  [HOSTED, OWN],
  [undefined, "mediafs://acme:other/home"],
])("%s stores files at %s", (target, destination) => {
  expect(() => checkDestinations(manifestOf(destination), target)).not.toThrow();
});

test.each([
  [HOSTED, "mediafs://acme:other/home", "the media store of another database"],
  [HOSTED, "mediafs://other:main/home", "the media store of another database"],
  [HOSTED, `${OWN}/thumbs`, "a folder of the database's media store"],
  [HOSTED, "file:///srv/media", "a folder, which a hosted database does not have"],
  [HOSTED, "mediafs://main/home", "which is not the address of a store"],
  ["main", "mediafs://main/home", "which is not the address of a store"],
  [undefined, "s3://Bucket", "which is not the address of a store"],
])("%s is refused %s with the column and the line", (target, destination, problem) => {
  expect(() => checkDestinations(manifestOf(destination), target)).toThrow(
    expect.objectContaining({
      code: "app_invalid",
      message: expect.stringMatching(
        new RegExp(`^app\\.py:1: destination= of column photos\\.thumb is '${destination}', ${problem}`),
      ),
      hint: expect.stringContaining("s3://bucket/prefix"),
    }),
  );
});

test.each([
  ["main", "/no/such/folder"],
  [undefined, import.meta.filename],
])("%s: the folder %s is to be created", (target, folder) => {
  expect(() => checkDestinations(manifestOf(`file://${folder}`), target)).toThrow(
    expect.objectContaining({
      code: "app_invalid",
      message: `app.py:1: destination= of column photos.thumb is 'file://${folder}', a folder that does not exist on this machine.`,
      hint: `Create the folder: mkdir -p ${folder}`,
    }),
  );
});
