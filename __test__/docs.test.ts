import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));
const documents = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`),
];

interface Link {
  readonly text: string;
  readonly file: string;
  readonly anchor: string | undefined;
}

/** The links of a document to files of this project, itself included. */
function linksOf(document: string, text: string): Link[] {
  const links = [...text.matchAll(/\[([^\]]+)\]\(([^)\s]+)\)/g)];
  return links
    .map(([, label, target]) => ({ label: label as string, target: target as string }))
    .filter(({ target }) => !/^[a-z]+:/.test(target))
    .map(({ label, target }) => {
      const [path, anchor] = target.split("#") as [string, string | undefined];
      return { text: label, file: path === "" ? document : join(dirname(document), path), anchor };
    });
}

/** Headings as they are linked to. */
function anchorsOf(text: string): string[] {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading as string);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
}

describe.each(documents)("%s", (document) => {
  const text = readFileSync(join(root, document), "utf8");
  const links = linksOf(document, text);

  it("links to what is there", () => {
    const missing = links.filter(({ file, anchor }) => {
      if (!existsSync(join(root, file))) return true;
      return anchor !== undefined && !anchorsOf(readFileSync(join(root, file), "utf8")).includes(anchor);
    });
    expect(missing).toEqual([]);
  });

  it("quotes tests by names they have", () => {
    const quoted = links.filter(({ text: label, file }) => label.startsWith("`") && /\.(rs|ts)$/.test(file));
    const wrong = quoted.filter(({ text: label, file }) => {
      return !readFileSync(join(root, file), "utf8").includes(label.slice(1, -1));
    });
    expect(wrong).toEqual([]);
  });

  it("names only scripts that are there", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object };
    const named = [...text.matchAll(/\bnpm run ([a-z:]+)/g)].map(([, name]) => name as string);
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});
