/** Watches the process's memory over a run that should need the same at its end as in its middle. */

/**
 * Growth over the second half that is noise, as a share of the RSS: allocators round up and keep what was freed, and code
 * is still being compiled in a short run. The heap after a collection has no such excuse.
 */
const NOISE_SHARE = { rss: 0.08, heap: 0.02 };

export class Gauge {
  #samples = [];
  #unit;
  #noise;
  #startedAt = performance.now();

  /** @param unit what is counted, in the plural; @param noise shares that differ from {@link NOISE_SHARE} */
  constructor(unit, noise = {}) {
    this.#unit = unit;
    this.#noise = { ...NOISE_SHARE, ...noise };
  }

  /** Collects garbage and notes what is left after `done`. */
  async sample(done) {
    // Finalizers of native objects run in a later turn, and what they free is collected after it.
    for (let round = 0; round < 2; round++) {
      globalThis.gc();
      await new Promise(setImmediate);
    }
    const { rss, heapUsed, external } = process.memoryUsage();
    this.#samples.push({ done, rss, heap: heapUsed + external });
  }

  /** Prints the run in one line and answers what is wrong with it. */
  report(name) {
    const seconds = (performance.now() - this.#startedAt) / 1000;
    const last = this.#samples.at(-1);
    const half = this.#samples.filter(({ done }) => done >= last.done / 2);
    const growth = { rss: growthOf(half, "rss"), heap: growthOf(half, "heap") };
    const at = (sample, key) => megabytes(sample[key]);
    process.stdout.write(
      `${name}: ${last.done} ${this.#unit} in ${seconds.toFixed(1)} s; RSS ${at(this.#samples[0], "rss")} MB first, ` +
        `${at(half[0], "rss")} half way, ${at(last, "rss")} last; second half ${signed(growth.rss)} MB RSS, ` +
        `${signed(growth.heap)} MB heap\n`,
    );
    return ["rss", "heap"]
      .filter((key) => growth[key] > this.#noise[key] * half[0].rss)
      .map((key) => `${name}: ${key} grew by ${megabytes(growth[key])} MB over the second half`);
  }
}

/** What the least-squares line through the samples gains from the first to the last: one peak does not tilt it. */
function growthOf(samples, key) {
  const mean = (pick) => samples.reduce((sum, sample) => sum + pick(sample), 0) / samples.length;
  const middle = mean(({ done }) => done);
  const level = mean((sample) => sample[key]);
  const spread = mean(({ done }) => (done - middle) ** 2);
  const slope = mean((sample) => (sample.done - middle) * (sample[key] - level)) / spread;
  return slope * (samples.at(-1).done - samples[0].done);
}

const megabytes = (bytes) => (bytes / 2 ** 20).toFixed(1);
const signed = (bytes) => `${bytes < 0 ? "" : "+"}${megabytes(bytes)}`;
