// The memory page: asks the server for what it shows, and builds it as elements, never as markup.

const byId = (id) => document.getElementById(id);
const main = byId("main");
let texts = {};
let language = "en";
let pass = "1"; // stands in each request; in Telegram it says who asks
let wanted = 0; // counts what is asked for, so that an older answer does not take the place of a newer one

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

// `about` is the memory that a button belongs to: without it, screen readers list many buttons with the same name
const button = (label, onclick, className = "", about = "") => {
  const made = element("button", { type: "button", className, onclick }, label);
  if (about) made.setAttribute("aria-label", `${label}: ${about.length > 60 ? `${about.slice(0, 60)}…` : about}`);
  return made;
};
const day = (text) => new Date(text).toLocaleDateString(language, { day: "numeric", month: "short", year: "numeric" });
const moment = (text) => new Date(text).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });

async function ask(path, body) {
  const headers = { "x-mneme": pass };
  let answer;
  try {
    answer = await fetch(new URL(path === "enter" ? path : `api/${path}`, document.baseURI.split("#")[0]),
      body === undefined ? { headers } : { method: "POST", headers, body });
  } catch {
    throw new Error(texts.lost || "");
  }
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error);
  return data;
}

let toastEnds;
function tell(text) {
  byId("toast").textContent = text;
  byId("toast").classList.add("on");
  clearTimeout(toastEnds);
  toastEnds = setTimeout(() => byId("toast").classList.remove("on"), 5000);
}

const trying = (work) => async (event) => {
  event?.preventDefault?.();
  try {
    await work(event);
  } catch (error) {
    tell(error.message);
  }
};

// Shows what `view` gives, unless something else was asked for meanwhile. Until then nothing old can be pressed.
async function show(view) {
  const mine = ++wanted;
  main.inert = true;
  try {
    const children = await view();
    if (mine === wanted) main.replaceChildren(...children);
  } finally {
    if (mine === wanted) main.inert = false;
  }
}

// Memories

let state = "all";

function memory(entry) {
  const gone = entry.superseded || entry.archived;
  const card = element("article", { className: gone ? "past" : "", id: `memory-${entry.id}` });
  const replace = (changed) => {
    const made = memory(changed);
    card.replaceWith(made);
    made.querySelector("button")?.focus();
  };
  const source = entry.source
    ? element("p", { className: "about" }, button(texts.open_conversation, () => go(`talk/${entry.source[0]}/${entry.source[1]}`), "", entry.content))
    : null;
  const acts = element("div", { className: "acts" });
  if (entry.unconfirmed)
    acts.append(button(texts.confirm, trying(async () => replace(await ask(`entries/${entry.id}/confirm`, ""))), "main", entry.content));
  if (!entry.superseded) {
    if (!entry.steps.length) acts.append(button(texts.edit, () => card.replaceWith(editor(entry, replace, () => memory(entry))), "", entry.content));
    acts.append(button(texts.forget, trying(async () => {
      await ask(`entries/${entry.id}/forget`, "");
      const { changes } = await ask("changes");
      const back = button(texts.undo, trying(async () => {
        await ask(`changes/${changes[0].number}/undo`, "");
        gap.replaceWith(memory(await ask(`entries/${entry.id}`)));
      }), "", entry.content);
      const gap = element("article", { className: "past" }, element("p", {}, entry.content), element("div", { className: "acts" }, back));
      card.replaceWith(gap);
      back.focus();
    }), "bad", entry.content));
  }
  const facts = element("dl", {},
    element("dt", {}, texts.holds_since), element("dd", {}, day(entry.valid_from)),
    ...(entry.valid_until ? [element("dt", {}, texts.holds_until), element("dd", {}, day(entry.valid_until))] : []),
    element("dt", {}, texts.strength), element("dd", {}, String(entry.strength)),
    element("dt", {}, texts.fades), element("dd", {}, day(entry.fades)));
  card.append(
    element("p", {}, entry.content),
    ...entry.steps.map((step, number) => element("p", {}, `${number + 1}. ${step}`)),
    entry.unconfirmed ? element("p", { className: "flag" }, entry.unconfirmed) : "",
    entry.quote ? element("blockquote", {}, `“${entry.quote}”`) : "",
    entry.successor ? element("p", { className: "about" }, `${texts.replaced_by}: ${entry.successor}`) : "",
    element("details", {}, element("summary", {}, `${entry.where}${entry.archived ? ` · ${texts.archived}` : ""}`), facts, source ?? ""),
    acts,
  );
  return card;
}

