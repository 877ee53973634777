// The memory page: asks the server for what it shows, and builds it as elements, never as markup.

const byId = (id) => document.getElementById(id);
const main = byId("main");
let texts = {};
let language = "en";
let pass = "1"; // stands in each request; in Telegram it says who asks
let importing = false; // whether files can be imported
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
  if (about) {
    made.dataset.name = `${label}: ${about.length > 150 ? `${about.slice(0, 150)}…` : about}`;
    made.setAttribute("aria-label", made.dataset.name);
  }
  return made;
};

// Texts can repeat, such as those of a memory that was forgotten and added again: their buttons are numbered
function numberButtons() {
  const seen = new Map();
  for (const one of main.querySelectorAll("button[data-name]")) {
    const count = (seen.get(one.dataset.name) ?? 0) + 1;
    seen.set(one.dataset.name, count);
    one.setAttribute("aria-label", count > 1 ? `${one.dataset.name} (${count})` : one.dataset.name);
  }
}
new MutationObserver(numberButtons).observe(main, { childList: true, subtree: true });

const focusFirst = (place) => [...place.querySelectorAll("button")].find((one) => one.checkVisibility())?.focus();
const note = (text) => element("p", { className: "about" }, text);
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
// The focus stays at the button with the same name, or else in the view.
async function show(view) {
  const mine = ++wanted;
  const focused = main.contains(document.activeElement) ? document.activeElement.textContent : null;
  main.inert = true;
  try {
    const children = await view();
    if (mine === wanted) main.replaceChildren(...children);
  } finally {
    if (mine === wanted) main.inert = false;
  }
  if (mine === wanted && focused !== null)
    ([...main.querySelectorAll("button[aria-pressed]")].find((one) => one.textContent === focused) ?? main).focus({ preventScroll: true });
}

// Memories

let state = "all";

function memory(entry, words = "") {
  const gone = entry.superseded || entry.archived;
  const card = element("article", { className: `memory${gone ? " past" : ""}${words ? " hit" : ""}`, id: `memory-${entry.id}` });
  const replace = (changed) => {
    const made = memory(changed);
    card.replaceWith(made);
    focusFirst(made);
  };
  const source = entry.source
    ? note(button(texts.open_conversation, () => go(`talk/${entry.source[0]}/${entry.source[1]}`), "", entry.content))
    : null;
  const acts = element("div", { className: "acts" });
  if (entry.unconfirmed)
    acts.append(button(texts.confirm, trying(async () => replace(await ask(`entries/${entry.id}/confirm`, ""))), "main", entry.content));
  if (!entry.superseded) {
    if (!entry.steps.length) acts.append(button(texts.edit, () => card.replaceWith(editor(entry)), "", entry.content));
    acts.append(button(texts.forget, trying(async () => {
      await ask(`entries/${entry.id}/forget`, "");
      const { changes } = await ask("changes");
      const back = button(texts.undo, trying(async () => {
        await ask(`changes/${changes[0].number}/undo`, "");
        const made = memory(await ask(`entries/${entry.id}`));
        gap.replaceWith(made);
        focusFirst(made);
      }), "", entry.content);
      const gap = element("article", { className: "memory past" }, element("p", {}, entry.content),
        element("div", { className: "foot" }, element("div", { className: "acts" }, back)));
      card.replaceWith(gap);
      back.focus();
    }), "bad", entry.content));
  }
  const facts = element("dl", {},
    element("dt", {}, texts.holds_since), element("dd", {}, day(entry.valid_from)),
    ...(entry.valid_until ? [element("dt", {}, texts.holds_until), element("dd", {}, day(entry.valid_until))] : []),
    element("dt", {}, texts.strength), element("dd", {}, String(entry.strength)),
    element("dt", {}, texts.fades), element("dd", {}, day(entry.fades)));
  const tags = entry.tags.map((tag) => `#${tag}`).join(" ");
  const origin = [entry.where, day(entry.at), entry.name, tags, entry.unconfirmed ? null : entry.foreign, entry.archived ? texts.archived : null].filter(Boolean).join(" · ");
  card.append(
    element("p", {}, ...marked(entry.content, words)),
    ...entry.steps.map((step, number) => element("p", {}, `${number + 1}. ${step}`)),
    entry.unconfirmed ? element("p", { className: "flag" }, entry.unconfirmed) : "",
    entry.quote ? element("blockquote", {}, `“${entry.quote}”`) : "",
    entry.successor ? note(`${texts.replaced_by}: ${entry.successor}`) : "",
    element("div", { className: "foot" }, element("details", {}, element("summary", {}, origin), facts, source ?? ""), acts),
  );
  return card;
}

