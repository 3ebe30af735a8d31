// heap.js ROUNDS MIB: typed arrays outside the collected heap, objects inside it. Talks as gather.c does.
"use strict";
const fs = require("fs");
const [rounds, mib] = process.argv.slice(2).map(Number);
const say = (line) => fs.writeSync(1, line + "\n");

let state = 2463534242;
const next = () => {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return state >>> 0;
};

const words = new Uint32Array(mib << 18);
for (let at = 0; at < words.length; at++) words[at] = Math.imul(at, 2654435761);
const objects = [];
for (let number = 0; number < mib << 10; number++) objects.push({ number, name: "object " + number });
say("ready " + process.pid);

let digest = 0;
for (let done = 1; rounds > 0 ? done <= rounds : !fs.existsSync("stop"); done++) {
  for (let step = 0; step < 1 << 20; step++) {
    const at = next() % words.length;
    digest = (Math.imul(digest, 31) + words[at]) | 0;
    words[at] ^= state;
  }
  for (let at = done % 61; at < objects.length; at += 61) {
    digest = (digest + objects[at].number + objects[at].name.length) | 0;
    objects[at] = { number: objects[at].number + 1, name: "object " + (at + done) };
  }
  say("round " + done + " " + (digest >>> 0).toString(16));
}