function editor(entry, replace, before) {
  const field = element("textarea", { value: entry.content, "aria-label": texts.edit });
  const form = element("article", {}, field);
  const save = trying(async () => replaced(await ask(`entries/${entry.id}/edit`, JSON.stringify({ content: field.value }))));
  const replaced = (changed) => form.replaceWith(memory(changed));
  form.append(element("div", { className: "acts" }, button(texts.save, save, "main"), button(texts.cancel, () => form.replaceWith(before()))));
  queueMicrotask(() => field.focus());
  return form;
}

function chart(growth) {
  if (growth.length < 2) return "";
  const most = Math.max(...growth.map((month) => month.learned));
  const width = 100 / growth.length;
  const svg = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  };
  const drawn = svg("svg", { class: "chart", role: "img", "aria-label": texts.by_month });
  growth.forEach((month, number) => {
    const x = `${number * width + width * 0.12}%`;
    for (const [count, kind] of [[month.learned, "all"], [month.holding, "holding"]]) {
      const height = (80 * count) / most;
      const bar = svg("rect", { x, y: 90 - height, width: `${width * 0.76}%`, height, rx: 3, class: kind });
      bar.append(svg("title", {}, `${month.month}: ${month.holding} / ${month.learned}`));
      drawn.append(bar);
    }
    if (number % Math.ceil(growth.length / 8) === 0) drawn.append(svg("text", { x, y: 104 }, month.month));
  });
  return element("div", { className: "card" }, drawn);
}

async function memories() {
  const overview = await ask("overview");
  const chips = element("div", { className: "chips", role: "group", "aria-label": texts.timeline });
  for (const name of ["all", "live", "unsure", "past"]) {
    const label = name === "unsure" && overview.unsure ? `${texts[name]} (${overview.unsure})` : texts[name];
    const chip = button(label, trying(async () => { state = name; await show(memories); }));
    chip.setAttribute("aria-pressed", String(name === state));
    chips.append(chip);
  }
  const list = element("div");
  const all = overview.imported && ["all", "unsure"].includes(state)
    ? button(texts.confirm_all, trying(async () => { await ask("confirm-imported", ""); await show(memories); }), "main") : "";
  await paged(list, (last) => `entries?state=${state}${last ? `&before=${last}` : ""}`, "entries", (entry, before) => {
    const month = new Date(entry.at).toLocaleDateString(language, { month: "long", year: "numeric" });
    const heading = before && new Date(before.at).toLocaleDateString(language, { month: "long", year: "numeric" }) === month
      ? [] : [element("h2", {}, month)];
    return [...heading, memory(entry)];
  });
  return [chart(overview.growth), chips, all, list];
}

async function paged(list, path, key, draw) {
  let last = null;
  const more = button(texts.more, trying(load));
  async function load() {
    const items = (await ask(path(last?.id)))[key];
    more.remove();
    for (const item of items) {
      list.append(...draw(item, last));
      last = item;
    }
    if (items.length >= 30) list.append(more);
    if (!list.childElementCount) list.append(element("p", { className: "about" }, key === "entries" && state === "all" ? texts.begin : texts.nothing));
  }
  await load();
}

// Search, conversations

// Splits a text at the words that were searched for, and marks them.
function marked(text, words) {
  const wordsToMark = words.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 1);
  if (!wordsToMark.length) return [text];
  const pattern = new RegExp(`(${wordsToMark.join("|")})`, "giu");
  return text.split(pattern).map((piece, number) => (number % 2 ? element("mark", {}, piece) : piece));
}

async function search(words) {
  const { found } = await ask(`search?q=${encodeURIComponent(words)}`);
  return (found.length ? found : [null]).map((hit) => hit === null
    ? element("p", { className: "about" }, texts.not_found)
    : element("article", { className: "hit" }, element("p", {}, ...marked(hit.text, words)), element("div", { className: "acts" }, hit.entry
      ? button(texts.edit, trying(() => show(async () => [memory(await ask(`entries/${hit.entry}`))])), "", hit.text)
      : button(texts.open_conversation, () => go(`talk/${hit.conversation}/${hit.message}`), "", hit.text))));
}