function editor(entry) {
  const field = element("textarea", { value: entry.content, "aria-label": texts.edit });
  const form = element("article", {}, field);
  const close = (shown) => {
    const made = memory(shown);
    form.replaceWith(made);
    focusFirst(made);
  };
  const save = trying(async () => close(await ask(`entries/${entry.id}/edit`, JSON.stringify({ content: field.value }))));
  form.append(element("div", { className: "acts" },
    button(texts.save, save, "main", entry.content), button(texts.cancel, () => close(entry), "", entry.content)));
  queueMicrotask(() => field.focus());
  return form;
}

// A column for each month: the memories that are in use, and above them the others
function chart(growth) {
  if (growth.length < 2) return "";
  const most = Math.max(...growth.map((month) => month.learned));
  const every = Math.ceil(growth.length / 6);
  const format = (month, options) => new Date(`${month}-01T00:00Z`).toLocaleDateString(language, { timeZone: "UTC", ...options });
  const bar = (count, className) => {
    const made = element("i", { className });
    made.style.height = `${(100 * count) / most}%`;
    return made;
  };
  let lastYear = "";
  const columns = growth.map(({ month, learned, holding }, number) => {
    const label = element("small");
    if (number % every === 0) {
      const year = format(month, { year: "numeric" });
      label.append(format(month, { month: "short" }), element("br"), year === lastYear ? "" : year);
      lastYear = year;
    }
    return element("div", { title: `${format(month, { month: "long", year: "numeric" })}: ${holding} / ${learned}` },
      element("div", { className: "bars" }, bar(learned - holding, "rest"), bar(holding, "holding")),
      label);
  });
  const drawn = element("div", { className: "columns", role: "img" }, ...columns);
  drawn.setAttribute("aria-label", `${texts.by_month}. ${columns.map((column) => column.title).join(", ")}`);
  const legend = element("p", { className: "legend" },
    element("i", { className: "rest" }), texts.all, element("i", { className: "holding" }), texts.live);
  return element("div", { className: "card chart" }, element("div", { className: "foot" }, element("h2", {}, texts.by_month), legend), drawn);
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
    ? button(texts.confirm_all, trying(async () => { await ask("confirm-imported", ""); await show(memories); })) : "";
  await paged(list, (last) => `entries?state=${state}${last ? `&before=${last}` : ""}`, "entries", (entry, before) => {
    const month = new Date(entry.at).toLocaleDateString(language, { month: "long", year: "numeric" });
    const heading = before && new Date(before.at).toLocaleDateString(language, { month: "long", year: "numeric" }) === month
      ? [] : [element("h2", {}, month)];
    return [...heading, memory(entry)];
  });
  if (!overview.growth.length) return [list];
  return [chart(overview.growth), chips, all, list];
}

function empty(text) {
  return element("div", { className: "card empty" }, element("p", {}, text));
}

function beginning() {
  const card = empty(texts.begin);
  if (importing) card.append(element("div", { className: "acts" }, button(texts.import, () => go("import"), "main")));
  return card;
}

