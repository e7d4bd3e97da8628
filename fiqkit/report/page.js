"use strict";
// The list is drawn from a small index; an episode's text is in gzipped chunks that are opened when it is read.

const data = JSON.parse(document.getElementById("index").textContent);
const PAGE = 25;
const chunks = new Map();
let shown = data.episodes;
let page = 0;
let open = null;

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

async function chunk(number) {
  if (!chunks.has(number)) {
    const bytes = Uint8Array.from(atob(document.getElementById(`chunk-${number}`).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    chunks.set(number, new Response(stream).json());
  }
  return chunks.get(number);
}

// --- filters -------------------------------------------------------------------------------------------------------

const FILTERS = [
  ["model", (e) => [e.model]], ["mode", (e) => [e.mode]], ["outcome", (e) => [e.outcome]],
  ["error", (e) => e.errors], ["category", (e) => e.categories], ["language", (e) => [e.language]], ["run", (e) => [e.run]],
];

function buildFilters() {
  const form = document.getElementById("filters");
  for (const [name, values] of FILTERS) {
    const counts = new Map();
    for (const e of data.episodes) for (const v of values(e)) counts.set(v, (counts.get(v) || 0) + 1);
    if (counts.size < 2) continue;
    const select = el("select", { name, onchange: filter }, el("option", { value: "" }, "all"));
    for (const [value, count] of counts) select.append(el("option", { value }, `${data.names[value] || value} (${count})`));
    form.append(el("label", {}, name, select));
  }
  form.append(el("label", {}, "text of question, answer, id", el("input", { name: "text", type: "search", oninput: filter })));
  form.addEventListener("submit", (event) => event.preventDefault());
}

function filter() {
  const form = new FormData(document.getElementById("filters"));
  const wanted = FILTERS.filter(([name]) => form.get(name));
  const text = (form.get("text") || "").trim().toLowerCase();
  shown = data.episodes.filter((e) =>
    wanted.every(([name, values]) => values(e).includes(form.get(name))) &&
    (!text || `${e.instance} ${data.questions[e.instance]} ${e.answer}`.toLowerCase().includes(text)));
  page = 0;
  draw();
}

// --- list ----------------------------------------------------------------------------------------------------------

function draw() {
  const pages = Math.max(1, Math.ceil(shown.length / PAGE));
  const body = document.querySelector("#episode-list tbody");
  body.replaceChildren(...shown.slice(page * PAGE, (page + 1) * PAGE).map(line));
  document.getElementById("count").textContent = `${shown.length.toLocaleString("en")} of ${data.episodes.length.toLocaleString("en")} episodes`;
  document.getElementById("page").textContent = `${page + 1} of ${pages}`;
  document.getElementById("previous").disabled = page === 0;
  document.getElementById("next").disabled = page + 1 >= pages;
}

function line(e) {
  return el("tr", { "data-id": e.id, class: e.id === open ? "open" : "", tabindex: "0", title: data.questions[e.instance],
    onclick: () => read(e), onkeydown: (event) => { if (event.key === "Enter") read(e); } },
    el("td", {}, e.instance), el("td", {}, e.model), el("td", {}, e.mode), el("td", {}, tag(e.outcome)), el("td", {}, String(e.asks)));
}

function tag(outcome) {
  return el("span", { class: `tag ${outcome}` }, data.names[outcome] || outcome);
}

function turnPage(step) {
  page += step;
  draw();
}

// --- one episode ---------------------------------------------------------------------------------------------------

async function read(e) {
  open = e.id;
  for (const row of document.querySelectorAll("#episode-list tr.open")) row.classList.remove("open");
  document.querySelector(`#episode-list tr[data-id="${e.id}"]`)?.classList.add("open");
  history.replaceState(null, "", `#e${e.id}`);
  const panel = document.getElementById("episode");
  try {
    const [body, instances] = await Promise.all([chunk(e.chunk), chunk(0)]);
    if (open !== e.id) return;
    panel.replaceChildren(...episode(e, body[e.id], instances[e.key]));
  } catch (error) {
    panel.replaceChildren(el("p", { class: "warning" }, `This browser cannot open the episode (${error}); one with DecompressionStream can.`));
  }
  panel.scrollTop = 0;
  if (window.innerWidth <= 900) panel.scrollIntoView();
}

function episode(e, body, instance) {
  const judged = new Map();
  for (const v of body.verdicts.filter((v) => v.kind === "question")) judged.set(v.turn, [...(judged.get(v.turn) || []), v]);
  const answered = body.turns.some((t) => t.action === "answer" && t.content.response === body.answer);
  return [
    el("h3", {}, instance.question),
    el("p", { class: "meta" }, `${e.instance} · ${e.model} · ${e.mode} · ${e.run} · `, tag(e.outcome)),
    facts([
      ["context", instance.context],
      ["intended", `${instance.answer}   ${reading(instance.intended_interpretation)}`],
      ["default", `${instance.default_answer}   ${reading(instance.default_interpretation)}`],
      ["categories", e.categories.map((c) => data.names[c] || c).join(", ") + ` · h0 ${instance.h0} bits`],
      ["error", e.errors.join(", ")],
    ]),
    fold("what the agent was given first", (body.opening || []).map((m) => `${m.role}\n${m.content}`).join("\n\n")),
    ...body.turns.map((t, index) => turn(t, index, judged.get(index) || [])),
    facts([
      ["ending", body.ending + (body.error ? `: ${body.error}` : "")],
      ["answer", answered ? null : body.answer],
      ["confidence", body.confidence === null ? null : String(body.confidence)],
      ["marks", body.flags.join(", ")],
    ]),
    ...body.verdicts.filter((v) => v.kind === "answer").map((v) => el("p", { class: "verdict" },
      el("b", {}, v.given_by), ` grades ${grade(v)}`, v.value ? `, took ${v.value}` : "", v.why ? ` (${v.why})` : "")),
    fold("evidence", [instance.intended_evidence_span, instance.default_evidence_span].filter(Boolean).join("\n\n")),
    fold("other fields of the record", Object.keys(body.extra).length ? JSON.stringify(body.extra, null, 1) : ""),
  ].filter(Boolean);
}

function grade(v) {
  if (v.outcome) return v.outcome;
  const words = [["intended", v.is_intended], ["default", v.is_default]].filter(([, known]) => known !== null);
  return words.map(([name, yes]) => (yes ? name : `not ${name}`)).join(", ") || "unknown";
}

function turn(t, index, judged) {
  const said = t.content.question ?? t.content.query ?? t.content.response ?? t.content.text ?? t.text;
  const state = t.content.state ? JSON.stringify(t.content.state) : "";
  return el("div", { class: `turn ${t.refused ? "refused" : t.action}` },
    el("div", { class: "who" }, `${index + 1} · ${t.action}${t.refused ? ` · refused: ${t.refused}` : ""}`),
    el("p", {}, said || state || "(nothing)"),
    t.reasoning ? fold("reasoning", t.reasoning) : null,
    t.observation ? el("p", { class: "observation" }, t.observation) : null,
    t.content.asked_by ? el("p", { class: "observation" }, `${t.content.reply} (asked for the agent)`) : null,
    ...judged.map((v) => el("div", { class: "who" },
      `${v.given_by} judges: ${data.names[v.central] || v.central}${v.why ? ` (${v.why})` : ""}${v.touched.length > 1 ? `, touches ${v.touched.map((c) => data.names[c] || c).join(", ")}` : ""}`)));
}

function facts(pairs) {
  return el("dl", {}, ...pairs.filter(([, value]) => value).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function fold(title, text) {
  return text ? el("details", {}, el("summary", {}, title), el("pre", {}, text)) : null;
}

function reading(interpretation) {
  return Object.values(interpretation).filter(Boolean).join(" · ");
}

// -------------------------------------------------------------------------------------------------------------------

buildFilters();
draw();
document.getElementById("previous").addEventListener("click", () => turnPage(-1));
document.getElementById("next").addEventListener("click", () => turnPage(1));
const linked = data.episodes.find((e) => `#e${e.id}` === location.hash);
if (linked) read(linked);
