/**
 * CPU time of this thread and of the whole process.
 *
 * The main thread is what runs out in a Node service, so its CPU time per operation is the figure most workloads go by; it also leaves out
 * the time in which other processes had the processor. It is read, by what there is, from `process.threadCpuUsage()` (Node 23.9), from
 * `/proc/self/task/<pid>/schedstat` (nanoseconds, brought up to date at each scheduler tick) or from `/proc/self/task/<pid>/stat` (ticks of
 * 10 ms). Without any of them it is that of the whole process. What the other threads used (the I/O thread, V8's helpers, libuv's pool) is
 * `process.cpuUsage()` less the main thread's.
 */
import { closeSync, openSync, readSync } from "node:fs";

const NS_PER_US = 1_000;
const NS_PER_TICK = 10_000_000;

const own = (file) => `/proc/self/task/${process.pid}/${file}`;

/** Reads a small file of /proc again and again through one descriptor. */
function reader(path) {
  const buffer = Buffer.alloc(1_024);
  let file;
  try {
    file = openSync(path, "r");
    process.once("exit", () => closeSync(file));
  } catch {
    return undefined;
  }
  return () => buffer.toString("latin1", 0, readSync(file, buffer, 0, buffer.length, 0));
}

function choose() {
  if (typeof process.threadCpuUsage === "function") {
    const read = () => {
      const { user, system } = process.threadCpuUsage();
      return (user + system) * NS_PER_US;
    };
    return { name: "process.threadCpuUsage()", read };
  }
  const schedstat = reader(own("schedstat"));
  if (schedstat) return { name: "/proc/self/task/<pid>/schedstat", read: () => Number(schedstat().split(" ", 1)[0]) };
  const stat = reader(own("stat"));
  if (stat) {
    const read = () => {
      // Behind the name, which may hold blanks: field 14 of all is user time, field 15 system time.
      const text = stat();
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      return (Number(fields[11]) + Number(fields[12])) * NS_PER_TICK;
    };
    return { name: "/proc/self/task/<pid>/stat", read };
  }
  return { name: "process.cpuUsage(), all threads", read: processNs };
}

function processNs() {
  const { user, system } = process.cpuUsage();
  return (user + system) * NS_PER_US;
}

const main = choose();

/** Where the main thread's time is read. */
export const cpuSource = main.name;

/** Starts measuring; the function that is returned answers what has passed since: nanoseconds. */
export function stopwatch() {
  const mainBefore = main.read();
  const allBefore = processNs();
  const before = process.hrtime.bigint();
  return () => {
    const wall = Number(process.hrtime.bigint() - before);
    const mainNs = main.read() - mainBefore;
    const other = Math.max(0, processNs() - allBefore - mainNs);
    return { wall, main: mainNs, other };
  };
}
