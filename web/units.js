// Which unit a series has that `plimsoll run` samples: the table of docs/telemetry.md. A metric of the user's own has
// the unit that the server tells, or none.

const share = ['sm_activity', 'graphics_activity', 'sm_occupancy', 'tensor_activity', 'fp64_activity', 'fp32_activity', 'fp16_activity',
  'dram_activity', 'utilization', 'memory_utilization', 'sm_share', 'cpu_pressure', 'memory_pressure', 'io_pressure'];
const units = {
  power: 'W', energy: 'J', unattributed: 'J', temperature: '°C', sm_clock: 'Hz', memory_clock: 'Hz',
  pcie_sent: 'B/s', pcie_received: 'B/s', nvlink_sent: 'B/s', nvlink_received: 'B/s', read: 'B/s', written: 'B/s',
  disk_read: 'B/s', disk_written: 'B/s', network_received: 'B/s', network_sent: 'B/s',
  memory: 'B', memory_used: 'B', memory_resident: 'B', swap_used: 'B', cgroup_memory: 'B', cgroup_memory_limit: 'B',
  cpu: 'cores', cgroup_cpu: 'cores', cgroup_throttled: 'cores', cpu_time: 's',
  ...Object.fromEntries(share.map((name) => [name, 'share'])),
};

export const isHardware = (key) => key.startsWith('system/');

export function unitOf(key, told) {
  if (isHardware(key)) {
    const name = key.slice(key.lastIndexOf('/') + 1);
    return units[name] ?? (told === '1' ? 'share' : told ?? '');
  }
  return told ?? '';
}

const words = {
  sm_activity: 'SM activity', utilization: 'Utilisation', memory_used: 'Memory used', power: 'Power', energy: 'Energy', temperature: 'Temperature',
  sm_clock: 'SM clock', memory_clock: 'Memory clock', dram_activity: 'DRAM activity', tensor_activity: 'Tensor cores', cpu: 'Processor', memory: 'Memory',
};

/// "system/gpu/0/power" as "GPU 0: Power".
export function titleOf(key) {
  if (!isHardware(key)) return key;
  const parts = key.split('/').slice(1);
  const name = parts.pop();
  const word = words[name] ?? name.replaceAll('_', ' ').replace(/^./, (letter) => letter.toUpperCase());
  const where = [];
  while (parts.length > 0) {
    const part = parts.shift();
    if (part === 'gpu' || part === 'mig' || part === 'package') where.push(`${{ gpu: 'GPU', mig: 'slice', package: 'Package' }[part]} ${parts.shift() ?? ''}`);
    else if (part === 'run') where.push('this run');
    else if (part === 'host') where.push('machine');
    else if (part === 'on') where.push(parts.shift() ?? '');
    else where.push(part);
  }
  return `${where.join(', ').replace(/^./, (letter) => letter.toUpperCase())}: ${word}`;
}
