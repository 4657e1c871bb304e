/** The parent's messages, in a process of the demo. */

/** The next message of this type. */
export function message(type) {
  return new Promise((resolve) => {
    process.on("message", function listen(received) {
      if (received.type !== type) return;
      process.off("message", listen);
      resolve(received);
    });
  });
}
