// Files that are handed over: chosen, or dropped, whole folders with what is in them.

/** The files of a drop, those of folders with their paths; hidden ones are left out. */
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return [...transfer.files];
  const found = [];
  for (const entry of entries) await walk(entry, "", found);
  return found;
}

async function walk(entry, under, found) {
  if (entry.name.startsWith(".")) return;
  const path = under + entry.name;
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => { entry.file(resolve, reject); });
    found.push(new File([file], path, { type: file.type, lastModified: file.lastModified }));
    return;
  }
  const reader = entry.createReader();
  for (;;) { // a folder is told a part at a time
    const some = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
    if (!some.length) return;
    for (const one of some) await walk(one, `${path}/`, found);
  }
}

export const nameOf = (file) => file.webkitRelativePath || file.name;

/** Files in lots that the server takes at once; hidden ones, and those in hidden folders, are left out. */
export function lots(files, limits) {
  const result = [];
  let size = Infinity;
  for (const file of files) {
    if (nameOf(file).split("/").some((part) => part.startsWith("."))) continue;
    const last = result.at(-1);
    if (!last || last.length >= limits.files || size + file.size > limits.bytes * 0.95) { result.push([file]); size = file.size; }
    else { last.push(file); size += file.size; }
  }
  return result;
}
