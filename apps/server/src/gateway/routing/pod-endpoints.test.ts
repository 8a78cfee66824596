import type { PodEndpoints, PodName } from "@appdb/pods/driver/pod-driver";
import { expect, test } from "vitest";
import { createKnownEndpoints } from "./pod-endpoints.ts";
import { createRoutingTable } from "./routing-table.ts";

function openEndpoints() {
  const asked: string[] = [];
  let isDown = false;
  const endpoints = createKnownEndpoints({
    async endpoints({ id }: PodName): Promise<PodEndpoints> {
      asked.push(id);
      if (isDown) throw new Error("The cluster does not answer.");
      const at = (port: number) => ({ kind: "tcp", host: id, port }) as const;
      return { api: at(1), link: at(2), postgres: at(3) };
    },
  });
  return { asked, endpoints, fail: (fails: boolean) => (isDown = fails) };
}

test("an instance is asked about once, and its requests wait for no answer after the first", async () => {
  const { asked, endpoints } = openEndpoints();
  const first = await endpoints.of("d", "s", 1);
  expect(endpoints.of("d", "s", 1)).toBe(first);
  expect((await endpoints.of("d", "s", 2)).link).toMatchObject({ host: "svc-s-2" });
  expect(asked).toEqual(["svc-s-1", "svc-s-2"]);
});

test("an instance that could not be asked about is asked about again", async () => {
  const { asked, endpoints, fail } = openEndpoints();
  fail(true);
  await expect(endpoints.of("d", "s", 1)).rejects.toThrow("does not answer");
  fail(false);
  expect((await endpoints.of("d", "s", 1)).link).toMatchObject({ port: 2 });
  expect(asked).toHaveLength(2);
});

test("instances that serve no more are forgotten", async () => {
  const { asked, endpoints } = openEndpoints();
  await endpoints.of("d", "s", 1);
  expect(endpoints.follow(createRoutingTable())).toEqual([]);
  await endpoints.of("d", "s", 1);
  expect(asked).toHaveLength(2);
});
