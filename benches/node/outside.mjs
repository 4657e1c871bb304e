// A call outside enable(), where the package promises to be a plain call of the function.
import { dialcacheLocal } from "./support/caches.mjs";
import { compare } from "./support/compare.mjs";
import { ratio } from "./support/figures.mjs";
import { record } from "./support/values.mjs";
import { comparisonTable, workload } from "./support/workload.mjs";

const VALUE = record(500);

await workload("call outside enable()", async (report) => {
  const bare = async (id) => (id === "" ? undefined : VALUE);
  const { cache, get } = dialcacheLocal(async (id) => (id === "" ? undefined : VALUE));
  const results = await compare([
    {
      name: "dialcache-native",
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await get("user:123");
      },
    },
    {
      name: "the async function itself",
      run: async (ops) => {
        for (let op = 0; op < ops; op++) await bare("user:123");
      },
    },
  ]);
  comparisonTable(report, "call outside enable()", results);
  const to = ratio(results["dialcache-native"].main, results["the async function itself"].main);
  report.measure("outside", to);
  await cache.close();
});