async function conversations() {
  const list = element("div");
  await paged(list, (last) => `conversations${last ? `?before=${last}` : ""}`, "conversations", (talk) => [
    element("a", { className: "row", href: `#talk/${talk.id}` }, element("article", {},
      element("p", {}, talk.title || "…"),
      element("p", { className: "about" }, `${day(talk.started_at)} · ${talk.messages} ${texts.messages}${talk.program ? ` · ${talk.program}` : ""}`)))]);
  return [list];
}

async function conversation(id, meant) {
  const list = element("div");
  let from = meant ? Math.max(0, meant - 20) : 0;
  const more = button(texts.more, trying(load));
  async function load() {
    const { messages } = await ask(`conversations/${id}?from=${from}`);
    more.remove();
    for (const message of messages) {
      const who = message.speaker ?? (message.role === "user" ? texts.you : texts.assistant);
      list.append(element("div", { className: `said ${message.role}${message.id === meant ? " meant" : ""}`, id: `message-${message.id}` },
        element("small", {}, `${who} · ${moment(message.at)}${message.provenance === "imported" ? ` · ${texts.import}` : ""}`), message.text));
      from = message.id + 1;
    }
    if (messages.length >= 200) list.append(more);
  }
  await load();
  return [button(texts.back, () => history.back()), list];
}

// Changes, the notes file, the last request, import

async function changes() {
  const { changes: listed } = await ask("changes");
  return (listed.length ? listed : [null]).map((change) => change === null
    ? element("p", { className: "about" }, texts.no_changes)
    : element("article", {},
      element("h2", {}, change.verb),
      ...change.texts.map((text) => element("p", {}, text)),
      change.more ? element("p", {}, `+ ${change.more}`) : "",
      change.in_file ? element("p", {}, "MEMORY.md") : "",
      element("p", { className: "about" }, moment(change.at)),
      element("div", { className: "acts" }, button(texts.undo, trying(async () => {
        tell((await ask(`changes/${change.number}/undo`, "")).text);
        await show(changes);
      }), "", change.texts[0] ?? change.verb))));
}

function difference(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const longest = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--)
    for (let k = now.length - 1; k >= 0; k--)
      longest[i][k] = old[i] === now[k] ? longest[i + 1][k + 1] + 1 : Math.max(longest[i + 1][k], longest[i][k + 1]);
  const lines = [];
  let [i, k] = [0, 0];
  while (i < old.length || k < now.length) {
    if (i < old.length && k < now.length && old[i] === now[k]) { i++; k++; }
    else if (k < now.length && (i === old.length || longest[i][k + 1] >= longest[i + 1][k])) lines.push(["plus", now[k++]]);
    else lines.push(["minus", old[i++]]);
  }
  return lines;
}

async function file() {
  const { text } = await ask("file");
  const field = element("textarea", { className: "file", value: text, "aria-label": "MEMORY.md", spellcheck: false });
  const review = element("div");
  const save = trying(async () => {
    await ask("file", JSON.stringify({ before: text, after: field.value }));
    tell(texts.save);
    await show(file);
  });
  const look = () => {
    const lines = difference(text, field.value);
    review.replaceChildren(element("div", { className: "card diff" }, ...(lines.length
      ? lines.map(([kind, line]) => element("div", { className: kind },
        element("span", { "aria-label": kind === "plus" ? texts.added : texts.removed }, kind === "plus" ? "+ " : "− "), line))
      : [texts.no_difference])));
    if (lines.length) review.append(element("div", { className: "acts" }, button(texts.save, save, "main")));
    review.querySelector("button")?.focus();
  };
  const acts = element("div", { className: "acts" }, button(texts.review, look), button(texts.export, trying(download)));
  return [element("h2", {}, "MEMORY.md"), field, acts, review];
}

async function download() {
  const { url, name } = await ask("export", "");
  const address = new URL(url, document.baseURI.split("#")[0]).href;
  const telegram = window.Telegram?.WebApp;
  if (telegram?.initData && telegram.isVersionAtLeast("8.0")) telegram.downloadFile({ url: address, file_name: name });
  else element("a", { href: address, download: name }).click();
}

