"use strict";
// The list is drawn from a small index; an episode's text is in gzipped pieces that are opened when it is read, and all
// of them once something is searched for. `page_episodes.py` says what is in them.

const PAGE = 25; // lines of the list
const RESULTS = document.getElementById("episodes");
const opened = new Map(); // id of a piece → its value, once it was asked for
let index, episodes = [], shown = [], page = 0, open = null;

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

function piece(id) {
  if (!opened.has(id)) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    opened.set(id, new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json());
  }
  return opened.get(id);
}

// --- texts ---------------------------------------------------------------------------------------------------------

const isNumbers = (value) => Array.isArray(value) && typeof value[0] === "number";

function numbersIn(value) {
  if (isNumbers(value)) return value;
  return value && typeof value === "object" ? Object.values(value).flatMap(numbersIn) : [];
}

function pieceOf(number) {
  let [low, high] = [0, index.texts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (index.texts[middle] <= number) low = middle; else high = middle - 1;
  }
  return low;
}

// The value with every text in it whole again.
async function written(value) {
  const pieces = new Map();
  for (const at of new Set(numbersIn(value).map(pieceOf))) pieces.set(at, await piece(`texts-${at}`));
  const fill = (part) => {
    if (isNumbers(part)) return part.map((n) => pieces.get(pieceOf(n))[n - index.texts[pieceOf(n)]]).join("\n\n");
    if (Array.isArray(part)) return part.map(fill);
    return part && typeof part === "object" ? Object.fromEntries(Object.entries(part).map(([k, v]) => [k, fill(v)])) : part;
  };
  return fill(value);
}

// --- index ---------------------------------------------------------------------------------------------------------

function readIndex() {
  const columns = Object.entries(index.columns).map(([name, column]) =>
    [name, Array.isArray(column) ? column : column.at.map((at) => column.of[at])]);
  const count = columns.length ? columns[0][1].length : 0;
  for (let row = 0; row < count; row += 1) {
    const e = {};
    for (const [name, values] of columns) e[name] = values[row];
    [e.name, e.question, e.categories, e.language] = index.instances[e.instance];
    episodes.push(e);
  }
  shown = episodes;
}

const named = (value) => index.names[value] || value;

// --- filters -------------------------------------------------------------------------------------------------------

const FILTERS = [
  ["model", (e) => [e.model]], ["mode", (e) => [e.mode]], ["outcome", (e) => [e.outcome]],
  ["error", (e) => e.errors], ["category", (e) => e.categories], ["language", (e) => [e.language]], ["run", (e) => [e.run]],
];

function buildFilters() {
  const form = document.getElementById("filters");
  for (const [name, values] of FILTERS) {
    const counts = new Map();
    for (const e of episodes) for (const v of values(e)) counts.set(v, (counts.get(v) || 0) + 1);
    if (counts.size < 2) continue;
    const select = el("select", { name, onchange: filter }, el("option", { value: "" }, "all"));
    for (const [value, count] of counts) select.append(el("option", { value }, `${named(value)} (${count})`));
    form.append(el("label", {}, name, select));
  }
  let waiting;
  const later = () => { clearTimeout(waiting); waiting = setTimeout(filter, 250); };
  form.append(el("label", { class: "text" }, "text anywhere in an episode, or an id", el("input", { name: "text", type: "search", oninput: later })));
  form.append(el("button", { type: "button", onclick: () => { form.reset(); filter(); } }, "clear"));
  form.addEventListener("submit", (event) => event.preventDefault());
}

async function filter() {
  const form = new FormData(document.getElementById("filters"));
  const wanted = FILTERS.filter(([name]) => form.get(name));
  const text = (form.get("text") || "").trim().toLowerCase();
  const holds = text ? await search(text) : () => true;
  const now = new FormData(document.getElementById("filters"));
  if ((now.get("text") || "").trim().toLowerCase() !== text) return; // typed on meanwhile
  shown = episodes.filter((e) => wanted.every(([name, values]) => values(e).includes(form.get(name))) && holds(e));
  page = 0;
  draw();
}

// --- full text -----------------------------------------------------------------------------------------------------

let everything = null; // {texts: lower-case texts by number, own: by episode its short texts, numbers: and its long ones}

