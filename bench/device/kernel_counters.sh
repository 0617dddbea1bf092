#!/bin/bash
# Counts kernels with Nsight Compute: kernel_counters.sh OUT.csv ARGUMENTS OF kernel_counters.py
# One pass over each kernel, clocks and caches left as they are.
set -e
here=$(dirname "$(readlink -f "$0")")
out=$1
shift
metrics=launch__grid_size,launch__block_size,launch__registers_per_thread,launch__occupancy_limit_blocks
metrics+=,launch__occupancy_limit_registers,launch__occupancy_limit_shared_mem,launch__occupancy_limit_warps
metrics+=,gpu__time_duration.sum,sm__cycles_active.avg,sm__cycles_elapsed.avg
metrics+=,sm__warps_active.avg.pct_of_peak_sustained_elapsed,dram__bytes_read.sum,dram__bytes_write.sum
metrics+=,${TENSOR:-sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed}
ncu --csv --page raw --print-units base --print-kernel-base function --profile-from-start off --cache-control none \
    --clock-control none --log-file "$out" --metrics "$metrics" python3 "$here/kernel_counters.py" "$@"
