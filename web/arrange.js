// Jobs on GPUs, all begun at once: when each ends, by the speeds that those beside each other keep. Pure but for the question
// what a group does to each other, which the server answers once for each group.

/// jobs: [{name, seconds (alone)}]; speeds(names) → [share of the speed alone] in their order. Returns [{name, start, end, parts}].
export async function endsOf(jobs, speeds) {
  const left = new Map(jobs.map((job) => [job.name, job.seconds]));
  const out = new Map(jobs.map((job) => [job.name, { name: job.name, start: 0, end: 0, alone: job.seconds, parts: [] }]));
  let now = 0;
  while (left.size > 0) {
    const names = [...left.keys()].sort();
    const told = names.length === 1 ? [1] : await speeds(names);
    const rate = names.map((_, i) => Math.max(1e-6, told[i] ?? 1));
    const next = Math.min(...names.map((name, i) => left.get(name) / rate[i]));
    names.forEach((name, i) => {
      const rest = left.get(name) - next * rate[i];
      out.get(name).parts.push({ from: now, to: now + next, speed: rate[i] });
      if (rest <= left.get(name) * 1e-9 + 1e-9) {
        out.get(name).end = now + next;
        left.delete(name);
      } else left.set(name, rest);
    });
    now += next;
  }
  return jobs.map(({ name }) => out.get(name));
}