// The focus goes on to the first control that was added
function moreButton(list, load) {
  return button(texts.more, trying(async () => {
    const shown = list.childElementCount - 1;
    await load();
    const added = [...list.children].slice(shown).flatMap((child) => [child, ...child.querySelectorAll("*")]);
    (added.find((one) => one.matches("a, summary") || (one.matches("button") && one.checkVisibility())) ?? main).focus({ preventScroll: true });
  }));
}

async function paged(list, path, key, draw) {
  let last = null;
  const more = moreButton(list, load);
  async function load() {
    const items = (await ask(path(last?.id)))[key];
    more.remove();
    for (const item of items) {
      list.append(...draw(item, last));
      last = item;
    }
    if (items.length >= 30) list.append(more);
    if (!list.childElementCount) list.append(key === "entries" && state === "all" ? beginning() : empty(texts.nothing));
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

function talkHit(hit, words) {
  const speakers = { user: texts.you, assistant: texts.assistant };
  const text = hit.lines.map((line) => line.text).join(" ");
  return element("article", { className: "hit" },
    ...hit.lines.map((line) => element("p", {},
      line.who ? element("b", {}, `${speakers[line.who] ?? line.who}: `) : "", ...marked(line.text, words))),
    element("div", { className: "foot" },
      note([day(hit.at), hit.shared_by].filter(Boolean).join(" · ")),
      hit.conversation ? element("div", { className: "acts" },
        button(texts.open_conversation, () => go(`talk/${hit.conversation}/${hit.message}`), "", text)) : ""));
}

async function search(words) {
  const { found } = await ask(`search?q=${encodeURIComponent(words)}`);
  return found.length ? found.map((hit) => (hit.entry ? memory(hit.entry, words) : talkHit(hit, words))) : [empty(texts.not_found)];
}

async function conversations() {
  const list = element("div");
  await paged(list, (last) => `conversations${last ? `?before=${last}` : ""}`, "conversations", (talk) => [
    element("a", { className: "row", href: `#talk/${talk.id}` }, element("article", {},
      element("p", {}, talk.title || "…"),
      note(`${day(talk.started_at)} · ${talk.messages} ${texts.messages}${talk.program ? ` · ${talk.program}` : ""}`)))]);
  return [list];
}

async function conversation(id, meant) {
  const list = element("div");
  let from = meant ? Math.max(0, meant - 20) : 0;
  const more = moreButton(list, load);
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
  if (!listed.length) return [empty(texts.no_changes)];
  return listed.map((change) => element("article", {},
    element("h2", {}, change.verb),
    ...change.texts.map((text) => element("p", {}, text)),
    change.more ? element("p", {}, `+ ${change.more}`) : "",
    change.in_file && !change.texts.length ? element("p", {}, "MEMORY.md") : "",
    element("div", { className: "foot" },
      note(moment(change.at)),
      element("div", { className: "acts" }, button(texts.undo, trying(async () => {
        tell((await ask(`changes/${change.number}/undo`, "")).text);
        await show(changes);
      }), "", change.texts.length ? `${change.verb}: ${change.texts[0]}` : `${change.verb}, ${moment(change.at)}`)))));
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
    else if (i < old.length && (k === now.length || longest[i + 1][k] >= longest[i][k + 1])) lines.push(["minus", old[i++]]);
    else lines.push(["plus", now[k++]]);
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
        element("span", { role: "img", "aria-label": kind === "plus" ? texts.added : texts.removed }, kind === "plus" ? "+ " : "− "), line))
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
    used.length ? element("h2", {}, `${tokens} ${texts.tokens}`) : empty(texts.last_none),
    ...used.map((item) => element("article", {}, element("p", {}, item.content ?? "…"),
      note(item.tokens === null ? item.layer : `${item.layer} · ${item.tokens} ${texts.tokens}`))),
    lines.length ? element("h2", {}, texts.in_file) : "",
    ...lines.map((line) => element("article", {}, element("p", {}, line))),
  ];
}