function readEverything() {
  everything ||= (async () => {
    document.getElementById("count").textContent = "reading every episode …";
    const numbered = (name, count) => Promise.all(Array.from({ length: count }, (_, n) => piece(`${name}-${n}`)));
    const [blocks, texts, instances] = await Promise.all([numbered("block", index.blocks), numbered("texts", index.texts.length), piece("instances")]);
    const records = Object.fromEntries(Object.entries(instances).map(([key, i]) => [key, `${i.instance_id}\n${i.question}\n${i.context}\n${i.answer}\n${i.default_answer}`.toLowerCase()]));
    const numbers = new Map(), own = new Map();
    for (const block of blocks) {
      for (const [id, body] of Object.entries(block)) {
        numbers.set(Number(id), Int32Array.from(new Set(numbersIn(body))));
        own.set(Number(id), shortTexts(body).join("\n").toLowerCase());
      }
    }
    return { texts: texts.flat().map((t) => t.toLowerCase()), own, numbers, records };
  })();
  return everything;
}

function shortTexts(value) {
  if (typeof value === "string") return [value];
  return value && typeof value === "object" && !isNumbers(value) ? Object.values(value).flatMap(shortTexts) : [];
}

async function search(text) {
  const { texts, own, numbers, records } = await readEverything();
  const found = texts.map((t) => t.includes(text));
  const asked = new Set(Object.keys(records).filter((key) => records[key].includes(text)));
  return (e) => asked.has(e.instance) || String(e.id) === text || own.get(e.id).includes(text) || numbers.get(e.id).some((n) => found[n]);
}

// --- list ----------------------------------------------------------------------------------------------------------

function draw() {
  const pages = Math.max(1, Math.ceil(shown.length / PAGE));
  document.querySelector("#episode-list tbody").replaceChildren(...shown.slice(page * PAGE, (page + 1) * PAGE).map(line));
  document.getElementById("count").textContent = `${shown.length.toLocaleString("en")} of ${episodes.length.toLocaleString("en")} episodes`;
  document.getElementById("page").textContent = `${page + 1} of ${pages}`;
  document.getElementById("previous").disabled = page === 0;
  document.getElementById("next").disabled = page + 1 >= pages;
}

function line(e) {
  return el("tr", { "data-id": e.id, class: e === open ? "open" : "", tabindex: "0", title: `${e.name} · ${e.question}`,
    onclick: () => read(e), onkeydown: (event) => { if (event.key === "Enter") read(e); } },
    el("td", {}, el("span", { class: "asked" }, e.question), el("span", { class: "said" }, e.answer)),
    el("td", {}, e.model), el("td", {}, e.mode), el("td", {}, tag(e.outcome)), el("td", {}, String(e.asks)));
}

function tag(outcome) {
  return el("span", { class: `tag ${outcome}` }, named(outcome));
}

function turnPage(step) {
  page += step;
  draw();
}

// Bring an episode into the list: with the filters that let it through, else without any.
function bring(e) {
  if (!shown.includes(e)) {
    document.getElementById("filters").reset();
    shown = episodes;
  }
  page = Math.floor(shown.indexOf(e) / PAGE);
}

// --- one episode ---------------------------------------------------------------------------------------------------

async function read(e) {
  open = e;
  bring(e);
  draw();
  history.replaceState(null, "", `#e${e.id}`);
  const panel = document.getElementById("episode");
  try {
    const [block, instances] = await Promise.all([piece(`block-${e.block}`), piece("instances")]);
    const body = await written(block[e.id]);
    if (open !== e) return;
    panel.replaceChildren(buttons(e), ...episode(e, body, instances[e.instance]));
  } catch (error) {
    panel.replaceChildren(el("p", { class: "warning" }, `This browser cannot open the episode (${error}); one with DecompressionStream can.`));
  }
  panel.scrollTop = 0;
  if (window.innerWidth <= 900) panel.scrollIntoView();
}

function buttons(e) {
  const step = (by) => shown[shown.indexOf(e) + by];
  const button = (title, other) => {
    const made = el("button", { type: "button", onclick: () => read(other) }, title);
    made.disabled = !other;
    return made;
  };
  return el("p", { class: "buttons" }, button("← previous", step(-1)), button("next →", step(1)),
    el("button", { type: "button", id: "save", onclick: () => save(e) }, "save this episode"));
}

