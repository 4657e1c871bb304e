// A class with private members is a type of its own wherever it is declared, so an entry that repeated the declarations
// of another would not accept the other's instances. The shared ones become imports.

function nameOf(ts, statement) {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations[0]?.name.text;
  return statement.name?.text;
}

function isExported(ts, statement) {
  return statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
}

function parse(ts, text) {
  const file = ts.createSourceFile("types.d.ts", text, ts.ScriptTarget.Latest, true);
  return file.statements.map((node) => ({
    node,
    name: nameOf(ts, node),
    exported: isExported(ts, node),
    text: text.slice(node.getFullStart(), node.getEnd()),
  }));
}

/** The identifiers a statement mentions, but for the one it declares. */
function mentions(ts, { node, name }) {
  const found = new Set();
  const visit = (child) => {
    if (ts.isIdentifier(child) && child.text !== name) found.add(child.text);
    ts.forEachChild(child, visit);
  };
  visit(node);
  return found;
}

/** Drops declarations that no exported one needs any more. */
function reachable(ts, statements) {
  const kept = new Set(statements.filter(({ name, exported }) => exported || name === undefined));
  for (const statement of kept) {
    const names = mentions(ts, statement);
    for (const other of statements) if (names.has(other.name)) kept.add(other);
  }
  return statements.filter((statement) => kept.has(statement));
}

/** The rolled-up types `text` with everything that `base` exports too imported from `from` instead of repeated. */
export function shareWith(ts, text, base, from) {
  const common = new Set(parse(ts, base).flatMap(({ name, exported }) => (exported && name ? [name] : [])));
  const all = parse(ts, text);
  const own = reachable(
    ts,
    all.filter(({ name }) => !common.has(name)),
  );
  const needed = new Set(own.flatMap((statement) => [...mentions(ts, statement)]));
  const unique = (statements) => [...new Set(statements.map(({ name }) => name))].sort();
  const shared = all.filter(({ name }) => common.has(name));
  const imported = unique(shared.filter(({ name }) => needed.has(name)));
  const passedOn = unique(shared.filter(({ exported }) => exported));
  const lines = [
    imported.length > 0 ? `import type { ${imported.join(", ")} } from "${from}";\n` : "",
    passedOn.length > 0 ? `export { ${passedOn.join(", ")} } from "${from}";\n` : "",
  ];
  return lines.join("") + own.map((statement) => statement.text).join("");
}

/** One blank line between declarations, and only what says `export` exported: without `export {}` all of them are. */
export function spaced(ts, text) {
  const own = parse(ts, text).filter(({ node }) => !isEmptyExport(ts, node));
  return [...own.map((statement) => statement.text.trim()), "export {};\n"].join("\n\n");
}

function isEmptyExport(ts, node) {
  return ts.isExportDeclaration(node) && !node.moduleSpecifier && node.exportClause?.elements?.length === 0;
}
