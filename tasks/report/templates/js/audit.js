"use strict";
(() => {
  const form = document.getElementById("form"), rater = document.getElementById("rater");
  const items = [...document.querySelectorAll("details.item")];
  const names = form.dataset.questions.split(" ");
  const place = "evenhand-audit-" + form.dataset.sample;

  const answer = (item, name) => {
    const chosen = item.querySelector(`input[name="${item.id}-${name}"]:checked`);
    return chosen ? chosen.value : "";
  };
  const remark = (item) => item.querySelector("textarea").value;
  const show = () => {
    let done = 0;
    for (const item of items) {
      const whole = names.every((name) => answer(item, name));
      item.toggleAttribute("data-done", whole);
      done += whole;
    }
    document.getElementById("count").textContent = `${done} of ${items.length} answered`;
  };
  const keep = () => {
    const kept = { rater: rater.value };
    for (const item of items) {
      kept[item.id] = [...names.map((name) => answer(item, name)), remark(item)];
    }
    try { localStorage.setItem(place, JSON.stringify(kept)); } catch { /* a browser that keeps nothing */ }
    show();
  };
  const bring = () => {
    let kept = null;
    try { kept = JSON.parse(localStorage.getItem(place) || "null"); } catch { kept = null; }
    if (!kept) return;
    rater.value = kept.rater || "";
    for (const item of items) {
      const said = kept[item.id] || [];
      names.forEach((name, at) => {
        for (const input of item.querySelectorAll(`input[name="${item.id}-${name}"]`)) input.checked = input.value === said[at];
      });
      item.querySelector("textarea").value = said[names.length] || "";
    }
  };
  const cell = (text) => `"${String(text).replaceAll('"', '""')}"`;
  const save = () => {
    if (!rater.value.trim()) { rater.focus(); return; }
    const rows = [["item", ...names, "remark", "rater"]];
    for (const item of items) {
      rows.push([item.id, ...names.map((name) => answer(item, name)), remark(item), rater.value.trim()]);
    }
    const text = rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = `audit-${rater.value.trim().replace(/[^A-Za-z0-9]+/g, "-")}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  bring();
  show();
  form.addEventListener("input", keep);
  document.getElementById("save").addEventListener("click", save);
})();