function episode(e, body, instance) {
  const judged = new Map();
  for (const v of body.verdicts.filter((v) => v.kind === "question")) judged.set(v.turn, [...(judged.get(v.turn) || []), v]);
  const answered = body.turns.some(([action, fields]) => action === "answer" && fields.response === body.answer);
  return [
    el("h3", {}, instance.question),
    el("p", { class: "meta" }, `episode ${e.id} · ${e.name} · ${e.model} · ${e.mode} · ${e.run} · `, tag(e.outcome)),
    facts([
      ["context", instance.context],
      ["intended", `${instance.answer}   ${reading(instance.intended_interpretation)}`],
      ["default", `${instance.default_answer}   ${reading(instance.default_interpretation)}`],
      ["categories", e.categories.map(named).join(", ") + ` · h0 ${Number(instance.h0.toFixed(3))} bits`],
      ["error", e.errors.join(", ")],
    ]),
    fold("what the agent was given first", body.opening.map(([role, text]) => `${role}\n${text}`).join("\n\n")),
    ...body.turns.map((t, at) => turn(t, at, judged.get(at) || [])),
    facts([
      ["ending", body.ending + (body.error ? `: ${body.error}` : "")],
      ["answer", answered ? null : body.answer],
      ["confidence", body.confidence === null ? null : String(body.confidence)],
      ["marks", body.flags.join(", ")],
    ]),
    ...body.verdicts.filter((v) => v.kind === "answer").map((v) => el("p", { class: "verdict" },
      el("b", {}, v.given_by), ` grades ${grade(v)}`, v.value ? `, took ${v.value}` : "", v.why ? ` (${v.why})` : "")),
    fold("evidence", [instance.intended_evidence_span, instance.default_evidence_span].filter(Boolean).join("\n\n")),
    fold("other fields of the record", body.extra),
  ].filter(Boolean);
}

function grade(v) {
  if (v.outcome) return v.outcome;
  const words = [["intended", v.is_intended], ["default", v.is_default]].filter(([, known]) => known !== undefined);
  return words.map(([name, yes]) => (yes ? name : `not ${name}`)).join(", ") || "unknown";
}

function turn([action, fields, reasoning, observation, refused, raw], at, judged) {
  const said = fields.question ?? fields.query ?? fields.response ?? fields.text ?? fields.state ?? (raw || "(nothing)");
  return el("div", { class: `turn ${refused ? "refused" : action}` },
    el("div", { class: "who" }, `${at + 1} · ${action}${refused ? ` · refused: ${refused}` : ""}`),
    el("p", {}, String(said)),
    reasoning ? fold("reasoning", reasoning) : null,
    raw && raw !== said ? fold("as written", raw) : null,
    observation ? el("p", { class: "observation" }, observation) : null,
    fields.asked_by ? el("p", { class: "observation" }, `${fields.reply} (asked for the agent)`) : null,
    ...judged.map((v) => el("div", { class: "who" },
      `${v.given_by} judges: ${named(v.central)}${v.why ? ` (${v.why})` : ""}${(v.touched || []).length > 1 ? `, touches ${v.touched.map(named).join(", ")}` : ""}`)));
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

// --- one episode as a page of its own ------------------------------------------------------------------------------

function alone(e) {
  const article = document.getElementById("episode").cloneNode(true);
  article.querySelector(".buttons")?.remove();
  const head = el("head", {}, el("meta", { charset: "utf-8" }), el("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
    el("meta", { "http-equiv": "Content-Security-Policy", content: "default-src 'none'; style-src 'unsafe-inline'" }),
    el("title", {}, `Episode ${e.id}`), document.querySelector("style").cloneNode(true));
  return `<!doctype html>\n${el("html", { lang: "en" }, head, el("body", { class: "alone" }, el("main", {}, article))).outerHTML}\n`;
}

function save(e) {
  const link = el("a", { href: URL.createObjectURL(new Blob([alone(e)], { type: "text/html" })), download: `episode-${e.id}.html` });
  link.click();
  URL.revokeObjectURL(link.href);
}

// -------------------------------------------------------------------------------------------------------------------

function follow() {
  const linked = episodes.find((e) => `#e${e.id}` === location.hash);
  if (!linked) return;
  read(linked);
  RESULTS.scrollIntoView();
}

async function start() {
  for (const button of document.querySelectorAll("button.members")) {
    button.hidden = false;
    const body = button.closest("tbody");
    body.classList.add("folded");
    button.addEventListener("click", () => button.setAttribute("aria-expanded", String(!body.classList.toggle("folded"))));
  }
  try {
    index = await piece("index");
  } catch (error) {
    document.getElementById("count").textContent = `This browser cannot open the episodes (${error}); one with DecompressionStream can.`;
    return;
  }
  readIndex();
  buildFilters();
  draw();
  document.getElementById("previous").addEventListener("click", () => turnPage(-1));
  document.getElementById("next").addEventListener("click", () => turnPage(1));
  window.addEventListener("hashchange", follow);
  follow();
  document.documentElement.dataset.ready = "true";
}

start();
