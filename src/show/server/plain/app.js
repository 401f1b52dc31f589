// The page of a command that was built without the web view (npm): what was recorded in a few
// lines, and where its data is.
"use strict";

const secret = /^#(token|ticket)=([0-9a-f]{32})$/.exec(location.hash);
let token = null;

// The token is behind "#" in the URL that the command prints; a ticket is changed for it, once.
async function takeToken() {
  if (secret) history.replaceState(null, "", location.pathname);
  if (secret && secret[1] === "ticket") {
    const answer = await fetch("api/v1/token", { headers: { Authorization: `Ticket ${secret[2]}` } });
    if (answer.ok) localStorage.setItem("tidemark-token", (await answer.json()).token);
  } else if (secret) {
    localStorage.setItem("tidemark-token", secret[2]);
  }
  token = localStorage.getItem("tidemark-token");
}

async function ask(name) {
  const answer = await fetch(`api/v1/${name}`, token ? { headers: { Authorization: `Bearer ${token}` } } : {});
  if (!answer.ok) throw new Error((await answer.json()).detail);
  return answer;
}

// A link to the data would not bear the token.
async function save(name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await (await ask(name)).blob());
  link.download = name.replace(/.*\//, "");
  link.click();
}

async function resource(name) {
  if (document.documentElement.dataset.tidemark !== "file") {
    return (await ask(name)).json();
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

// A job whose ranks are still being read: how far, until all of it is there.
async function showReading(app, profile) {
  const heading = add(app, "h1", profile.name);
  const said = add(app, "p");
  for (let now = profile; ; now = (await resource("profiles")).profiles[profile.index]) {
    if (now.state !== "reading" && !now.error) break;
    const far =
      now.to_list === undefined
        ? `${now.read} of ${now.to_read} ranks read`
        : `${now.listed} of ${now.to_list} ranks' entries read`;
    said.textContent = now.error || `${far}; the rest is not read yet`;
    if (now.error) return;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  heading.remove();
  said.remove();
  await show(app, profile);
}

async function show(app, profile) {
  const summary = await resource(`p/${profile.index}/summary`);
  if (summary.state === "reading") return showReading(app, profile);
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
    const button = add(list, "button", name);
    button.onclick = () => save(`p/${profile.index}/${name}`);
    list.append(" ");
  }
}

async function main() {
  const app = document.getElementById("app");
  try {
    if (document.documentElement.dataset.tidemark !== "file") await takeToken();
    // while a job is read its ranks may have been found
    for (let shown = 0, list; shown < (list = (await resource("profiles")).profiles).length; )
      for (; shown < list.length; shown++) await show(app, list[shown]);
  } catch (error) {
    add(app, "p", String(error));
  }
}

main();