async function last() {
  const { memories: used, tokens, file: lines } = await ask("last");
  return [
    used.length ? element("h2", {}, `${tokens} ${texts.tokens}`) : element("p", { className: "about" }, texts.last_none),
    ...used.map((item) => element("article", {}, element("p", {}, item.content ?? "…"),
      element("p", { className: "about" }, item.tokens === null ? item.layer : `${item.layer} · ${item.tokens} ${texts.tokens}`))),
    lines.length ? element("h2", {}, texts.in_file) : "",
    ...lines.map((line) => element("article", {}, element("p", {}, line))),
  ];
}

async function bringIn() {
  const result = element("div");
  const chooser = element("input", { type: "file", hidden: true, "aria-label": texts.choose_file, onchange: () => take(chooser.files[0]) });
  const take = trying(async (chosen) => {
    if (!chosen) return;
    const path = `import?name=${encodeURIComponent(chosen.name)}`;
    result.replaceChildren(element("p", { className: "about" }, texts.importing));
    try {
      const look = await ask(`${path}&look=1`, chosen);
      const lines = look.left_out.map((line) => element("p", { className: "about" }, line));
      result.replaceChildren(element("article", {}, element("p", {}, `${look.program}: ${look.text}`), ...lines,
        element("div", { className: "acts" }, button(texts.import_now, trying(async (event) => {
          event.target.disabled = true;
          event.target.textContent = texts.importing;
          const done = await ask(path, chosen);
          result.replaceChildren(element("article", {}, element("p", {}, done.text),
            done.change ? element("div", { className: "acts" }, button(texts.undo, trying(async () => {
              const { text } = await ask(`changes/${done.change}/undo`, "");
              result.replaceChildren(element("p", { className: "about" }, text));
            }))) : ""));
        }), "main"))));
    } catch (error) {
      result.replaceChildren();
      throw error;
    }
  });
  const drop = element("div", { className: "card drop" }, button(texts.choose_file, () => chooser.click()), chooser);
  for (const name of ["dragover", "dragleave", "drop"])
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
      if (name === "drop") take(event.dataTransfer.files[0]);
    });
  return [drop, result];
}

// Where one is

const TABS = { timeline: memories, conversations, changes, file, last, import: bringIn };

const go = (place) => { location.hash = place; };

const draw = trying(async (event) => {
  const [place, id, message] = location.hash.slice(1).split("/");
  const tab = place === "talk" ? "conversations" : place in TABS ? place : "timeline";
  for (const one of byId("tabs").children) {
    if (one.dataset.tab === tab) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  await show(place === "talk" ? () => conversation(Number(id), message ? Number(message) : null) : TABS[tab]);
  if (event?.type === "hashchange") main.focus({ preventScroll: true });
  if (message) byId(`message-${message}`)?.scrollIntoView({ block: "center" });
});

async function begin() {
  const telegram = window.Telegram?.WebApp;
  if (telegram?.initData) {
    document.documentElement.classList.add("telegram");
    document.documentElement.style.colorScheme = telegram.colorScheme;
    telegram.ready();
    telegram.expand();
    pass = (await ask("enter", telegram.initData)).session;
    history.replaceState(null, "", "#timeline"); // Telegram hands its data over there
  }
  const overview = await ask("overview");
  ({ texts, language } = overview);
  document.documentElement.lang = language;
  byId("title").textContent = texts.title;
  byId("words").placeholder = texts.search;
  byId("words").setAttribute("aria-label", texts.search);
  for (const name of Object.keys(TABS)) {
    if (name === "import" && !overview.imports) continue;
    const tab = button(texts[name], () => { byId("words").value = ""; if (location.hash === `#${name}`) draw(); else go(name); });
    tab.dataset.tab = name;
    byId("tabs").append(tab);
  }
  let pause;
  byId("words").addEventListener("input", (event) => {
    clearTimeout(pause);
    const words = event.target.value;
    pause = setTimeout(words.trim() ? trying(() => show(() => search(words))) : draw, 200);
  });
  byId("search").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", draw);
  await draw();
  if (!matchMedia("(pointer: coarse)").matches) byId("words").focus(); // On a phone, the keyboard would cover half of the page
}

trying(begin)();
