#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "hardware/calibration.hpp"
#include "job/answer.hpp"
#include "job/operator_case.hpp"

namespace plimsoll::probe {

/// Small operators of a grid in rows as networks have them, in fp32 (convolutions in tf32) and in bf16: one
/// row without products, and one in which every second operator is one. A row says what the change of kernels
/// costs, since the grid's own points are each timed after itself.
[[nodiscard]] std::vector<job::OperatorChain> designed_chains(std::span<const hardware::OperatorCase> grid);

/// What the rows come to, where both of an arithmetic were timed.
[[nodiscard]] std::vector<hardware::KernelChange> kernel_changes(
    const std::map<std::string, job::ChainTime>& chains);

}  // namespace plimsoll::probe
