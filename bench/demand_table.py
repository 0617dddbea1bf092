#!/usr/bin/env python3
"""Makes the table of counted kernels that demands are read from.

usage: demand_table.py bench/data/kernel_counters_h200.csv > src/estimate/profile/demand_table.cpp
The table of counters is what bench/device/kernel_counters.py makes of Nsight Compute's."""

import csv
import sys

CLASSES = ("convolution grouped depthwise depthwise-channels-last matrix batched attention batch-norm batch-norm-training "
           "layer-norm group-norm softmax max-pool average-pool global-pool unary function binary broadcast row-sum "
           "column-sum embedding copy transpose optimizer-sgd optimizer-momentum optimizer-adam").split()
DIRECTIONS = "forward backward-input backward-weight".split()
ARITHMETICS = "fp64 fp32 tf32 fp16 bf16 int8 fp8".split()


def main(path):
    rows = list(csv.DictReader(open(path)))
    rows.sort(key=lambda r: (CLASSES.index(r["class"]), DIRECTIONS.index(r["direction"]), ARITHMETICS.index(r["arithmetic"]),
                             [int(e) for e in r["extents"].split()]))
    print("""// Written by bench/demand_table.py from bench/data/kernel_counters_h200.csv; not to be edited by hand.
#include "estimate/profile/demand_table.hpp"

namespace plimsoll::estimate {
namespace {

using enum hardware::OperatorClass;
using enum hardware::Direction;
using enum hardware::Arithmetic;

// clang-format off
constexpr CountedKernel kCounted[] = {""")
    for r in rows:
        case = ", ".join(r[k].replace("-", "_") for k in ("class", "direction", "arithmetic"))
        number = lambda name: f"{float(r[name]):.4g}"
        bytes_moved = f"{float(r['read_bytes']) + float(r['write_bytes']):.4g}"
        print(f"    {{{{{case}, {{{', '.join(r['extents'].split())}}}}}, {r['kernels']}, {number('blocks')}, "
              f"{-(-int(float(r['threads'])) // 32)}, {number('blocks_per_sm')}, {number('seconds')}, {number('sm_share')}, "
              f"{number('occupancy')}, {bytes_moved}, {number('tensor_share')}}},")
    print("""};
// clang-format on

}  // namespace

std::span<const CountedKernel> counted_kernels() {
  return kCounted;
}

}  // namespace plimsoll::estimate""")


main(*sys.argv[1:])
