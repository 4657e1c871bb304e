// A C++ compiler, for what is built from C++ sources.
import { must, note, SetupError, which } from "./run.mjs";

/** Installs a compiler when there is none and that is allowed. */
export function ensureCxx() {
  if (process.env.CXX || which("c++")) return;
  if (!which("apt-get") || process.getuid?.() !== 0) {
    throw new SetupError("a C++ compiler is missing: install g++ or clang, or set CXX");
  }
  note("installing g++ with apt-get");
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  must("apt-get", ["update", "-qq"], { env });
  must("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "g++"], { env });
}
