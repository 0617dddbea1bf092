#include "program/launches.hpp"

namespace plimsoll::program {

std::vector<Launch> launches(const Program& program, const network::Setting& setting) {
  std::vector<Launch> out;
  out.reserve(program.kernels.size());
  const auto add = [&](network::Range kernels, std::uint32_t op, Phase phase, bool sums = false) {
    for (std::uint32_t i = 0; i < kernels.count; ++i) out.push_back({kernels.begin + i, op, phase, sums});
  };
  for (const Call& call : program.calls) add(call.kernels, call.op, Phase::forward);
  if (setting.mode == network::Mode::infer) return out;
  for (auto call = program.calls.rbegin(); call != program.calls.rend(); ++call) {
    add(call->backward_kernels, call->op, Phase::backward);
    add(call->gradient_sums, call->op, Phase::backward, true);
  }
  add(program.update, kOptimizerCall, Phase::step);
  return out;
}

}  // namespace plimsoll::program