async function bringIn() {
  const result = element("div");
  const chooser = element("input", { type: "file", hidden: true, "aria-label": texts.choose_file, onchange: () => take(chooser.files[0]) });
  const answer = (...children) => {
    result.replaceChildren(...children);
    focusFirst(result.querySelector("button") ? result : drop);
  };
  const take = trying(async (chosen) => {
    if (!chosen) return;
    const path = `import?name=${encodeURIComponent(chosen.name)}`;
    result.replaceChildren(note(texts.importing));
    try {
      const look = await ask(`${path}&look=1`, chosen);
      const start = button(texts.import_now, trying(async () => {
        start.disabled = true;
        start.textContent = texts.importing;
        const done = await ask(path, chosen);
        const back = button(texts.undo, trying(async () => answer(note((await ask(`changes/${done.change}/undo`, "")).text))), "", done.text);
        answer(element("article", {}, element("p", {}, done.text), done.change ? element("div", { className: "acts" }, back) : ""));
      }), "main", chosen.name);
      answer(element("article", {}, element("p", {}, `${look.program}: ${look.text}`), ...look.left_out.map(note),
        element("div", { className: "acts" }, start)));
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

function setTab(name) {
  for (const one of byId("tabs").children) {
    if (one.dataset.tab === name) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
}

const draw = trying(async (event) => {
  const [place, id, message] = location.hash.slice(1).split("/");
  const words = place === "search" ? decodeURIComponent(id) : "";
  const tab = place === "talk" ? "conversations" : place in TABS ? place : "timeline";
  setTab(words ? "" : tab);
  if (byId("words").value.trim() !== words) byId("words").value = words;
  await show(words ? () => search(words)
    : place === "talk" ? () => conversation(Number(id), message ? Number(message) : null) : TABS[tab]);
  if (event?.type === "hashchange") {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
  if (message) byId(`message-${message}`)?.scrollIntoView({ block: "center" });
});

// The words are in the address, so that one can go back to what was found
function lookFor(words) {
  const isFound = location.hash.startsWith("#search/");
  if (words) history[isFound ? "replaceState" : "pushState"](null, "", `#search/${encodeURIComponent(words)}`);
  else if (isFound) history.replaceState(null, "", "#timeline");
  draw();
}

function enterTelegram(telegram) {
  const adopt = () => { document.documentElement.style.colorScheme = telegram.colorScheme; };
  document.documentElement.classList.add("telegram");
  adopt();
  telegram.onEvent("themeChanged", adopt);
  telegram.ready();
  telegram.expand();
}

async function begin() {
  const telegram = window.Telegram?.WebApp;
  if (telegram?.initData) {
    enterTelegram(telegram);
    pass = (await ask("enter", telegram.initData)).session;
    history.replaceState(null, "", "#timeline"); // Telegram hands its data over there
  }
  const overview = await ask("overview");
  ({ texts, language, imports: importing } = overview);
  document.documentElement.lang = language;
  document.title = `${texts.title} · Mneme`;
  byId("title").textContent = texts.title;
  byId("words").placeholder = texts.search;
  byId("words").setAttribute("aria-label", texts.search);
  byId("search").hidden = false;
  for (const name of Object.keys(TABS)) {
    if (name === "import" && !importing) continue;
    const tab = button(texts[name], () => { if (location.hash === `#${name}`) draw(); else go(name); });
    tab.dataset.tab = name;
    byId("tabs").append(tab);
  }
  let pause;
  byId("words").addEventListener("input", (event) => {
    clearTimeout(pause);
    pause = setTimeout(() => lookFor(event.target.value.trim()), 200);
  });
  byId("search").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", draw);
  await draw();
  if (!matchMedia("(pointer: coarse)").matches) byId("words").focus(); // On a phone, the keyboard would cover half of the page
}

begin().catch((error) => main.replaceChildren(empty(error.message)));
