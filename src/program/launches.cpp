#include "program/launches.hpp"

#include "program/checkpoints.hpp"

namespace plimsoll::program {
namespace {

class Order {
 public:
  Order(const Program& program, const network::Setting& setting) : p_(program) {
    if (setting.mode == network::Mode::infer) return;
    if (setting.checkpoint) cuts_ = checkpoints(program);
    // A parameter's gradient is whole after the last call, from behind, that adds to it.
    completes_.resize(program.accumulated.size(), kNowhere);
    std::vector<std::uint32_t> place(program.values.size(), kNowhere);
    for (std::uint32_t i = 0; i < program.accumulated.size(); ++i)
      place[static_cast<std::size_t>(program.accumulated[i])] = i;
    for (auto call = static_cast<std::uint32_t>(program.calls.size()); call-- > 0;)
      for (const Action& action : program.slice(program.calls[call].backward))
        if (action.kind == ActionKind::gradient || action.kind == ActionKind::share)
          if (const std::uint32_t at = place[static_cast<std::size_t>(action.value)]; at != kNowhere)
            completes_[at] = call;
    of_call_.resize(program.calls.size());
    for (std::uint32_t i = 0; i < completes_.size(); ++i)
      if (completes_[i] != kNowhere) of_call_[completes_[i]].push_back(i);
  }

  void forward(std::uint32_t passes) {
    for (std::uint32_t i = 0; i < p_.calls.size(); ++i)
      add(p_.calls[i].kernels, {.op = p_.calls[i].op, .phase = Phase::forward, .passes = passes});
  }

  void backward(std::uint32_t passes, bool accumulates) {
    std::size_t segment = cuts_.size();
    for (auto call = static_cast<std::uint32_t>(p_.calls.size()); call-- > 0;) {
      // What follows the last cut was kept: its backward pass comes at once.
      if (segment > 1 && call + 1 == cuts_[segment - 1]) recompute(cuts_[--segment - 1], call, passes);
      const Launch launch{.op = p_.calls[call].op, .phase = Phase::backward, .passes = passes};
      add(p_.calls[call].backward_kernels, launch);
      Launch sums = launch;
      sums.sums_gradients = true;
      add(p_.calls[call].gradient_sums, sums);
      if (!accumulates) continue;
      for (const std::uint32_t i : of_call_[call]) add({p_.accumulation.begin + i, 1}, sums);
    }
  }

  void step() { add(p_.update, {.op = kOptimizerCall, .phase = Phase::step}); }

  [[nodiscard]] std::vector<Launch> all() && { return std::move(out_); }

 private:
  static constexpr std::uint32_t kNowhere = 0xffffffff;

  void recompute(std::uint32_t first, std::uint32_t last, std::uint32_t passes) {
    for (std::uint32_t i = first; i <= last; ++i)
      add(p_.calls[i].kernels,
          {.op = p_.calls[i].op, .phase = Phase::backward, .recomputed = true, .passes = passes});
  }

  void add(network::Range kernels, Launch launch) {
    for (std::uint32_t i = 0; i < kernels.count; ++i) {
      launch.kernel = kernels.begin + i;
      out_.push_back(launch);
    }
  }

  const Program& p_;
  std::vector<std::uint32_t> cuts_;
  std::vector<std::uint32_t> completes_;             ///< by accumulated parameter: the call
  std::vector<std::vector<std::uint32_t>> of_call_;  ///< by call: which are complete with it
  std::vector<Launch> out_;
};

}  // namespace

std::vector<Launch> launches(const Program& program, const network::Setting& setting) {
  Order order(program, setting);
  order.forward(1);
  if (setting.mode == network::Mode::infer) return std::move(order).all();
  order.backward(1, false);
  if (setting.accumulate > 1) {
    const auto others = static_cast<std::uint32_t>(setting.accumulate - 1);
    order.forward(others);
    order.backward(others, true);
  }
  order.step();
  return std::move(order).all();
}

}  // namespace plimsoll::program
