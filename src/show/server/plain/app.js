// The page of a command that was built without the web view (npm): what was recorded in a few
// lines, and where its data is.
"use strict";

async function resource(name) {
  if (document.documentElement.dataset.tidemark !== "file") {
    const answer = await fetch(`api/v1/${name}`);
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.detail);
    return body;
  }
  const element = document.querySelector(`script[data-name="${name}"]`);
  const bytes = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

function add(parent, tag, text) {
  const element = parent.appendChild(document.createElement(tag));
  if (text !== undefined) element.textContent = text;
  return element;
}

function row(table, ...cells) {
  const line = add(table, "tr");
  for (const cell of cells) add(line, "td", cell).className = typeof cell === "number" ? "figure" : "";
}

async function show(app, profile) {
  const summary = await resource(`p/${profile.index}/summary`);
  const insights = await resource(`p/${profile.index}/insights`);
  add(app, "h1", `${summary.meta.program}: ${summary.end}`);
  const figures = add(app, "table");
  if (summary.program)
    for (const name of ["peak_bytes", "live_bytes", "alloc_count", "alloc_bytes"])
      row(figures, name, summary.program[name]);
  add(app, "h2", "Insights");
  for (const insight of insights.insights) add(app, "p", `${insight.severity}: ${insight.title}. ${insight.advice}`);
  add(app, "h2", "Data");
  const list = add(app, "p");
  for (const name of summary.resources) {
    const link = add(list, "a", name);
    link.href = `api/v1/p/${profile.index}/${name}`;
    list.append(" ");
  }
}

async function main() {
  const app = document.getElementById("app");
  try {
    for (const profile of (await resource("profiles")).profiles) await show(app, profile);
  } catch (error) {
    add(app, "p", String(error));
  }
}

main();
